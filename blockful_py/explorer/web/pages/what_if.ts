// SPDX-License-Identifier: Apache-2.0
// What a request would reach and cost.

import { ask, AnswerError, type Model } from "../api";
import { h, replace, type Child } from "../../../web/dom";
import { count, duration, percent, plural } from "../format";
import { facts, go, modelCell, modelLink, table, userOf, type View } from "../page";

interface Past {
  key: string;
  paradigm: string;
  models: number;
  gas: number | null;
  forecast: number | null;
  seconds: number | null;
  forecast_seconds: number | null;
}

/** `remedy`: the work that is left, of a model that was made elsewhere. */
type Reached = Model & { depth: number; remedy: string | null };

interface Forecast {
  starts: Model[];
  affected: number;
  blocks: number;
  depth: number;
  longest: number;
  trainings: number | null;
  models: Reached[];
  paradigms: {
    paradigm: string;
    chameleon_hashes: number;
    consensus: number;
    uploads: number;
    downloads: number;
    gas: number;
    times: { method: string; seconds: number; requests: number }[];
    deadline: number | null;
  }[];
  history: { redactions: number; records: number } | null;
  past: Past[];
}

export function whatIfPage(main: HTMLElement): View {
  const starts = new URLSearchParams(location.search).getAll("start").slice(0, 50);
  const aborting = new AbortController();
  const chosen = h("div", { class: "chosen" });
  const answer = h("div", {});
  const problem = h("p", { class: "bad", role: "alert" });
  const input = h("input", { name: "add", type: "search", placeholder: "Name or position", "aria-label": "Add a model by name or position", maxlength: 100, autocomplete: "off" });
  const to = (list: string[]): string => `/what-if?${new URLSearchParams(list.map((each) => ["start", each]))}`;

  const add = async (event: Event): Promise<void> => {
    event.preventDefault();
    replace(problem);
    const text = input.value.trim();
    if (!text) return;
    try {
      const found = await ask<{ models: Model[] }>(`/api/models?count=20&search=${encodeURIComponent(text)}`, aborting.signal);
      const exact = found.models.find((each) => each.name === text || each.position === text) ?? (found.models.length === 1 ? found.models[0] : undefined);
      if (!exact) replace(problem, found.models.length ? `${found.models.length} models match: write the whole name.` : "No model matches.");
      else go(to([...new Set([...starts, exact.position])]));
    } catch (error) {
      if (!aborting.signal.aborted) replace(problem, (error as Error).message);
    }
  };
  replace(
    main,
    h("h1", {}, "What if these models had to forget?"),
    h("form", { class: "filter", onsubmit: add }, input, h("button", { class: "button plain", type: "submit" }, "Add model")),
    problem,
    chosen,
    answer,
  );
  const load = async (): Promise<void> => {
    if (starts.length === 0) {
      replace(answer, h("p", { class: "empty" }, "Add models above, or choose them in the graph with shift-click."));
      return;
    }
    try {
      const found = await ask<Forecast>(`/api${to(starts)}`, aborting.signal);
      replace(
        chosen,
        ...found.starts.map((each) =>
          h(
            "span",
            { class: "chip" },
            modelLink(each.position, each.name),
            h("button", { type: "button", "aria-label": `Remove ${each.name ?? each.position}`, onclick: () => go(to(found.starts.filter((one) => one !== each).map((one) => one.position))) }, "×"),
          ),
        ),
      );
      replace(answer, ...draw(found));
    } catch (error) {
      if (!aborting.signal.aborted) replace(answer, h("p", { class: "empty", role: "alert" }, error instanceof AnswerError ? error.message : "The server does not answer."));
    }
  };
  void load();
  return { changed: () => void load(), close: () => aborting.abort() };
}

const big = (value: Child, name: string): HTMLElement => h("div", { class: "figure" }, h("b", {}, value), h("span", {}, name));

