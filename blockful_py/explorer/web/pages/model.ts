// SPDX-License-Identifier: Apache-2.0
// A model: versions side by side, one hash for all of them, its place in its block, and its checks.

import type { Before, Figures, Model, Reviewed } from "../api";
import { h, type Child } from "../../../web/dom";
import { count, duration, percent, plural, recorded, share, when } from "../format";
import { answerPage, damaged, facts, hash, modelCell, modelLink, passage, BEFORE, table, userOf, type Column, type View } from "../page";
import { reviewed } from "../reviewed";
import { wordOf } from "../graph/kinds";
import { verifying } from "../verifying";

/** Most files that are listed. */
const FILES = 20;

export interface Version {
  version: number;
  current: boolean;
  node: string;
  transaction: string;
  time: number | null;
  /** Whether its node is for auditors; what the node says is missing then. */
  reserved: boolean;
  withdrawn?: boolean;
  accuracy?: number | null;
  ad_f?: number | null;
  ad_r?: number | null;
  logit_auc?: number | null;
  at_chance?: boolean;
  is_loss?: boolean;
  request?: { key: string; forget: string; before: Before | null } | null;
  opening: { px: string; s: string; opens: boolean; epoch: number | null } | null;
  archived: { record: number; reason: string; time: number; transaction: string; head: string }[];
  review: Reviewed | null;
  problem?: string | null;
  statement?: {
    created: number;
    round: number;
    user: number;
    signature: string;
    training: Record<string, unknown>;
    references: { name: string; version: number; accuracy: number | null; used: boolean }[];
    adopted?: Adopted;
  };
  weights?: { cid: string; live: boolean; archive: boolean } | null;
}

/** What the adopter signed of a model that was made elsewhere (blockful_py/record/adopted.py). */
interface Adopted {
  source: string;
  speaks_for?: string;
  edges?: { parent: string; kind: string; weight?: number }[];
  merge_method?: string;
  quantisation?: string;
  datasets?: string[];
  files?: { path: string; size: number; cid: string }[];
  licence?: string;
  supersedes?: string;
  computed?: { dtype: string; normalise: boolean; parts?: { model: string; adapter?: string; scale: number }[] };
}

/** A model with the kind of the edge to it or from it; none of a model that was trained here. */
type Related = Model & { kind: string | null };

/** A request that affects a model; `version`: what it led to. */
interface Reached {
  key: string;
  forget: string;
  paradigm: string;
  version: number | null;
}

export interface WholeModel extends Model {
  requests: Reached[];
  /** Its name, where no other model has it, else its position. */
  address: string;
  hash: string;
  settled: boolean;
  references: Related[];
  /** Its later versions, of a model that was made elsewhere. */
  later: Model[];
  heirs: { total: number; models: Related[] };
  block: {
    height: number;
    models: number;
    time: number;
    version: number;
    parent: string;
    hash: string;
    root: string;
    leaf: string;
    path: string[];
    holds: boolean;
  };
  versions: Version[];
}

export function modelPage(main: HTMLElement, place: string): View {
  const checks = verifying(place);
  const view = answerPage<WholeModel>(main, () => `/api/models/${encodeURIComponent(place)}`, (model) => {
    history.replaceState(null, "", `/models/${encodeURIComponent(model.address)}`);
    return draw(model, checks.element);
  });
  return {
    ...view,
    close: () => {
      checks.close();
      view.close?.();
    },
  };
}

function draw(model: WholeModel, checks: HTMLElement): Child[] {
  const stated = model.versions.find((each) => each.current && each.statement);
  const adopted = stated?.statement?.adopted;
  const owner = model.user !== null && [userOf(model), ", "];
  return [
    h(
      "div",
      { class: "row" },
      h("h1", {}, model.name ?? model.position),
      h("span", { class: "badge" }, `version ${model.version}`),
      model.withdrawn && h("span", { class: "badge warn" }, "withdrawn"),
      model.at_chance && damaged(),
      !model.settled && h("span", { class: "badge warn" }, "redaction under way"),
      h("span", { class: "grow" }),
      h("a", { class: "button plain", href: `/?model=${model.position}` }, "In the graph"),
      h("a", { class: "button plain", href: `/what-if?start=${model.position}` }, "What if it forgets"),
      h("a", { class: "button plain", href: `/compare?${new URLSearchParams({ model: model.address })}` }, "Compare"),
      h("a", { class: "button plain", href: `/api/models/${model.position}/proof`, download: "" }, "Download proof"),
    ),
    h("p", { class: "lead" }, `At ${model.position} on the live chain, of `, owner, hash(model.owner, 10, 6), adopted ? `, made elsewhere as ${adopted.source}` : stated?.statement ? `, round ${stated.statement.round}` : ""),
    model.later.length > 0 && h("p", {}, "Superseded by ", ...model.later.flatMap((each, number) => [number ? ", " : "", modelLink(each.position, each.name)])),
    model.at_chance && h("p", { class: "bad", role: "alert" }, "Alarm: it is no better than chance on what it was to keep."),
    stated?.is_loss && !model.at_chance && h("p", { class: "bad", role: "alert" }, "Alarm: it does worse than before on what it was to keep, by more than chance explains."),
    checks,
    h("h2", {}, "Versions"),
    versions(model),
    h("h2", {}, "Place in its block"),
    block(model),
    h("h2", {}, "References and heirs"),
    h("div", { class: "columns" }, references(model, adopted !== undefined), heirs(model)),
    adopted && elsewhere(adopted),
    stated?.statement && statement(stated),
  ];
}

