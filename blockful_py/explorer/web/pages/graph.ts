// SPDX-License-Identifier: Apache-2.0
// The graph: colours, time, what a request would reach, by mouse and by keyboard.

import { AnswerError } from "../api";
import { h, replace } from "../../../web/dom";
import { colouring, MODES, TITLES, type Mode } from "../graph/colours";
import { positionOf, type GraphData } from "../graph/file";
import type { Reach } from "../../../web/reach";
import type { Shown } from "../graph/scene";
import { GraphView } from "../graph/view";
import { go, type View } from "../page";
import { cardOf, spoken } from "./graph_card";
import { kept, load } from "./graph_kept";
import { legendOf, momentOf } from "./graph_legend";
import { walked } from "./graph_walk";

export function graphPage(main: HTMLElement): View {
  const page = new GraphPage(main);
  void page.load();
  return { changed: () => page.later(), close: () => page.close() };
}

class GraphPage {
  private readonly aborting = new AbortController();
  private readonly canvas = h("div", {
    class: "canvas",
    tabindex: "0",
    role: "application",
    "aria-label":
      "Inheritance graph. Arrow keys walk along references and heirs, Enter opens a model, plus and minus zoom, 0 shows all.",
  });
  private readonly legend = h("div", { class: "legend" });
  private readonly sparse = h("p", { class: "quiet sparse" });
  private readonly card = h("section", { class: "card", "aria-label": "Model", hidden: true });
  private readonly said = h("p", { class: "unseen", "aria-live": "polite" });
  private readonly time = h("input", { type: "range", min: 1, step: 1, "aria-label": "Time, by live transactions" });
  private readonly moment = h("output", { class: "moment" });
  private readonly choice = h("select", { "aria-label": "Colour by" });
  private view: GraphView | null = null;
  private data: GraphData | null = null;
  private versions = new Uint32Array(0);
  private tick = 0;
  private chosen: number[] = [];
  private waiting: number | undefined;
  private frame = 0;

