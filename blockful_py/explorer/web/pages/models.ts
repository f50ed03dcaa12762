// SPDX-License-Identifier: Apache-2.0
// All models as a table: sorted, filtered, page by page.

import { type Model } from "../api";
import { h, type Child } from "../../../web/dom";
import { count, percent } from "../format";
import { answerPage, go, hash, modelCell, userOf, type View } from "../page";

const SIZE = 50;
const COLUMNS: [string, string | null][] = [
  ["Model", "name"],
  ["Position", "position"],
  ["Owner", null],
  ["Version", "version"],
  ["Accuracy", "accuracy"],
  ["AD_f", "ad_f"],
  ["AD_r", "ad_r"],
];

interface Listed {
  total: number;
  start: number;
  models: Model[];
}

export function modelsPage(main: HTMLElement): View {
  const query = new URLSearchParams(location.search);
  const [order, direction] = [query.get("order") ?? "position", query.get("direction") ?? "up"];
  const start = Number(query.get("start") ?? 0) || 0;
  const to = (changes: Record<string, string>): string => {
    const wanted = new URLSearchParams({ order, direction, search: query.get("search") ?? "", ...changes });
    return `/models?${wanted}`;
  };
  const heading = ([name, key]: [string, string | null]): HTMLElement => {
    const right = ["version", "accuracy", "ad_f", "ad_r"].includes(key ?? "");
    if (!key) return h("th", { scope: "col" }, name);
    const sorted = key === order;
    const next = sorted && direction === "up" ? "down" : "up";
    const sort = sorted ? (direction === "up" ? "ascending" : "descending") : "none";
    return h(
      "th",
      { scope: "col", "aria-sort": sort, class: right && "right" },
      h("a", { href: to({ order: key, direction: next, start: "0" }) }, name, sorted && (direction === "up" ? " ↑" : " ↓")),
    );
  };
  const filter = (event: Event): void => {
    event.preventDefault();
    const field = (event.target as HTMLFormElement).elements.namedItem("filter") as HTMLInputElement;
    go(to({ search: field.value.trim(), start: "0" }));
  };
  const draw = (answer: Listed): Child[] => [
    h(
      "div",
      { class: "row" },
      h("h1", {}, "Models"),
      h(
        "form",
        { class: "filter", onsubmit: filter },
        h("input", { name: "filter", type: "search", "aria-label": "Filter by name, position or owner", placeholder: "Filter", value: query.get("search") ?? "", maxlength: 100 }),
        h("button", { type: "submit", class: "button plain" }, "Filter"),
      ),
    ),
    answer.models.length === 0
      ? h("p", { class: "empty" }, query.get("search") ? "No model matches." : "No model is published yet.")
      : h(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models" },
          h(
            "table",
            {},
            h("caption", { class: "unseen" }, "Models"),
            h("thead", {}, h("tr", {}, ...COLUMNS.map(heading))),
            h(
              "tbody",
              {},
              ...answer.models.map((model) =>
                h(
                  "tr",
                  {},
                  h("td", {}, modelCell(model)),
                  h("td", { class: "mono" }, model.position),
                  h("td", {}, model.user !== null && h("span", { class: "quiet" }, userOf(model), " "), hash(model.owner, 8, 4)),
                  h("td", { class: "right" }, model.withdrawn ? `${model.version} withdrawn` : model.version),
                  h("td", { class: "right" }, percent(model.accuracy)),
                  h("td", { class: "right" }, percent(model.ad_f)),
                  h("td", { class: "right" }, percent(model.ad_r)),
                ),
              ),
            ),
          ),
        ),
    answer.total > SIZE &&
      h(
        "nav",
        { class: "pager", "aria-label": "Pages of models" },
        start > 0 ? h("a", { class: "button plain", href: to({ start: String(Math.max(start - SIZE, 0)) }) }, "Previous") : null,
        h("span", {}, `${count(start + 1)} to ${count(Math.min(start + SIZE, answer.total))} of ${count(answer.total)}`),
        start + SIZE < answer.total ? h("a", { class: "button plain", href: to({ start: String(start + SIZE) }) }, "Next") : null,
      ),
    h("p", { class: "quiet note" }, "Accuracy: on the owner's test data, as its owner signed it of this version. AD_f and AD_r: on what was to be forgotten and on the rest, as members measured them when a version was replaced."),
  ];
  const asked = new URLSearchParams({ order, direction, start: String(start), count: String(SIZE), search: query.get("search") ?? "" });
  return answerPage<Listed>(main, () => `/api/models?${asked}`, draw);
}
