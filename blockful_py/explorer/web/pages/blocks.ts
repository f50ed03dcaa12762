// SPDX-License-Identifier: Apache-2.0
// Transactions of both chains, and what their gas went to.

import { h, svg, type Child } from "../../../web/dom";
import { count, plural, when } from "../format";
import { answerPage, go, hash, table, type View } from "../page";

interface Sent {
  chain: string;
  hash: string;
  /** Of the models that it published. */
  block: number | null;
  time: number | null;
  gas: number | null;
  proposal: string;
  published: number;
  replaced: number;
  archived: number;
}

interface Spent {
  did: string;
  chain: string;
  transactions: number;
  models: number;
  gas: number;
}

interface Whole {
  transactions: Sent[];
  next: number | null;
  gas: Spent[];
}

export function blocksPage(main: HTMLElement): View {
  const before = new URLSearchParams(location.search).get("before");
  return answerPage<Whole>(main, () => `/api/blocks?count=50${before ? `&before=${encodeURIComponent(before)}` : ""}`, draw);
}

function did(each: Sent): string {
  if (each.published) return `${plural(each.published, "model")} published`;
  if (each.replaced) return `${plural(each.replaced, "model")} replaced`;
  if (each.archived) return `${plural(each.archived, "record")} archived`;
  return "another decision of the committee";
}

function draw(answer: Whole): Child[] {
  return [
    h("h1", {}, "Blocks and gas"),
    answer.gas.length > 0 && gas(answer.gas),
    answer.transactions.length === 0
      ? h("p", { class: "empty" }, "No decision of the committee is on the chains yet.")
      : table<Sent>(
          [
            { name: "Time (UTC)", of: (each) => when(each.time) },
            { name: "Chain", of: (each) => h("span", { class: `chain ${each.chain}` }, each.chain) },
            { name: "Block", of: (each) => each.block === null ? "–" : count(each.block), right: true },
            { name: "Did", of: did },
            { name: "Gas", of: (each) => (each.gas === null ? "–" : count(each.gas)), right: true },
            { name: "Transaction", of: (each) => hash(each.hash, 8, 4) },
            { name: "Decision", of: (each) => hash(each.proposal, 8, 4) },
          ],
          answer.transactions,
          "Transactions of both chains",
        ),
    answer.next !== null && h("p", { class: "pager" }, h("button", { class: "button plain", type: "button", onclick: () => go(`/blocks?before=${answer.next}`) }, "Earlier")),
  ];
}

/** Gas a model, stacked by chain, for publishing and for replacing. */
function gas(spent: Spent[]): Node {
  const rows = ["publish", "replace"].filter((each) => spent.some((one) => one.did === each));
  const a = (row: string, chain: string): Spent | undefined => spent.find((each) => each.did === row && each.chain === chain);
  const each = (one: Spent | undefined): number => (one ? one.gas / one.models : 0);
  const width = innerWidth < 640 ? 360 : 700;
  const most = Math.max(...rows.map((row) => each(a(row, "live")) + each(a(row, "archive"))));
  const scale = (value: number): number => (value / most) * (width - 230);
  return h(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${rows.length * 42 + 6}`, role: "img", "aria-label": rows.map((row) => `${row}: ${count(Math.round(each(a(row, "live"))))} gas a model on the live chain, ${count(Math.round(each(a(row, "archive"))))} on the archive`).join("; ") },
      ...(rows.flatMap((row, at) => {
        const [live, archive] = [each(a(row, "live")), each(a(row, "archive"))];
        const y = at * 42 + 4;
        return [
          svg("text", { x: 0, y: y + 21 }, row === "publish" ? "Publish" : "Replace"),
          svg("rect", { x: 70, y, width: scale(live), height: 30, class: "bar live" }, svg("title", {}, `live: ${count(Math.round(live))} gas a model`)),
          svg("rect", { x: 70 + scale(live), y, width: scale(archive), height: 30, class: "bar archive" }, svg("title", {}, `archive: ${count(Math.round(archive))} gas a model`)),
          svg("text", { x: 80 + scale(live + archive), y: y + 20 }, `${count(Math.round(live + archive))} gas a model`),
        ];
      }) as unknown as Child[]),
    ),
    h("figcaption", {}, h("i", { class: "key live" }), "live chain", h("i", { class: "key archive" }), "archive chain"),
  );
}