  constructor(private readonly main: HTMLElement) {
    for (const mode of MODES) this.choice.append(h("option", { value: mode }, TITLES[mode]));
    this.choice.value = kept.mode;
    this.choice.addEventListener("change", () => {
      kept.mode = this.choice.value as Mode;
      this.recolour();
    });
    this.time.addEventListener("input", () => {
      this.tick = Number(this.time.value);
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.recolour());
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    addEventListener("blockful:find", this.found);
    const button = (name: string, text: string, way: "in" | "out" | "all"): HTMLElement =>
      h("button", { type: "button", "aria-label": name, title: name, onclick: () => this.view?.zoom(way) }, text);
    replace(
      main,
      this.canvas,
      h(
        "div",
        { class: "side" },
        h("div", { class: "panel colours" }, h("label", {}, "Colour by", this.choice), this.legend, this.sparse),
        this.card,
      ),
      h("div", { class: "panel time" }, h("label", { class: "slider" }, h("span", {}, "Time"), this.time), this.moment),
      h(
        "div",
        { class: "panel zoom", role: "group", "aria-label": "Zoom" },
        button("Zoom in", "+", "in"),
        button("Zoom out", "−", "out"),
        button("Show all", "⤢", "all"),
      ),
      this.said,
    );
  }

  private readonly found = (event: Event): void => {
    const place = (event as CustomEvent<string>).detail;
    const row = this.rowOf(place);
    if (row === null) {
      replace(this.card, h("p", { role: "alert" }, `No model, or more than one, is called "${place}".`));
      this.card.hidden = false;
      return;
    }
    this.choose([row]);
    this.view?.centre(row);
    this.canvas.focus();
  };

  /** The row of a position, or of a name that one model has. */
  private rowOf(place: string): number | null {
    const { data } = this;
    if (!data) return null;
    for (let row = 0; row < data.models; row++) if (positionOf(data, row) === place) return row;
    const row = data.names.indexOf(place);
    return row < 0 || data.names.includes(place, row + 1) ? null : row;
  }

  async load(): Promise<void> {
    try {
      const data = await load(this.aborting.signal);
      this.draw(data);
    } catch (error) {
      if (this.aborting.signal.aborted) return;
      const text = error instanceof AnswerError ? error.message : "The graph cannot be loaded.";
      replace(this.canvas, h("p", { class: "empty", role: "alert" }, text));
    }
  }

  /** Loads a graph that has changed, once changes pause. */
  later(): void {
    clearTimeout(this.waiting);
    const pause = (this.data?.models ?? 0) > 5_000 ? 5_000 : 500;
    this.waiting = setTimeout(() => void this.load(), pause);
  }

  private draw(data: GraphData): void {
    if (this.data?.revision === data.revision && this.view) return;
    const atEnd = !this.data || this.tick >= this.data.ticks.length;
    const chosen = this.chosen.map((row) => positionOf(this.data!, row));
    kept.camera = this.view?.state() ?? kept.camera;
    this.view?.close();
    this.view = null;
    this.data = data;
    this.time.max = String(Math.max(data.ticks.length, 1));
    this.time.disabled = data.ticks.length < 2;
    if (atEnd) this.tick = data.ticks.length;
    this.time.value = String(this.tick);
    if (data.models === 0) {
      replace(this.canvas, h("p", { class: "empty" }, "No model is published yet. This page follows the chains."));
      return;
    }
    replace(this.canvas);
    this.versions = this.versionsAt();
    this.view = new GraphView(this.canvas, data, this.look(), {
      hover: (row) => this.hover(row),
      click: (row, more) => this.click(row, more),
      lost: () => {
        this.view?.close();
        this.view = null;
        this.draw(data);
      },
      edges: (step) => replace(this.sparse, step > 1 && `1 of ${step} edges is drawn: zoom in to see all.`),
    });
    if (kept.camera) this.view.restore(kept.camera);
    this.explain();
    this.choose(chosen.map((each) => this.rowOf(each)).filter((row) => row !== null));
    const wanted = new URLSearchParams(location.search).get("model");
    if (wanted) {
      history.replaceState(null, "", "/");
      dispatchEvent(new CustomEvent("blockful:find", { detail: wanted }));
    }
    this.main.dataset.ready = String(data.revision);
  }

  private versionsAt(): Uint32Array<ArrayBuffer> {
    const { data, tick } = this;
    const versions = new Uint32Array(data!.models);
    for (let at = 0; at < data!.replaced_row.length && data!.replaced_tick[at]! <= tick; at++)
      versions[data!.replaced_row[at]!] = data!.replaced_version[at]!;
    return versions;
  }

  private look(): Shown {
    const data = this.data!;
    const [colour] = colouring(data, kept.mode, this.versions);
    const isDamaged = (row: number): boolean => data.at_chance[row]! > 0 && this.versions[row] === data.version[row];
    return { colour, stands: (row) => data.born[row]! <= this.tick, isDamaged };
  }

  private recolour(): void {
    if (!this.data || !this.view) return;
    this.versions = this.versionsAt();
    this.view.show(this.look());
    this.explain();
    this.choose(this.chosen.filter((row) => this.data!.born[row]! <= this.tick));
  }

  private explain(): void {
    const data = this.data!;
    const damaged = Array.from(data.at_chance.keys()).filter(this.look().isDamaged).length;
    replace(this.legend, ...legendOf(data, kept.mode, this.versions, damaged));
    const text = momentOf(data, this.tick, this.versions);
    replace(this.moment, text.join(" · "));
    this.time.setAttribute("aria-valuetext", text.join(", "));
  }

  private hover(row: number | null): void {
    if (row === null) this.choose(this.chosen);
    else this.tell(row, this.view!.light([row]), false);
    this.canvas.classList.toggle("pointing", row !== null);
  }

  private click(row: number | null, more: boolean): void {
    if (row === null) this.choose([]);
    else if (more) this.choose(this.chosen.includes(row) ? this.chosen.filter((each) => each !== row) : [...this.chosen, row]);
    else this.choose([row]);
  }

  private choose(rows: number[]): void {
    this.chosen = rows;
    const found = this.view?.light(rows) ?? null;
    if (rows.length && found) this.tell(rows[rows.length - 1]!, found, true);
    else {
      this.card.hidden = true;
      replace(this.said);
    }
  }

  private tell(row: number, found: Reach | null, chosen: boolean): void {
    const told = { row, found, versions: this.versions, chosen: chosen ? this.chosen : null };
    replace(this.card, ...cardOf(this.data!, this.view!, told));
    this.card.hidden = false;
    if (chosen) replace(this.said, spoken(this.data!, told));
  }

  private key(event: KeyboardEvent): void {
    const { data, view } = this;
    if (!data || !view || event.target !== this.canvas) return;
    const row = this.chosen[this.chosen.length - 1];
    const zooms: Record<string, "in" | "out" | "all"> = { "+": "in", "=": "in", "-": "out", "0": "all" };
    if (zooms[event.key]) view.zoom(zooms[event.key]!);
    else if (event.key === "Escape") this.choose([]);
    else if (event.key === "Enter" && row !== undefined) go(`/models/${positionOf(data, row)}`);
    else if (event.key.startsWith("Arrow")) {
      const next = walked(data, view, (each) => data.born[each]! <= this.tick, row, event.key);
      if (next !== null) {
        this.choose(event.shiftKey && row !== undefined ? [...new Set([...this.chosen, next])] : [next]);
        if (data.models > 200) view.centre(next);
      }
    } else return;
    event.preventDefault();
  }

  close(): void {
    this.aborting.abort();
    clearTimeout(this.waiting);
    cancelAnimationFrame(this.frame);
    kept.camera = this.view?.state() ?? kept.camera;
    removeEventListener("blockful:find", this.found);
    delete this.main.dataset.ready;
    this.view?.close();
    this.view = null;
  }
}
