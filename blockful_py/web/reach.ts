// SPDX-License-Identifier: Apache-2.0
// What descends from models: a breadth-first search over flat arrays, linear in what it reaches.

export interface Adjacency {
  first: Uint32Array;
  flat: Uint32Array;
}

export interface Reach {
  /** Rows that are reached, starts first. */
  rows: Uint32Array;
  /** Edges of the shortest path, by row; -1 where a row is not reached. */
  depth: Int32Array;
  deepest: number;
}

/** Neighbours by row: those of `row` are flat[first[row]] to flat[first[row + 1] - 1]. */
export function adjacency(size: number, from: Uint32Array, to: Uint32Array): Adjacency {
  const first = new Uint32Array(size + 1);
  for (const row of from) first[row + 1]!++;
  for (let row = 0; row < size; row++) first[row + 1]! += first[row]!;
  const next = first.slice();
  const flat = new Uint32Array(from.length);
  for (let edge = 0; edge < from.length; edge++) flat[next[from[edge]!]!++] = to[edge]!;
  return { first, flat };
}

export const neighbours = (of: Adjacency, row: number): Uint32Array =>
  of.flat.subarray(of.first[row], of.first[row + 1]);

/** Descendants of `starts` among the rows that `stands` allows. */
export function reach(heirs: Adjacency, starts: number[], stands: (row: number) => boolean): Reach {
  const size = heirs.first.length - 1;
  const depth = new Int32Array(size).fill(-1);
  const rows = new Uint32Array(size);
  let end = 0;
  for (const row of starts)
    if (depth[row]! < 0) {
      depth[row] = 0;
      rows[end++] = row;
    }
  for (let at = 0; at < end; at++) {
    const row = rows[at]!;
    for (let edge = heirs.first[row]!; edge < heirs.first[row + 1]!; edge++) {
      const heir = heirs.flat[edge]!;
      if (depth[heir]! < 0 && stands(heir)) {
        depth[heir] = depth[row]! + 1;
        rows[end++] = heir;
      }
    }
  }
  return { rows: rows.subarray(0, end), depth, deepest: end ? depth[rows[end - 1]!]! : 0 };
}