function draw(found: Forecast): Child[] {
  const isAdopted = found.models.some((each) => each.remedy);
  const title = isAdopted ? "Models that are reached" : "Models that would be replaced";
  return [
    h(
      "div",
      { class: "figures wide" },
      big(count(found.affected), `${found.affected === 1 ? "model is" : "models are"} ${isAdopted ? "reached" : "replaced"}`),
      big(count(found.blocks), found.blocks === 1 ? "block header is re-opened" : "block headers are re-opened"),
      big(found.depth, "depth, by the shortest paths"),
      big(found.longest, "depth, by the longest path"),
      found.trainings !== null && big(count(found.trainings), found.trainings === 1 ? "training is asked of owners" : "trainings are asked of owners"),
    ),
    h("div", { class: "versions" }, ...found.paradigms.map((each) => paradigm(each, found))),
    h("p", { class: "quiet note" }, found.history
      ? `Operations: the paper's cost model, exact. Gas: fitted to ${plural(found.history.redactions, "redaction")} and ${plural(found.history.records, "archive transaction")} of this federation. Time: seconds a model of past requests by the same method.`
      : "Operations: the paper's cost model, exact. Gas: by a benchmark, since nothing was replaced here yet; time needs a history."),
    found.past.length > 0 && [h("h2", {}, "How good such forecasts were"), past(found)],
    h("h2", {}, title),
    table<Reached>(
      [
        { name: "Model", of: modelCell },
        { name: "Depth", of: (each) => (each.depth === 0 ? "start" : each.depth), right: true },
        { name: "Owner", of: (each) => userOf(each) },
        { name: "Version", of: (each) => each.version, right: true },
        isAdopted ? { name: "Work left", of: (each) => each.remedy ?? "–" } : { name: "Accuracy", of: (each) => percent(each.accuracy), right: true },
      ],
      found.models,
      title,
    ),
    found.affected > found.models.length && h("p", { class: "quiet" }, `and ${count(found.affected - found.models.length)} more`),
  ];
}

function paradigm(each: Forecast["paradigms"][number], found: Forecast): HTMLElement {
  return h(
    "article",
    { class: "version" },
    h("header", {}, h("h3", {}, each.paradigm === "parallel" ? "Parallel" : "Sequential"), h("span", { class: "quiet" }, each.paradigm === "parallel" ? "one certificate for all" : "a certificate for each model")),
    h(
      "div",
      { class: "figures" },
      h("div", { class: "figure" }, h("b", {}, count(each.gas)), h("span", {}, "gas on both chains"), h("small", {}, found.affected > 0 && `${count(Math.round(each.gas / found.affected))} a model`)),
      h("div", { class: "figure" }, h("b", {}, each.times[0] ? duration(each.times[0].seconds) : "–"), h("span", {}, "time"), h("small", {}, each.times[0] ? `${each.times[0].method}, of ${plural(each.times[0].requests, "request")}` : "no history")),
    ),
    facts(
      ["Chameleon hashes", count(each.chameleon_hashes)],
      ["Consensus", count(each.consensus)],
      ["Uploads", count(each.uploads)],
      ["Downloads", count(each.downloads)],
      ["Deadline", each.deadline === null ? "none" : `${plural(each.deadline, "block")} from its admission; by waves longer`],
      ...each.times.slice(1).map((time): [string, Child] => [time.method, `${duration(time.seconds)}, of ${plural(time.requests, "request")}`]),
    ),
  );
}

/** By how much a forecast differed from what was used; null without one of them. */
const error = (forecast: number | null, used: number | null): number | null =>
  forecast === null || !used ? null : forecast / used - 1;

const signed = (share: number | null): string =>
  share === null ? "–" : `${share >= 0 ? "+" : "−"}${Math.abs(share * 100).toFixed(1)} %`;

/** Mean size of the errors that there are. */
function meant(errors: (number | null)[]): string {
  const found = errors.filter((each) => each !== null);
  return found.length ? `${(100 * found.reduce((sum, each) => sum + Math.abs(each), 0) / found.length).toFixed(1)} % (n = ${found.length})` : "none yet";
}

function past(found: Forecast): Child[] {
  const gas = (each: Past): number | null => error(each.forecast, each.gas);
  const time = (each: Past): number | null => error(each.forecast_seconds, each.seconds);
  const known = (value: number | null, write: (value: number) => string): string => (value === null ? "–" : write(value));
  return [
    h("p", {}, `Each request with what was forecast from the history before it. Mean size of the error: gas ${meant(found.past.map(gas))}, time ${meant(found.past.map(time))}.`),
    table<Past>(
      [
        { name: "Request", of: (each) => h("a", { href: `/requests/${each.key}` }, `${each.paradigm}, ${plural(each.models, "model")}`) },
        { name: "Gas forecast", of: (each) => known(each.forecast, count), right: true },
        { name: "Gas used", of: (each) => known(each.gas, count), right: true },
        { name: "Error", of: (each) => signed(gas(each)), right: true },
        { name: "Time forecast", of: (each) => known(each.forecast_seconds, duration), right: true },
        { name: "Time taken", of: (each) => known(each.seconds, duration), right: true },
        { name: "Error", of: (each) => signed(time(each)), right: true },
      ],
      found.past,
      "Forecasts and what requests cost",
    ),
  ];
}
