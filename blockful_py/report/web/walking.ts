// SPDX-License-Identifier: Apache-2.0
// Arrow keys within a figure, which takes one stop of the Tab key.

import { rowOf, walked, type Graph } from "./lineage";

export function walking(graph: Graph): void {
  for (const figure of document.querySelectorAll<HTMLElement | SVGElement>("[data-walk]")) {
    const stops = [...figure.querySelectorAll<HTMLElement | SVGElement>("a[data-model], .curve")];
    stops.forEach((stop, at) => stop.setAttribute("tabindex", at ? "-1" : "0"));
    figure.addEventListener("keydown", (event) => {
      const at = stops.indexOf(event.target as HTMLElement);
      const next = at < 0 ? null : figure.dataset.walk === "graph" ? inGraph(graph, stops, at, event as KeyboardEvent) : along(at, event as KeyboardEvent);
      if (next === null || !stops[next]) return;
      event.preventDefault();
      stops[next].focus();
    });
    figure.addEventListener("focusin", (event) => {
      const to = stops.indexOf(event.target as HTMLElement);
      if (to >= 0) stops.forEach((stop, at) => stop.setAttribute("tabindex", at === to ? "0" : "-1"));
    });
  }
}

function inGraph(graph: Graph, stops: Element[], at: number, event: KeyboardEvent): number | null {
  if (!event.key.startsWith("Arrow")) return null;
  const row = walked(graph, rowOf(stops[at]!), event.key);
  return row === null ? at : stops.findIndex((stop) => rowOf(stop) === row);
}

const along = (at: number, event: KeyboardEvent): number | null =>
  event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : null;
