// SPDX-License-Identifier: Apache-2.0
// Reads a graph file (blockful_py/explorer/graph_file.py).

import type { Owner } from "../api";

export interface GraphData {
  revision: number;
  models: number;
  edges: number;
  /** How far edges are level beside a model, in the units of places; 0 where they are straight. */
  level: number;
  names: string[];
  kinds: string[];
  owners: Owner[];
  /** Live transactions that changed models: number, newest block after it, time. */
  ticks: [number, number, number | null][];
  places: Float32Array;
  /** Edges as cubic Bézier curves: those of edge e end at point curve_end[e]; none in large graphs. */
  curves: Float32Array;
  curve_end: Uint32Array;
  source: Uint32Array;
  target: Uint32Array;
  /** By edge, the index of its kind in `kinds`. */
  kind: Uint8Array;
  height: Uint32Array;
  index: Uint32Array;
  born: Uint32Array;
  accuracy: Float32Array;
  ad_f: Float32Array;
  ad_r: Float32Array;
  replaced_row: Uint32Array;
  replaced_tick: Uint32Array;
  replaced_version: Uint32Array;
  version: Uint32Array;
  owner: Uint32Array;
  withdrawn: Uint8Array;
  at_chance: Uint8Array;
}

interface Listed {
  name: string;
  type: "f4" | "u4" | "u1";
  length: number;
}

const FORMAT = "blockful-graph/3";
const KINDS = { f4: Float32Array, u4: Uint32Array, u1: Uint8Array };

/** Throws an Error where the bytes are no graph file. */
export function readGraph(buffer: ArrayBuffer): GraphData {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  if (header.format !== FORMAT) throw new Error(`a graph file of format ${FORMAT} was expected`);
  let offset = 4 + length;
  for (const each of header.arrays as Listed[]) {
    const array = new KINDS[each.type](buffer, offset, each.length);
    header[each.name] = array;
    offset += Math.ceil(array.byteLength / 4) * 4;
  }
  return header as GraphData;
}

export const positionOf = (graph: GraphData, row: number): string => `${graph.height[row]}:${graph.index[row]}`;
