// SPDX-License-Identifier: Apache-2.0
// What the server answers (blockful_py/explorer/app.py).

/** A user: its account, its number, and its own word for itself, which nobody has checked. */
export interface Owner {
  owner: string;
  user: number | null;
  party: string | null;
}

export interface Model extends Owner {
  position: string;
  name: string | null;
  version: number;
  accuracy: number | null;
  ad_f: number | null;
  ad_r: number | null;
  /** Whether it is no better than chance on what it was to keep. */
  at_chance: boolean;
  withdrawn: boolean;
  problem: string | null;
}

export interface Federation {
  name: string;
  demo_clock: boolean;
  live: { chain: number; contract: string };
  archive: { chain: number; contract: string } | null;
  jobs: boolean;
  models: number;
  edges: number;
  replaced: number;
  height: number;
  records: number;
  requests: number;
  unread: number;
  epoch: number;
  newest: number | null;
}

/** Figures of a version, as the record claims them. */
export interface Figures {
  ad_f: number | null;
  ad_r: number | null;
  /** AUC of a forgotten class's logit: what is behind the output. */
  logit_auc: number | null;
}

/** Figures before a request. */
export interface Before extends Figures {
  accuracy: number | null;
}

/** How members checked new weights. */
export type Checked = "exact" | "recomputed" | "replayed" | "spot_checked" | "measured" | "attested";

export interface Reviewed {
  proposal: string;
  epoch: number;
  quorum: number | null;
  checked: Checked | null;
  members: { index: number; address: string; signed: boolean }[];
}

export class AnswerError extends Error {}

/** The answer to a question.  Throws AnswerError with the server's reason. */
export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(path, { signal, headers: { accept: "application/json" } });
  const text = await answer.text();
  if (!answer.ok) throw new AnswerError(reason(text, answer.status));
  return JSON.parse(text) as T;
}

export function reason(text: string, status: number): string {
  try {
    return String(JSON.parse(text).error);
  } catch {
    return text.trim().slice(0, 300) || `the server answered with status ${status}`;
  }
}

export interface IndexState {
  revision: number;
  problem: string | null;
}

type Listener = (value: unknown) => void;
const listeners = new Map<string, Set<Listener>>();
const newest = new Map<string, unknown>();
let source: EventSource | null = null;

/** Calls `listener` with a topic's value, and with each later one, until the answer is called. */
export function listen<T>(topic: string, listener: (value: T) => void): () => void {
  const set = listeners.get(topic) ?? new Set<Listener>();
  listeners.set(topic, set.add(listener as Listener));
  if (newest.has(topic)) listener(newest.get(topic) as T);
  return () => void set.delete(listener as Listener);
}

function tell(topic: string, value: unknown): void {
  newest.set(topic, value);
  for (const listener of listeners.get(topic) ?? []) listener(value);
}

function connect(): void {
  source = new EventSource("/api/events");
  for (const topic of ["index", "jobs"])
    source.addEventListener(topic, (event) => tell(topic, JSON.parse((event as MessageEvent).data)));
  source.onopen = () => tell("connected", true);
  source.onerror = () => tell("connected", false);
}

/** Keeps a stream of updates open while the page is seen. */
export function follow(): void {
  const seen = (): void => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (source === null) connect();
  };
  document.addEventListener("visibilitychange", seen);
  seen();
}
