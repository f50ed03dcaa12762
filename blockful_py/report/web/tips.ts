// SPDX-License-Identifier: Apache-2.0
// A tooltip at once, in the place of the browser's own: texts come from `title` attributes and SVG titles.

import { h } from "../../web/dom";

export interface Tip {
  /** Shows a text beside a point of the window; hides the tooltip for no text. */
  show: (text: string | null, x?: number, y?: number) => void;
}

const GAP = 14;

export function tips(): Tip {
  const texts = new Map<Element, string>();
  for (const element of document.querySelectorAll("main [title]")) {
    texts.set(element, element.getAttribute("title")!);
    element.removeAttribute("title");
  }
  for (const title of document.querySelectorAll("main svg title")) {
    const element = title.parentElement!;
    texts.set(element, title.textContent ?? "");
    element.setAttribute("aria-label", title.textContent ?? "");
    title.remove();
  }
  const box = h("div", { class: "tip", role: "tooltip", hidden: true });
  document.body.append(box);
  const show: Tip["show"] = (text, x = 0, y = 0) => {
    box.hidden = text === null;
    if (text === null) return;
    box.textContent = text;
    const { width, height } = box.getBoundingClientRect();
    const left = x + GAP + width > innerWidth ? x - GAP - width : x + GAP;
    const top = y + GAP + height > innerHeight ? y - GAP - height : y + GAP;
    // Set by the object model, which the page's policy allows, unlike an attribute.
    box.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    box.style.top = `${Math.max(4, top)}px`;
  };
  const of = (event: Event): string | null => {
    for (let at = event.target as Element | null; at; at = at.parentElement) if (texts.has(at)) return texts.get(at)!;
    return null;
  };
  let focused: Element | null = null;
  const beside = (element: Element): void => {
    const place = element.getBoundingClientRect();
    show(texts.get(element)!, place.left + Math.min(place.width, 160), place.bottom - GAP);
  };
  for (const kind of ["pointermove", "pointerover"] as const)
    document.addEventListener(kind, (event) => {
      if ((event.target as Element).closest?.(".curve")) return;
      show(of(event), event.clientX, event.clientY);
    });
  document.documentElement.addEventListener("pointerleave", () => show(null));
  document.addEventListener("focusin", (event) => {
    const target = event.target as Element;
    if (!target.matches(":focus-visible") || !texts.has(target)) return;
    focused = target;
    beside(target);
  });
  document.addEventListener("focusout", () => {
    focused = null;
    show(null);
  });
  document.addEventListener("scroll", () => focused && beside(focused), { capture: true, passive: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && show(null));
  return { show };
}
