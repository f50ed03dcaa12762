// SPDX-License-Identifier: Apache-2.0
// The graph, and how it was looked at, kept while other pages are shown.

import { AnswerError, reason } from "../api";
import type { Camera } from "../graph/camera";
import type { Mode } from "../graph/colours";
import { readGraph, type GraphData } from "../graph/file";

export const kept: { tag: string | null; data: GraphData | null; mode: Mode; camera: Camera | null } = {
  tag: null,
  data: null,
  mode: "version",
  camera: null,
};

/** The graph as it is now, fetched where it has changed.  Throws AnswerError. */
export async function load(signal: AbortSignal): Promise<GraphData> {
  const answer = await fetch("/api/graph", { signal, headers: kept.tag ? { "if-none-match": kept.tag } : {} });
  if (answer.status === 304 && kept.data) return kept.data;
  if (!answer.ok) throw new AnswerError(reason(await answer.text(), answer.status));
  const data = readGraph(await answer.arrayBuffer());
  kept.tag = answer.headers.get("etag");
  kept.data = data;
  return data;
}
