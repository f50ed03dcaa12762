// SPDX-License-Identifier: Apache-2.0
// A request, from its signing to its certificate.

import type { Before, Checked, Figures, Owner, Reviewed } from "../api";
import { h, svg, type Child } from "../../../web/dom";
import { count, duration, isDemoClock, percent, plural, recorded, share, short, when } from "../format";
import { answerPage, facts, hash, modelCell, modelLink, passage, BEFORE, table, userOf, type View } from "../page";
import { reviewed } from "../reviewed";
import { waiting, type Heading } from "./requests";

interface Happening {
  transaction: string;
  /** Of the chain's node, by which what happened is ordered. */
  block: number;
  time: number | null;
  gas: number | null;
}

interface Participant extends Omit<Owner, "owner"> {
  account: string;
}

interface Decision {
  review: Reviewed | null;
  models: { name: string; position: string; withdrawn: boolean }[];
  transactions: (Happening & { chain: string })[];
}

interface Affected extends Owner {
  position: string;
  name: string | null;
  depth: number;
  version: number | null;
  time: number | null;
  withdrawn: boolean;
  after: Figures | null;
  /** Whether it is no better than chance on what it was to keep. */
  at_chance: boolean;
  /** Whether it does worse there than before, by more than chance explains. */
  is_loss: boolean;
  /** Whether what it was replaced by was replaced since, and is for auditors. */
  reserved: boolean;
  before: Before | null;
  /** The work that is left, of a model that was made elsewhere. */
  remedy: string | null;
}

/** A recipient of a version that was recalled; `did` and `at` are null until it answers. */
interface Recipient {
  model: string;
  position: string;
  version: number;
  recipient: string;
  account: string | null;
  did: string | null;
  at: number | null;
}

interface Recipients {
  counts: Record<string, number>;
  recipients: Recipient[];
  more: number;
  unread: number;
}

interface Whole extends Heading {
  checked: Checked;
  document: { signatures: string[]; starts: { name: string; position: string }[] };
  filing: (Happening & Participant & { file: string; decision: string | null; deadline: number | null; parts: (Happening & Participant & { model: string | null; position: string; node: string })[] }) | null;
  decisions: Decision[];
  models: Affected[];
  recipients: Recipients | null;
  certificate: { kind: string; warnings: string[]; models: string[]; destroyed: number; audited: boolean } | null;
}

interface Moment {
  time: number | null;
  /** Block of the live chain that it is ordered by: the clocks of two chains may differ. */
  block: number;
  title: string;
  body: Child;
  kind: "asked" | "part" | "decided" | "done" | "open";
}

export function requestPage(main: HTMLElement, key: string): View {
  return answerPage<Whole>(main, () => `/api/requests/${encodeURIComponent(key)}`, draw);
}

function draw(request: Whole): Child[] {
  const gas = request.decisions.flatMap((each) => each.transactions).reduce((sum, each) => sum + (each.gas ?? 0), 0);
  const done = waiting(request) <= 0;
  return [
    h(
      "div",
      { class: "row" },
      h("h1", {}, `${request.number === null ? "Request" : `Request ${request.number}`} to forget ${request.forget}`),
      h("span", { class: done ? "badge on" : "badge" }, done ? "carried out" : `${request.replaced} of ${request.affected}`),
      h("span", { class: "grow" }),
      request.certificate && h("a", { class: "button", href: `/api/requests/${request.key}/certificate`, download: "" }, "Download certificate"),
    ),
    ...shown(request.certificate),
    facts(
      ["Starts", ...request.starts.map((each, at) => [at ? ", " : "", modelLink(each.position, each.name)])],
      ["Paradigm", request.paradigm],
      ["Method", method(request.method)],
      ["Affected", `${plural(request.affected, "model")}${request.left_alone ? ` (${count(request.left_alone)} left alone)` : ""} in ${plural(request.decisions.length, "decision")}, ${count(gas)} gas on both chains`],
    ),
    h("h2", {}, "What happened"),
    timeline(moments(request)),
    h("h2", {}, request.models.some((each) => each.remedy) ? "Work left" : request.models.some((each) => each.before) ? "Before and after" : "Figures"),
    alarm(request.models.filter((each) => each.at_chance), "is", "are", "no better than chance on what was to be kept."),
    alarm(request.models.filter((each) => each.is_loss && !each.at_chance), "does", "do", "worse than before on what was to be kept, by more than chance explains."),
    request.models.some((each) => each.after?.ad_f != null) && chart(request.models),
    models(request),
    request.recipients && recipients(request.recipients),
  ];
}

