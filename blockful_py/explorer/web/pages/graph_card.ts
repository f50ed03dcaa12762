// SPDX-License-Identifier: Apache-2.0
// What is told of a model in the graph, and of what a request that starts there would reach.

import { h, type Child } from "../../../web/dom";
import { count, percent, plural } from "../format";
import { userOf } from "../page";
import { positionOf, type GraphData } from "../graph/file";
import { hasAdopted, wordOf } from "../graph/kinds";
import { neighbours, type Adjacency, type Reach } from "../../../web/reach";
import { nameOf } from "../graph/scene";

export interface Told {
  row: number;
  found: Reach | null;
  /** By row, at the time that is shown. */
  versions: Uint32Array;
  /** Rows that are chosen; null where the pointer only rests on `row`. */
  chosen: number[] | null;
}

function reached({ found, chosen }: Told): string {
  const several = chosen !== null && chosen.length > 1;
  return `A request that starts ${several ? `at these ${chosen.length} models` : "here"} reaches ${plural(found?.rows.length ?? 1, "model")}, to a depth of ${found?.deepest ?? 0}.`;
}

const isDamaged = (data: GraphData, { row, versions }: Told): boolean =>
  data.at_chance[row]! > 0 && versions[row] === data.version[row];

/** The same for whoever does not see it. */
export const spoken = (data: GraphData, told: Told): string =>
  `${nameOf(data, told.row)}, version ${told.versions[told.row]}${isDamaged(data, told) ? ", damaged" : ""}. ${reached(told)}`;

export function cardOf(data: GraphData, around: { references: Adjacency; heirs: Adjacency }, told: Told): Child[] {
  const { row, chosen, versions } = told;
  const starts = chosen ?? [row];
  const several = starts.length > 1;
  const query = starts.map((each) => `start=${positionOf(data, each)}`).join("&");
  return [
    h("h2", {}, several ? `${nameOf(data, row)} and ${starts.length - 1} more` : nameOf(data, row)),
    h("p", { class: "reach" }, reached(told)),
    isDamaged(data, told) && h("p", { class: "bad" }, "Damaged: no better than chance on what it was to keep."),
    figures(data, around, row, versions[row]!),
    chosen && [
      h(
        "p",
        { class: "actions" },
        h("a", { class: "button", href: `/models/${positionOf(data, row)}` }, "Open model"),
        h("a", { class: "button plain", href: `/what-if?${query}` }, several ? "What if they forget" : "What if it forgets"),
      ),
      h("p", { class: "quiet hint" }, "Shift-click adds models."),
    ],
  ];
}

/** The number of references, and how the model came of them if it was made elsewhere. */
function references(data: GraphData, number: string, row: number): string {
  if (!hasAdopted(data)) return number;
  const kinds = new Set<string>();
  data.target.forEach((heir, edge) => heir === row && kinds.add(wordOf(data.kinds[data.kind[edge]!]!)));
  return [number, ...kinds].join(", ");
}

function figures(data: GraphData, around: { references: Adjacency; heirs: Adjacency }, row: number, version: number): HTMLElement {
  const current = version === data.version[row];
  const figure = (values: Float32Array): string => percent(current ? values[row] : null);
  const measured: [string, Child][] = hasAdopted(data)
    ? []
    : [["Accuracy", figure(data.accuracy)], ["AD_f", figure(data.ad_f)], ["AD_r", figure(data.ad_r)]];
  const rows: [string, Child][] = [
    ["Position", positionOf(data, row)],
    ["Owner", userOf(data.owners[data.owner[row]!]!)],
    ["Version", data.withdrawn[row] && current ? `${version}, withdrawn` : String(version)],
    ...measured,
    ["References", references(data, count(neighbours(around.references, row).length), row)],
    ["Heirs", count(neighbours(around.heirs, row).length)],
  ];
  return h("dl", { class: "facts tight" }, ...rows.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
}
