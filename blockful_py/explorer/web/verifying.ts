// SPDX-License-Identifier: Apache-2.0
// "Verify now": the checks of the record, each shown as it passes.

import { AnswerError, reason } from "./api";
import { h, replace } from "../../web/dom";

const CHECKS: [string, string][] = [
  ["content", "node and sealed weights hash to their CIDs"],
  ["opening", "the opening opens the chameleon hash"],
  ["merkle", "the hash is in its block's Merkle root"],
  ["header", "the block's opening opens its header's hash"],
  ["link", "headers link to genesis"],
  ["signature", "its owner signed; the request's owners signed"],
  ["settled", "no redaction of it is unfinished"],
  ["order", "heights and places follow one another"],
  ["version", "versions go up by one"],
  ["archived", "the archive holds each version"],
  ["chain", "the archive's records hash to its head"],
  ["once", "no decision was executed twice"],
  ["certified", "archived before replaced, under one certificate"],
  ["state", "both contracts hold what their events say"],
];

interface Told {
  check?: string;
  holds?: boolean;
  detail?: string;
  done?: boolean;
  passed?: boolean;
  error?: string;
}

export interface Verifying {
  element: HTMLElement;
  close: () => void;
}

export function verifying(place: string): Verifying {
  const aborting = new AbortController();
  const outcome = h("p", { class: "outcome", role: "status" });
  const list = h("ol", { class: "checks", hidden: true });
  const button = h("button", { type: "button", class: "button" }, "Verify now");
  const element = h("section", { class: "verify", "aria-label": "Verification" }, h("div", { class: "row" }, button, outcome), list);
  const rows = new Map<string, HTMLElement>();

  const tell = (told: Told): void => {
    if (told.error) return finish(told.error, "bad");
    if (told.done)
      return finish(told.passed ? "Verified: every check holds." : "Does not verify.", told.passed ? "good" : "bad");
    const row = rows.get(told.check ?? "");
    if (!row) return;
    row.className = told.holds ? "holds" : "fails";
    if (told.detail) row.append(h("em", {}, told.detail));
  };
  const finish = (text: string, kind: string): void => {
    outcome.className = `outcome ${kind}`;
    replace(outcome, text);
    for (const row of rows.values()) if (row.className === "waits") row.className = "skipped";
    button.disabled = false;
  };
  const run = async (): Promise<void> => {
    button.disabled = true;
    outcome.className = "outcome";
    replace(outcome, "Checking…");
    rows.clear();
    for (const [name, meaning] of CHECKS) rows.set(name, h("li", { class: "waits" }, h("b", {}, name), h("span", {}, meaning)));
    replace(list, ...rows.values());
    list.hidden = false;
    try {
      const answer = await fetch(`/api/models/${encodeURIComponent(place)}/verify`, { signal: aborting.signal });
      if (!answer.ok || !answer.body) throw new AnswerError(reason(await answer.text(), answer.status));
      await read(answer.body, tell);
      if (button.disabled) finish("The connection broke off.", "bad");
    } catch (error) {
      if (!aborting.signal.aborted) finish(error instanceof AnswerError ? error.message : "The server does not answer.", "bad");
    }
  };
  button.addEventListener("click", () => void run());
  return { element, close: () => aborting.abort() };
}

/** Calls `tell` with the data of each server-sent event. */
async function read(body: ReadableStream<Uint8Array>, tell: (told: Told) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop()!;
    for (const each of events) {
      const line = each.split("\n").find((part) => part.startsWith("data: "));
      if (line) tell(JSON.parse(line.slice(6)) as Told);
    }
  }
}