/** Who had received the versions before, and what they answered. */
function recipients(told: Recipients): Child {
  const counts = Object.entries(told.counts).map(([word, number]) => `${count(number)} ${word}`);
  if (told.more) counts.push(`${count(told.more)} more`);
  return [
    h("h2", {}, "Recipients of the versions before"),
    h("p", {}, `${counts.join(", ") || "none"}. `, h("span", { class: "quiet" }, "Answers are the recipients' own signed words, which nobody can check.")),
    told.unread > 0 && h("p", { class: "bad" }, `${plural(told.unread, "declared file")} could not be read.`),
    table<Recipient>(
      [
        { name: "Model", of: (each) => modelLink(each.position, each.model) },
        { name: "Version", of: (each) => each.version, right: true },
        { name: "Recipient", of: (each) => hash(each.account ?? each.recipient) },
        { name: "Known by", of: (each) => (each.account ? "account" : "hash of a name") },
        { name: "Answer", of: (each) => (each.did === null ? h("span", { class: "badge warn" }, "open") : each.did) },
        { name: "Signed by", of: (each) => (each.did === null ? "–" : each.account ? "its account" : "a key that the owner vouches for") },
        { name: "Answered (UTC)", of: (each) => when(each.at) },
      ],
      told.recipients,
      "Recipients of the versions before",
    ),
  ];
}

/** The certificate's first line, and what its method is known to leave. */
function shown(certificate: Whole["certificate"]): Child[] {
  if (!certificate) return [];
  return [h("p", {}, h("strong", {}, certificate.kind)), ...certificate.warnings.map((each) => h("p", { class: "bad" }, `Warning: ${each}.`))];
}

function alarm(lost: Affected[], one: string, several: string, what: string): Child {
  if (!lost.length) return null;
  const names = lost.map((each, at) => [at ? ", " : "", modelLink(each.position, each.name)]);
  return h("p", { class: "bad", role: "alert" }, "Alarm: ", ...names.flat(), ` ${lost.length === 1 ? one : several} ${what}`);
}

/** A method's name, and its settings where it has some. */
function method(text: string): Child {
  const [name, settings] = [text.split(" ")[0]!, text.slice(text.indexOf(" ") + 1)];
  return settings === "{}" || settings === text ? name : [name, " ", h("span", { class: "mono small quiet" }, settings)];
}