function versions(model: WholeModel): HTMLElement {
  const opened = model.versions.filter((each) => each.opening?.opens).length;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "one-hash" },
      h("span", { class: "quiet" }, "One chameleon hash"),
      hash(model.hash, 18, 10),
      h(
        "span",
        { class: opened === model.versions.length ? "good" : "bad" },
        model.versions.length === 1
          ? opened ? "opened by its one version" : "not opened by its version"
          : `opened by ${opened} of ${plural(model.versions.length, "version")}: the hash never changed`,
      ),
    ),
    h("div", { class: "versions" }, ...model.versions.map((each, at) => version(each, model.versions[at + 1]))),
  );
}

function version(each: Version, next: Version | undefined): HTMLElement {
  const weights = each.weights;
  const where = weights ? [weights.live && "live store", weights.archive && "archive"].filter(Boolean).join(", ") : "";
  return h(
    "article",
    { class: each.current ? "version current" : "version" },
    h(
      "header",
      {},
      h("h3", {}, `Version ${each.version}`),
      h("span", { class: each.current ? "badge on" : "badge" }, each.current ? "live" : "archived"),
      each.withdrawn && h("span", { class: "badge warn" }, "withdrawn"),
      each.at_chance && damaged(),
    ),
    each.reserved
      ? [
          h("p", { class: "quiet" }, "Its node is in the archive, for auditors."),
          h("p", {}, h("a", { class: "button plain", href: "/sign-in" }, "Sign in")),
        ]
      : h(
          "div",
          { class: "figures" },
          !each.statement?.adopted && (each.version === 0 || each.accuracy !== null) && figure("Accuracy", percent(each.accuracy), "on its owner's test data, signed"),
          each.version > 0 && !each.withdrawn && [figure("AD_f", passed(each, "ad_f"), "on what was to be forgotten"), each.logit_auc != null && figure("AUC of the logit", passed(each, "logit_auc", share), "of the class to be forgotten, behind the output"), figure("AD_r", passed(each, "ad_r"), "on the rest")],
        ),
    each.problem && h("p", { class: "bad" }, each.problem),
    facts(
      ["Opening", each.opening ? h("span", {}, h("span", { class: each.opening.opens ? "good" : "bad" }, each.opening.opens ? "opens the hash" : "does not open the hash"), each.opening.epoch !== null && h("span", { class: "quiet" }, ` under the key of epoch ${each.opening.epoch}`)) : h("span", { class: "quiet" }, "its event is not at hand")],
      ...(each.opening ? ([["P.x", hash(each.opening.px, 12, 6)], ["s", hash(each.opening.s, 12, 6)]] as [string, Child][]) : []),
      ["Node", hash(each.node, 12, 6)],
      ...(each.reserved ? [] : ([["Sealed weights", weights ? hash(weights.cid, 12, 6) : h("span", { class: "quiet" }, each.withdrawn ? "none" : "–"), weights && h("div", { class: "quiet" }, where ? `in this machine's ${where}` : "not on this machine")]] as [string, ...Child[]][])),
      ["Live", `${when(each.time)} `, hash(each.transaction, 8, 4)],
      ...each.archived.map((record): [string, Child] => [
        record.reason === "superseded" ? "Archived, replaced" : "Archived, published",
        [`record ${record.record}, ${when(record.time)} `, hash(record.transaction, 8, 4)],
      ]),
      ...(each.request ? ([["Came of", [h("a", { href: `/requests/${each.request.key}` }, `a request to forget ${each.request.forget}`), each.request.before && h("div", { class: "quiet" }, `figures ${BEFORE}`)]]] as [string, Child][]) : []),
      ...(next?.time && each.time ? ([["Stood for", duration(next.time - each.time)]] as [string, Child][]) : []),
      ["Reviewed by", reviewed(each.review)],
    ),
  );
}

/** A figure of a version, and the one before the request that it came of. */
export const passed = (each: Version, name: keyof Figures, spell = percent): Child =>
  passage(each.request?.before != null, each.request?.before?.[name], each[name], spell);

const figure = (name: string, value: Child, note: string): HTMLElement =>
  h("div", { class: "figure" }, h("b", {}, value), h("span", {}, name), h("small", {}, note));

