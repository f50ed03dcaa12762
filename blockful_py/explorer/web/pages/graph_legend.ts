// SPDX-License-Identifier: Apache-2.0
// What the graph's colours mean, and which moment it shows.

import { h, svg, type Child } from "../../../web/dom";
import { count, plural, when } from "../format";
import { colouring, MEANINGS, type Mode } from "../graph/colours";
import type { GraphData } from "../graph/file";
import { dashOf, hasAdopted, kindsIn, wordOf } from "../graph/kinds";

/** `damaged`: models with a ring. */
export function legendOf(data: GraphData, mode: Mode, versions: Uint32Array, damaged: number): Child[] {
  const [, legend] = colouring(data, mode, versions);
  const [low, high, ...rest] = legend.ramp ? legend.entries : [];
  const single = legend.ramp ? rest : legend.entries;
  return [
    h("p", { class: "quiet" }, MEANINGS[mode]),
    legend.ramp && h("div", { class: "ends" }, h("span", {}, low!.name), bar(legend.ramp), h("span", {}, high!.name)),
    ...single.map((each) => h("div", { class: "entry" }, swatch(each.colour), h("span", {}, each.name))),
    mode === "owner" && single.length === 0 && h("p", {}, `${plural(data.owners.length, "owner")}, colours repeat`),
    ...(data.curve_end[0] && hasAdopted(data) ? kindsIn(data).map((kind) => h("div", { class: "entry" }, dash(kind), h("span", {}, wordOf(kind)))) : []),
    damaged > 0 && h("div", { class: "entry" }, h("i", { class: "swatch ring", "aria-hidden": "true" }), `damaged (${count(damaged)}): no better than chance`),
  ];
}

function swatch(colour: string): HTMLElement {
  const mark = h("i", { class: "swatch", "aria-hidden": "true" });
  mark.style.background = colour;
  return mark;
}

/** A piece of line as edges of a kind are drawn. */
function dash(kind: string): SVGElement {
  const line = svg("line", { x1: 0, y1: 4, x2: 34, y2: 4, "stroke-dasharray": dashOf(kind).join(" ") || "none" });
  return svg("svg", { class: "dash", width: 34, height: 8, "aria-hidden": "true" }, line);
}

function bar(ramp: string[]): HTMLElement {
  const mark = h("i", { class: "ramp", "aria-hidden": "true" });
  mark.style.background = `linear-gradient(90deg, ${ramp.filter((_, at) => at % 8 === 0).join()})`;
  return mark;
}

/** What stands after a live transaction, by its number from 1 on; `versions` are those after it. */
export function momentOf(data: GraphData, tick: number, versions: Uint32Array): string[] {
  const at = data.ticks[tick - 1];
  const standing = data.born.reduce((sum, born) => sum + Number(born <= tick), 0);
  const replaced = versions.reduce((sum, version) => sum + Number(version > 0), 0);
  return [plural(standing, "model"), at ? `block ${at[1]}` : "", `${count(replaced)} replaced`, at?.[2] ? when(at[2]) : ""].filter(Boolean);
}