function moments(request: Whole): Moment[] {
  const found: Moment[] = [
    {
      time: request.created,
      block: 0,
      title: "Signed",
      body: `by the owners of ${request.starts.map((each) => each.name).join(" and ")}: ${plural(request.document.signatures.length, "signature")}`,
      kind: "asked",
    },
  ];
  const { filing } = request;
  if (filing) {
    found.push({ time: filing.time, block: filing.block, title: "Filed", body: ["by ", who(filing), `, ${filing.decision === null ? "waits for the committee" : filing.decision}${filing.deadline === null ? "" : `, open until block ${filing.deadline} of the live chain's node`} `, hash(filing.transaction, 8, 4)], kind: "asked" });
    for (const part of filing.parts)
      found.push({ time: part.time, block: part.block, title: "Part handed in", body: [`for ${part.model ?? part.position} by `, who(part), " ", hash(part.transaction, 8, 4)], kind: "part" });
  }
  for (const decision of request.decisions) {
    const block = Math.max(0, ...decision.transactions.map((each) => (each.chain === "live" ? each.block : 0)));
    const names = decision.models.map((each) => each.name).join(", ");
    const gone = decision.models.filter((each) => each.withdrawn).length;
    for (const each of decision.transactions)
      found.push(
        each.chain === "archive"
          ? { time: each.time, block: block || Infinity, title: "Archived", body: [`the replaced version${decision.models.length > 1 ? "s" : ""} of ${names} · ${count(each.gas ?? 0)} gas `, hash(each.transaction, 8, 4)], kind: "decided" }
          : { time: each.time, block: each.block, title: gone === decision.models.length ? "Withdrawn" : "Replaced", body: [named(decision, gone), ` · ${count(each.gas ?? 0)} gas `, hash(each.transaction, 8, 4), reviewed(decision.review)], kind: "decided" },
      );
  }
  found.sort((one, other) => one.block - other.block);
  if (request.certificate)
    found.push({ time: null, block: Infinity, title: "Certified", body: `${plural(request.certificate.models.length, "model")}; the members who signed no longer hold the data keys of ${plural(request.certificate.destroyed, "sealed file")}`, kind: "done" });
  else if (waiting(request) <= 0) found.push({ time: null, block: Infinity, title: "Carried out", body: "no certificate is in this machine's run", kind: "open" });
  else found.push({ time: null, block: Infinity, title: "Waiting", body: `${plural(waiting(request), "model")} to be replaced`, kind: "open" });
  return found;
}

/** The decided models, saying of some which were withdrawn. */
const named = ({ models }: Decision, gone: number): string =>
  models.map((each) => each.name + (each.withdrawn && gone < models.length ? " (withdrawn)" : "")).join(", ");

const who = ({ account, ...each }: Participant): Child => userOf({ owner: account, ...each }, "participant");

function timeline(found: Moment[]): HTMLElement {
  const first = isDemoClock() ? found.find((each) => each.kind !== "asked" || each.title === "Filed") : found[0];
  const start = first?.time ?? 0;
  const at = (each: Moment): string =>
    each.time === null ? "" : isDemoClock() && each === found[0] ? recorded(each.time) : each === first ? when(each.time) : `+ ${duration(each.time - start)}`;
  return h(
    "ol",
    { class: "timeline" },
    ...found.map((each) =>
      h(
        "li",
        { class: each.kind },
        h("time", { title: each.time === null ? null : when(each.time) }, at(each)),
        h("div", {}, h("b", {}, each.title), " ", each.body),
      ),
    ),
  );
}

/** AD_f and AD_r after, by model: two dots on a line that begins where they differ. */
function chart(models: Affected[]): Node {
  const shown = models.filter((each) => each.after).slice(0, 60);
  const [left, step, width] = [90, 22, innerWidth < 640 ? 340 : 640];
  const x = (value: number): number => left + value * (width - left - 20);
  const height = shown.length * step + 34;
  const dot = (value: number | null, at: number, kind: string, name: string): Node | null =>
    value === null ? null : svg("circle", { cx: x(value), cy: at, r: 5, class: kind }, svg("title", {}, `${name} ${percent(value)}`));
  return h(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "AD_f and AD_r of each replaced model; the table below has the figures" },
      ...[0, 0.25, 0.5, 0.75, 1].map((value) => [
        svg("line", { x1: x(value), x2: x(value), y1: 4, y2: height - 24, class: "grid" }),
        svg("text", { x: x(value), y: height - 8, "text-anchor": "middle" }, `${value * 100} %`),
      ]) as unknown as Child[],
      ...shown.map((each, at) => {
        const y = 14 + at * step;
        const { after, before } = each;
        return [
          svg("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, short(each.name ?? each.position, 8, 3)),
          svg("line", { x1: x(0), x2: x(1), y1: y, y2: y, class: "track" }),
          dot(before?.ad_f ?? null, y, "ad-f before", "AD_f before"),
          dot(before?.ad_r ?? null, y, "ad-r before", "AD_r before"),
          dot(after!.ad_r, y, "ad-r", "AD_r"),
          dot(after!.ad_f, y, "ad-f", "AD_f"),
        ];
      }) as unknown as Child[],
    ),
    h("figcaption", {}, h("i", { class: "key ad-f" }), "AD_f, lower is better", h("i", { class: "key ad-r" }), "AD_r, higher is better", models.some((each) => hasMeasured(each.before)) && [h("i", { class: "key hollow" }), BEFORE]),
  );
}

const hasMeasured = (before: Before | null): boolean => before !== null && (before.ad_f !== null || before.ad_r !== null);

function models(request: Whole): HTMLElement {
  const isAdopted = request.models.some((each) => each.remedy);
  const measured = request.models.some((each) => hasMeasured(each.before));
  const signed = request.models.some((each) => each.before?.accuracy != null);
  const ranked = request.models.some((each) => each.after?.logit_auc != null);
  const pair = (name: keyof Figures, spell = percent) => (each: Affected): Child => each.reserved ? "for auditors" : passage(measured, each.before?.[name], each.after?.[name], spell);
  return table<Affected>(
    [
      { name: "Model", of: modelCell },
      { name: "Depth", of: (each) => (each.depth === 0 ? "start" : each.depth), right: true },
      { name: "Owner", of: (each) => userOf(each) },
      ...(signed ? [{ name: "Accuracy before, as its owner signed it", of: (each: Affected) => percent(each.before?.accuracy), right: true }] : []),
      ...(isAdopted ? [{ name: "Work left", of: (each: Affected) => each.remedy ?? "–" }] : [{ name: "AD_f", of: pair("ad_f"), right: true }]),
      ...(ranked ? [{ name: "AUC of the logit", of: pair("logit_auc", share), right: true }] : []),
      ...(isAdopted ? [] : [{ name: "AD_r", of: pair("ad_r"), right: true }]),
      { name: "Version", of: (each) => (each.version === null ? (waiting(request) > 0 ? "waits" : "left alone") : each.withdrawn ? `${each.version} withdrawn` : each.version), right: true },
      { name: "Replaced (UTC)", of: (each) => when(each.time) },
    ],
    request.models,
    "Affected models",
  );
}
