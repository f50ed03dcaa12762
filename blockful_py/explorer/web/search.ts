// SPDX-License-Identifier: Apache-2.0
// Finds models by name, position or owner.

import { ask, type Model } from "./api";
import { h, replace } from "../../web/dom";
import { short } from "./format";
import { go } from "./page";

const SHOWN = 8;

/** A combobox (WAI-ARIA): arrows choose, Enter opens. */
export function searchBox(): HTMLElement {
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "Models found", hidden: true });
  const input = h("input", {
    type: "search",
    placeholder: "Find a model",
    role: "combobox",
    "aria-label": "Search models by name, position or owner",
    "aria-expanded": "false",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 100,
  });
  let models: Model[] = [];
  let chosen = -1;
  let waiting: number | undefined;
  let asked = 0;

  const close = (): void => {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const open = (model: Model): void => {
    close();
    input.value = "";
    if (location.pathname === "/") dispatchEvent(new CustomEvent("blockful:find", { detail: model.position }));
    else go(`/models/${model.position}`);
  };
  const draw = (): void => {
    replace(
      list,
      ...models.map((model, at) =>
        h(
          "li",
          {
            role: "option",
            id: `found-${at}`,
            "aria-selected": String(at === chosen),
            onmousedown: (event: Event) => {
              event.preventDefault();
              open(model);
            },
          },
          h("b", {}, model.name ?? model.position),
          h("span", {}, `at ${model.position} · owner ${short(model.owner)}`),
        ),
      ),
      models.length === 0 && h("li", { class: "quiet", role: "option", "aria-disabled": "true" }, "No model found"),
    );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (chosen >= 0) input.setAttribute("aria-activedescendant", `found-${chosen}`);
  };
  const load = async (): Promise<void> => {
    const text = input.value.trim();
    const number = ++asked;
    if (!text) return close();
    try {
      const answer = await ask<{ models: Model[] }>(`/api/models?count=${SHOWN}&search=${encodeURIComponent(text)}`);
      if (number !== asked || document.activeElement !== input) return;
      models = answer.models;
      chosen = models.length ? 0 : -1;
      draw();
    } catch {
      close();
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(load, 120);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && models[chosen] && !list.hidden) open(models[chosen]!);
    else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && models.length && !list.hidden) {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : models.length - 1)) % models.length;
      draw();
    }
  });
  return h("div", { class: "combobox" }, input, list);
}
