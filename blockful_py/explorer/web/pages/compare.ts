// SPDX-License-Identifier: Apache-2.0
// Two models side by side.

import { h, replace, type Child } from "../../../web/dom";
import { count, percent } from "../format";
import { answerPage, damaged, go, modelCell, modelLink, table, userOf, type View } from "../page";
import { passed, type Version, type WholeModel } from "./model";

type Pair = [WholeModel, WholeModel];
type Row = [name: string, of: (model: WholeModel, other: WholeModel) => Child];

export function comparePage(main: HTMLElement): View {
  const wanted = new URLSearchParams(location.search).getAll("model");
  const compare = (event: Event): void => {
    event.preventDefault();
    const texts = new FormData(event.target as HTMLFormElement).getAll("model").map(String);
    go(`/compare?${new URLSearchParams(texts.map((each) => ["model", each.trim()]))}`);
  };
  const field = (called: string, at: number): HTMLElement =>
    h("input", { name: "model", type: "search", placeholder: "Name or position", "aria-label": `${called} model, by name or position`, value: wanted[at] ?? "", required: true, maxlength: 100, autocomplete: "off" });
  const answer = h("div", {});
  replace(
    main,
    h("h1", {}, "Two models side by side"),
    h("form", { class: "filter", onsubmit: compare }, field("First", 0), field("Second", 1), h("button", { class: "button plain", type: "submit" }, "Compare")),
    answer,
  );
  if (wanted.length === 2) return answerPage<Pair>(answer, () => `/api${location.pathname}${location.search}`, draw);
  replace(answer, h("p", { class: "empty" }, "Name two models above."));
  return {};
}

const none = (): Child => h("span", { class: "quiet" }, "none");

const lines = (each: Child[]): Child => (each.length ? each.map((one) => h("div", {}, one)) : none());

const figures = (name: "ad_f" | "ad_r") => (model: WholeModel): Child => {
  const current = model.versions.find((each) => each.current);
  return current?.reserved === false ? passed(current, name) : percent(model[name]);
};

function version(each: Version): Child {
  const told = each.reserved ? ", for auditors" : each.version === 0 || each.accuracy !== null ? `, accuracy ${percent(each.accuracy)}` : "";
  return [
    `${each.version}${each.current ? "" : ", archived"}${told}`,
    each.version > 0 && !each.reserved && [", AD_f ", passed(each, "ad_f"), ", AD_r ", passed(each, "ad_r")],
    each.at_chance && [" ", damaged()],
  ];
}

/** Models of a list, those that the other model's list has too marked. */
function models(listed: WholeModel["references"], others: WholeModel["references"]): Child {
  const shared = new Set(others.map((each) => each.position));
  return lines(listed.map((each) => [modelCell(each), shared.has(each.position) && h("span", { class: "quiet" }, " (both)")]));
}

const ROWS: Row[] = [
  ["Position", (model) => h("span", { class: "mono" }, model.position)],
  ["Owner", (model) => userOf(model)],
  ["Version", (model) => [model.version, model.withdrawn && " withdrawn", model.at_chance && [" ", damaged()]]],
  ["Accuracy, signed by its owner", (model) => percent(model.accuracy)],
  ["AD_f", figures("ad_f")],
  ["AD_r", figures("ad_r")],
  ["References", (model, other) => models(model.references, other.references)],
  ["Heirs", (model, other) => [models(model.heirs.models, other.heirs.models), model.heirs.total > model.heirs.models.length && `${count(model.heirs.total)} in all`]],
  ["Versions", (model) => lines(model.versions.map(version))],
  [
    "Requests that reach it",
    (model) => lines(model.requests.map((each) => [h("a", { href: `/requests/${each.key}` }, `forget ${each.forget}`), `, ${each.paradigm}: ${each.version === null ? "not replaced" : `version ${each.version}`}`])),
  ],
];

function draw([one, other]: Pair): Child[] {
  const named = (model: WholeModel): string => model.name ?? model.position;
  return [
    h("p", { class: "lead" }, modelLink(one.position, one.name), " and ", modelLink(other.position, other.name)),
    h("div", { class: "wrapped" }, table<Row>(
      [
        { name: "", of: ([name]) => name },
        { name: named(one), of: ([, of]) => of(one, other) },
        { name: named(other), of: ([, of]) => of(other, one) },
      ],
      ROWS,
      `${named(one)} and ${named(other)}`,
    )),
  ];
}
