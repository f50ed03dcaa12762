// SPDX-License-Identifier: Apache-2.0
// Jobs of this machine's runs, as they go on.

import { listen } from "../api";
import { h, replace, type Child } from "../../../web/dom";
import { count, duration, plural, when } from "../format";
import { hash, table, type View } from "../page";

interface Step {
  decision: number;
  act: string;
  subject: string;
  state: string;
  begun: number | null;
  ended: number | null;
  transaction: string | null;
}

interface Job {
  job: number;
  kind: string;
  state: string;
  outcome: string;
  begun: number;
  ended: number | null;
  done: number;
  steps: number;
  rate: number | null;
  remaining: number | null;
  excluded: string[];
  latest: Step[];
}

interface Run {
  name: string;
  problem: string | null;
  jobs: Job[];
  log: string[];
}

export function jobsPage(main: HTMLElement): View {
  const opened = new Set<string>();
  replace(main, h("h1", {}, "Jobs"), h("p", { class: "empty", role: "status" }, "Waiting for the journals…"));
  const stop = listen<Run[]>("jobs", (runs) => replace(main, h("h1", {}, "Jobs"), ...draw(runs, opened)));
  return { close: stop };
}

function draw(runs: Run[], opened: Set<string>): Child[] {
  if (runs.length === 0)
    return [h("p", { class: "empty" }, "No run of this machine is shown. Start the explorer with --run, or with --jobs for each run directory.")];
  return runs.map((run) =>
    h(
      "section",
      { class: "run" },
      h("h2", {}, run.name),
      run.problem && h("p", { class: "bad" }, run.problem),
      !run.problem && run.jobs.length === 0 && h("p", { class: "quiet" }, "No job was begun."),
      ...run.jobs.map((job) => shown(job, `${run.name} ${job.job}`, opened)),
      run.log.length > 0 && h("details", { open: opened.has(run.name), ontoggle: toggled(run.name, opened) }, h("summary", {}, "Log"), h("pre", { tabindex: "0", "aria-label": `Log of ${run.name}` }, run.log.join("\n"))),
    ),
  );
}

const toggled =
  (key: string, opened: Set<string>) =>
  (event: Event): void => {
    if ((event.target as HTMLDetailsElement).open) opened.add(key);
    else opened.delete(key);
  };

function shown(job: Job, key: string, opened: Set<string>): HTMLElement {
  const open = job.state === "open";
  const rate = job.rate === null ? "" : `${job.rate.toFixed(job.rate < 10 ? 1 : 0)} steps a second`;
  const stages = new Map<string, [number, number]>();
  for (const step of job.latest) {
    const stage = stages.get(step.act) ?? [0, 0];
    stages.set(step.act, [stage[0] + Number(step.state === "done"), stage[1] + 1]);
  }
  return h(
    "article",
    { class: `job ${job.state}` },
    h(
      "header",
      {},
      h("h3", {}, `${job.job} · ${job.kind}`),
      h("span", { class: open ? "badge on" : job.state === "failed" ? "badge warn" : "badge" }, open ? "running" : job.state),
      h("span", { class: "quiet" }, `begun ${when(job.begun)}`, job.ended ? `, took ${duration(job.ended - job.begun)}` : ""),
    ),
    h("div", { class: "row" }, h("progress", { max: Math.max(job.steps, 1), value: job.done, "aria-label": `Steps of job ${job.job}` }), h("span", {}, `${count(job.done)} of ${plural(job.steps, "step")}`), rate && h("span", { class: "quiet" }, rate), open && job.remaining !== null && h("span", {}, `about ${duration(job.remaining)} for the steps planned so far`)),
    h("p", { class: "stages" }, ...[...stages].map(([act, [done, all]]) => h("span", { class: done === all ? "stage done" : "stage" }, `${act} ${done}/${all}`))),
    job.outcome && h("p", {}, job.outcome),
    ...job.excluded.map((each) => h("p", { class: "bad" }, `excluded: ${each}`)),
    h(
      "details",
      { open: opened.has(key), ontoggle: toggled(key, opened) },
      h("summary", {}, "Steps"),
      table<Step>(
        [
          { name: "Decision", of: (each) => each.decision || "", right: true },
          { name: "Act", of: (each) => each.act },
          { name: "Of", of: (each) => each.subject },
          { name: "State", of: (each) => each.state },
          { name: "Took", of: (each) => (each.begun !== null && each.ended !== null ? duration(each.ended - each.begun) : "–"), right: true },
          { name: "Transaction", of: (each) => (each.transaction ? hash(each.transaction, 8, 4) : "") },
        ],
        job.latest,
        `Steps of job ${job.job}`,
      ),
    ),
  );
}
