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
  first: number | null;
  last: number | null;
  problem: string | null;
}

export function requestsPage(main: HTMLElement): View {
  return answerPage<Heading[]>(main, () => "/api/requests", draw);
}

function progress(each: Heading): Child {
  const bar = h("progress", { max: each.affected, value: each.replaced, "aria-label": `${each.replaced} of ${each.affected} models` });
  return [bar, ` ${count(each.replaced)} of ${count(each.affected)}`];
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
          { name: "Took", of: (each) => (each.last && each.replaced >= each.affected && !isDemoClock() ? duration(each.last - each.created) : "–"), right: true },
        ],
        read,
        "Requests",
      ),
    ...unread.map((each) => h("p", { class: "bad" }, `Request ${each.number} was filed, and its file cannot be read: ${each.problem ?? "not fetched yet"}`)),
  ];
}
