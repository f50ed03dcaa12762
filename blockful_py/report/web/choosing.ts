// SPDX-License-Identifier: Apache-2.0
// A click or Enter on a model shows it in a panel; the address names it, so that it can be linked and left by "back".

import { h } from "../../web/dom";
import { rowOf, type Graph } from "./lineage";

export function choosing(graph: Graph): void {
  const body = h("div");
  const close = h("button", { class: "close", type: "button", "aria-label": "Close" }, "×");
  const panel = h("aside", { class: "chosen", "aria-label": "Chosen model", tabindex: -1, hidden: true }, close, body);
  document.body.append(panel);
  let origin: HTMLElement | SVGElement | null = null;

  const show = (): void => {
    const article = /^#model-\d+$/.test(location.hash) ? document.getElementById(location.hash.slice(1)) : null;
    panel.hidden = article === null;
    if (!article) return;
    const copy = article.cloneNode(true) as HTMLElement;
    copy.removeAttribute("id");
    copy.removeAttribute("tabindex");
    body.replaceChildren(copy);
    panel.scrollTop = 0;
    panel.focus({ preventScroll: true });
  };
  const choose = (row: number): void => {
    history.pushState(null, "", `#model-${row}`);
    show();
  };
  const leave = (): void => {
    if (panel.hidden) return;
    history.pushState(null, "", location.pathname + location.search);
    show();
    (origin?.isConnected ? origin : graph.nodes[0])?.focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const row = rowOf(event.target);
    if (row < 0 || (event.target.closest("a[href]") && !event.target.closest("a[data-model]"))) return;
    event.preventDefault();
    if (!panel.contains(event.target)) origin = event.target.closest<HTMLElement | SVGElement>("a[data-model]") ?? origin;
    choose(row);
  });
  close.addEventListener("click", leave);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.target as Element).matches?.(".curve")) {
      origin = event.target as SVGElement;
      choose(rowOf(origin));
    }
  });
  addEventListener("popstate", show);
  show();
}