function block(model: WholeModel): HTMLElement {
  const { block } = model;
  const steps = [
    h("li", {}, h("span", {}, "leaf"), hash(block.leaf, 14, 6)),
    ...block.path.map((each, level) => h("li", {}, h("span", {}, `+ sibling ${level + 1}`), hash(each, 14, 6))),
    h("li", { class: block.holds ? "good" : "bad" }, h("span", {}, block.holds ? "= root" : "≠ root"), hash(block.root, 14, 6)),
  ];
  return h(
    "div",
    { class: "columns" },
    facts(
      ["Block", `${block.height}, with ${plural(block.models, "model")}, of ${recorded(block.time)}`],
      ["Hash", hash(block.hash, 14, 6)],
      ["Parent", hash(block.parent, 14, 6)],
      ["Header", block.version === 0 ? "as appended" : `re-opened ${plural(block.version, "time")}; the hash is the same`],
    ),
    h("ol", { class: "path", "aria-label": "Merkle path" }, ...steps),
  );
}

/** Figures of the version that stands. */
const FIGURES: Column<Related>[] = [
  { name: "Accuracy", of: (each) => percent(each.accuracy), right: true },
  { name: "AD_f", of: (each) => percent(each.ad_f), right: true },
  { name: "AD_r", of: (each) => percent(each.ad_r), right: true },
];

/** Columns of related models; those that were made elsewhere have kinds of edges, and no figures. */
const columns = (models: Related[]): Column<Related>[] => [
  { name: "At", of: (each) => h("span", { class: "mono" }, each.position) },
  { name: "Version", of: (each) => (each.withdrawn ? `${each.version}, withdrawn` : each.version), right: true },
  ...(models.some((each) => each.kind) ? [{ name: "Kind", of: (each: Related) => wordOf(each.kind) }] : FIGURES),
];

function references(model: WholeModel, isAdopted: boolean): HTMLElement {
  if (model.references.length === 0)
    return h("p", { class: "quiet" }, isAdopted ? "No references: its maker names no parent." : "No references: it was trained from the shared initialisation.");
  return table<Related>(
    [
      { name: "Reference", of: modelCell },
      ...columns(model.references),
    ],
    model.references,
    "References",
  );
}

function heirs(model: WholeModel): HTMLElement {
  if (model.heirs.total === 0) return h("p", { class: "quiet" }, "No model inherits from it yet.");
  return h(
    "div",
    {},
    table<Related>(
      [
        { name: "Heir", of: modelCell },
        ...columns(model.heirs.models),
      ],
      model.heirs.models,
      "Heirs",
    ),
    model.heirs.total > model.heirs.models.length && h("p", { class: "quiet" }, `and ${count(model.heirs.total - model.heirs.models.length)} more`),
  );
}

/** What the adopter read of a model that was made elsewhere. */
function elsewhere(adopted: Adopted): Child[] {
  const merged = adopted.merge_method && `${adopted.merge_method}${weights(adopted)}`;
  const rows: [string, Child][] = [
    ["Made as", adopted.source],
    ["Of", adopted.speaks_for ? [adopted.speaks_for, h("span", { class: "quiet" }, ", which has signed nothing")] : null],
    ["Data sets", adopted.datasets?.join(", ") || h("span", { class: "quiet" }, "none named")],
    ["Merged by", merged],
    ["Quantised by", adopted.quantisation],
    ["Computed", adopted.computed && `by each member, tensor by tensor, from its references' files, in ${adopted.computed.dtype}`],
    ["Adapters", adopted.computed?.parts?.filter((part) => part.adapter).map((part) => `${part.adapter}, times ${part.scale}, on ${part.model}`).join("; ")],
    ["Later version of", adopted.supersedes && h("a", { href: `/models/${encodeURIComponent(adopted.supersedes)}` }, adopted.supersedes)],
    ["Licence", adopted.licence],
    ...(adopted.files ?? []).slice(0, FILES).map((file): [string, Child] => [file.path, [`${count(file.size)} bytes `, hash(file.cid, 10, 6)]]),
    ["More files", (adopted.files ?? []).length > FILES && plural(adopted.files!.length - FILES, "file")],
  ];
  return [h("h2", {}, "As its adopter read it"), facts(...rows.filter(([, value]) => value))];
}

const weights = ({ edges }: Adopted): string => {
  const parts = (edges ?? []).filter((each) => each.weight !== undefined).map((each) => `${each.weight} ${each.parent}`);
  return parts.length ? `: ${parts.join(", ")}` : "";
};

const trained = (references: NonNullable<Version["statement"]>["references"]): string =>
  references
    .filter((each) => each.used)
    .map((each) => `${each.name} version ${each.version}, ${percent(each.accuracy)} for its owner`)
    .join("; ") || "the shared initialisation";

function statement(stated: Version): HTMLElement {
  const { statement } = stated;
  const made = statement!.adopted ? [] : ([["Trained from", trained(statement!.references)]] as [string, Child][]);
  const training = Object.entries(statement!.training).map(([name, value]): [string, Child] => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
  return h(
    "details",
    {},
    h("summary", {}, "Statement that its owner signed"),
    facts(
      ["Made", recorded(statement!.created)],
      ...made,
      ["Signature", hash(statement!.signature, 18, 10)], ...training),
  );
}
