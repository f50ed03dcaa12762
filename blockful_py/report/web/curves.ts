// SPDX-License-Identifier: Apache-2.0
// A learning curve tells the epoch under the pointer, or at the arrow keys.

import { svg } from "../../web/dom";
import type { Tip } from "./tips";

export function curves(tip: Tip): void {
  for (const element of document.querySelectorAll<SVGSVGElement>(".curve")) {
    const values = element.dataset.values!.split(" ");
    const cursor = svg("line", { class: "cursor", y1: 0, y2: 100, x1: 0, x2: 0, visibility: "hidden" });
    element.append(cursor);
    let epoch = values.length - 1;
    const show = (to: number): void => {
      epoch = Math.max(0, Math.min(to, values.length - 1));
      const share = values.length > 1 ? epoch / (values.length - 1) : 0.5;
      for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(100 * share));
      cursor.setAttribute("visibility", "visible");
      const place = element.getBoundingClientRect();
      const text = `epoch ${epoch + 1} of ${values.length}: ${values[epoch]}${element.dataset.unit}`;
      element.setAttribute("aria-valuenow", String(epoch + 1));
      element.setAttribute("aria-valuetext", text);
      tip.show(text, place.left + share * place.width, place.bottom - 8);
    };
    const hide = (): void => {
      cursor.setAttribute("visibility", "hidden");
      tip.show(null);
    };
    for (const [name, value] of Object.entries({ role: "slider", "aria-valuemin": 1, "aria-valuemax": values.length, "aria-valuenow": values.length, "aria-valuetext": `${values[epoch]}${element.dataset.unit}` }))
      element.setAttribute(name, String(value));
    element.addEventListener("pointermove", (event) => {
      const place = element.getBoundingClientRect();
      show(Math.round(((event.clientX - place.left) / place.width) * (values.length - 1)));
    });
    element.addEventListener("pointerleave", hide);
    element.addEventListener("focus", () => element.matches(":focus-visible") && requestAnimationFrame(() => show(epoch)));
    element.addEventListener("blur", hide);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      show(epoch + (event.key === "ArrowRight" ? 1 : -1));
    });
  }
}
