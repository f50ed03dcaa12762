// SPDX-License-Identifier: Apache-2.0
// All requests to forget.

import { h, type Child } from "../../../web/dom";
import { count, duration, isDemoClock, recorded } from "../format";
import { answerPage, table, type View } from "../page";

export interface Heading {
  key: string | null;
  number: number | null;
  starts: { name: string; position: string }[];
  forget: string;
  paradigm: string;
  method: string;
  created: number;
  replaced: number;
  affected: number;
  /** Affected models that passing did not change by more than epsilon. */
  left_alone: number;
  first: number | null;
  last: number | null;
  problem: string | null;
}

export function requestsPage(main: HTMLElement): View {
  return answerPage<Heading[]>(main, () => "/api/requests", draw);
}

/** How many models are yet to be replaced. */
export const waiting = (each: Heading): number => each.affected - each.left_alone - each.replaced;

function progress(each: Heading): Child {
  const wanted = each.affected - each.left_alone;
  const bar = h("progress", { max: wanted, value: each.replaced, "aria-label": `${each.replaced} of ${wanted} models` });
  return [bar, ` ${count(each.replaced)} of ${count(wanted)}`];
}

function draw(requests: Heading[]): Child[] {
  const unread = requests.filter((each) => each.key === null);
  const read = requests.filter((each) => each.key !== null);
  return [
    h("h1", {}, "Requests"),
    read.length === 0 && unread.length === 0 && h("p", { class: "empty" }, "Nobody has asked to be forgotten yet."),
    read.length > 0 &&
      table<Heading>(
        [
          { name: "Request", of: (each) => h("a", { href: `/requests/${each.key}` }, each.number === null ? `forget ${each.forget}` : `no. ${each.number}: forget ${each.forget}`) },
          { name: "Starts", of: (each) => each.starts.map((start) => start.name).join(", ") },
          { name: "Paradigm", of: (each) => each.paradigm },
          { name: "Method", of: (each) => each.method.split(" ")[0] },
          { name: "Replaced", of: progress },
          { name: "Signed (UTC)", of: (each) => recorded(each.created) },
          { name: "Took", of: (each) => (each.last && waiting(each) <= 0 && !isDemoClock() ? duration(each.last - each.created) : "–"), right: true },
        ],
        read,
        "Requests",
      ),
    ...unread.map((each) => h("p", { class: "bad" }, `Request ${each.number} was filed, and its file cannot be read: ${each.problem ?? "not fetched yet"}`)),
  ];
}
