// SPDX-License-Identifier: Apache-2.0
// The inheritance graph of the page: what a request would reach is lit where a pointer or the focus is.

import { adjacency, neighbours, reach, type Adjacency } from "../../web/reach";

export interface Graph {
  element: SVGElement | null;
  nodes: SVGAElement[];
  heirs: Adjacency;
  references: Adjacency;
}

/** Rows are the places of the models in the report. */
export const rowOf = (element: Element): number => Number(element.closest<HTMLElement | SVGElement>("[data-model]")?.dataset.model ?? -1);

export function lineage(): Graph {
  const element = document.querySelector<SVGElement>(".lineage");
  const nodes = [...document.querySelectorAll<SVGAElement>(".lineage a")];
  const edges = [...document.querySelectorAll<SVGPathElement>(".lineage .edge")];
  const from = Uint32Array.from(edges, (edge) => Number(edge.dataset.from));
  const to = Uint32Array.from(edges, (edge) => Number(edge.dataset.to));
  const graph = { element, nodes, heirs: adjacency(nodes.length, from, to), references: adjacency(nodes.length, to, from) };
  const light = (row: number): void => {
    const lit = row < 0 ? null : reach(graph.heirs, [row], () => true);
    element?.classList.toggle("dimmed", lit !== null);
    nodes.forEach((node, at) => node.classList.toggle("lit", lit !== null && lit.depth[at]! >= 0));
    edges.forEach((edge, at) => edge.classList.toggle("lit", lit !== null && lit.depth[from[at]!]! >= 0));
    for (const same of document.querySelectorAll(".same")) same.classList.remove("same");
    if (row >= 0) for (const each of document.querySelectorAll(`[data-model="${row}"]`)) each.classList.add("same");
  };
  const at = (event: Event): void => light(event.target instanceof Element ? rowOf(event.target) : -1);
  document.addEventListener("pointerover", at);
  document.addEventListener("focusin", at);
  document.addEventListener("focusout", () => light(-1));
  document.documentElement.addEventListener("pointerleave", () => light(-1));
  return graph;
}

/** The row that an arrow leads to in the graph, or null. */
export function walked(graph: Graph, row: number, key: string): number | null {
  const first = (of: Adjacency): number | null => neighbours(of, row)[0] ?? null;
  if (key === "ArrowLeft") return first(graph.references);
  if (key === "ArrowRight") return first(graph.heirs);
  const next = row + (key === "ArrowDown" ? 1 : -1);
  return next >= 0 && next < graph.nodes.length ? next : null;
}
