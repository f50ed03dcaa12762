// SPDX-License-Identifier: Apache-2.0
// What a page is, and what pages share.

import { ask, AnswerError, type Owner } from "./api";
import { h, replace, type Child } from "../../web/dom";
import { percent, short } from "./format";

export interface View {
  /** Called when the index has changed. */
  changed?: () => void;
  close?: () => void;
}

/** Draws a page into `main`; `argument` is what its address names. */
export type Page = (main: HTMLElement, argument: string) => View;

export function go(to: string): void {
  history.pushState(null, "", to);
  dispatchEvent(new CustomEvent("blockful:go"));
}

export const modelLink = (position: string, name: string | null): HTMLElement =>
  h("a", { href: `/models/${position}` }, name || position);

/** A model in a table, marked where it is damaged. */
export const modelCell = (model: { position: string; name: string | null; at_chance: boolean }): Child => [
  modelLink(model.position, model.name),
  model.at_chance && [" ", damaged()],
];

/** A user by its number, or its account without one, and its own word for itself in quotation marks. */
export const userOf = ({ owner, user, party }: Owner, called = "user"): Child => [
  user === null ? short(owner) : `${called} ${user}`,
  party !== null && [' "', h("bdi", { class: "party", title: party }, party), '"'],
];

export const BEFORE = "before, as the record claims";

/** A figure before, where it is known of any, and after. */
export const passage = (known: boolean, before: number | null | undefined, after: number | null | undefined, spell = percent): Child => [
  known && h("span", { class: "quiet" }, spell(before), " → "),
  spell(after),
];

export const damaged = (): HTMLElement =>
  h("span", { class: "badge bad", title: "No better than chance on what it was to keep" }, "damaged");

/** A page that is one answer, drawn again when the index changes. */
export function answerPage<T>(main: HTMLElement, path: () => string, draw: (answer: T) => Child[]): View {
  const aborting = new AbortController();
  let waiting: number | undefined;
  replace(main, h("p", { class: "empty", role: "status" }, "Loading…"));
  const load = async (): Promise<void> => {
    try {
      const answer = await ask<T>(path(), aborting.signal);
      replace(main, ...draw(answer));
    } catch (error) {
      if (aborting.signal.aborted) return;
      const text = error instanceof AnswerError ? error.message : "The server does not answer.";
      replace(main, h("p", { class: "empty", role: "alert" }, text));
    }
  };
  void load();
  return {
    changed: () => {
      clearTimeout(waiting);
      waiting = setTimeout(load, 400);
    },
    close: () => {
      clearTimeout(waiting);
      aborting.abort();
    },
  };
}

/** A hash, an address or a CID: its ends, and all of it for the clipboard and on hover. */
export function hash(text: string | null | undefined, head = 10, tail = 6): HTMLElement {
  if (!text) return h("span", { class: "quiet" }, "–");
  const shown = text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
  const copy = (event: Event): void => {
    void navigator.clipboard?.writeText(text);
    const button = event.currentTarget as HTMLElement;
    button.classList.add("copied");
    setTimeout(() => button.classList.remove("copied"), 900);
  };
  return h("button", { class: "hash", type: "button", title: `${text}\nClick to copy`, onclick: copy }, shown);
}

/** Names and values. */
export function facts(...rows: [string, ...Child[]][]): HTMLElement {
  return h("dl", { class: "facts" }, ...rows.map(([name, ...value]) => [h("dt", {}, name), h("dd", {}, ...value)]));
}

export interface Column<T> {
  name: string;
  of: (row: T) => Child;
  right?: boolean;
}

export function table<T>(columns: Column<T>[], rows: T[], caption: string): HTMLElement {
  const side = (each: Column<T>): Record<string, unknown> => (each.right ? { class: "right" } : {});
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map((each) => h("th", { scope: "col", ...side(each) }, each.name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...columns.map((each) => h("td", side(each), each.of(row)))))),
    ),
  );
}
