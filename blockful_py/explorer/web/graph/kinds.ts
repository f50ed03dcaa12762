// SPDX-License-Identifier: Apache-2.0
// Kinds of edges (blockful_py/graph/kinds.py): their words, and how their lines are dashed.

import type { GraphData } from "./file";

/** The kind of the edges of models that were trained in the federation. */
export const TRAIN = "train";

const WORDS: Record<string, string> = {
  train: "trained here",
  fine_tune: "fine-tuned",
  adapter: "adapter",
  merge: "merged",
  distill: "distilled",
  quantise: "quantised",
};

/** Lengths of dashes and gaps in pixels; a line without any is solid. */
const DASHES: Record<string, number[]> = {
  adapter: [7, 4],
  merge: [2, 3],
  distill: [9, 3, 2, 3],
  quantise: [14, 5],
};

export const wordOf = (kind: string | null): string => WORDS[kind ?? TRAIN] ?? String(kind);

export const dashOf = (kind: string): number[] => DASHES[kind] ?? [];

/** The kinds that a graph has, in the order of the file. */
export const kindsIn = (data: GraphData): string[] => data.kinds.filter((_, at) => data.kind.includes(at));

/** Whether a graph has models that were made elsewhere. */
export const hasAdopted = (data: GraphData): boolean => kindsIn(data).some((kind) => kind !== TRAIN);
