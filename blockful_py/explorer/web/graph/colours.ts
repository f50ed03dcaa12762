// SPDX-License-Identifier: Apache-2.0
// What models are coloured by.  The ramp is viridis (matplotlib), the palette Okabe and Ito's, both made to be
// told apart without full colour vision.

import type { GraphData } from "./file";
import { percent } from "../format";
import { userOf } from "../page";
import type { Child } from "../../../web/dom";

const VIRIDIS = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b"];
const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a600", "#7f7fbf"];
export const UNMEASURED = "#98a2b3";
export const MODES = ["version", "ad_f", "ad_r", "accuracy", "owner", "age"] as const;
export type Mode = (typeof MODES)[number];
export const TITLES: Record<Mode, string> = {
  version: "Version",
  ad_f: "AD_f",
  ad_r: "AD_r",
  accuracy: "Accuracy",
  owner: "Owner",
  age: "Age",
};
export const MEANINGS: Record<Mode, string> = {
  version: "How often the model was replaced",
  ad_f: "Accuracy on what was to be forgotten, as members measured it",
  ad_r: "Accuracy on the rest, as members measured it",
  accuracy: "Accuracy on the owner's test data, as the owner signed it",
  owner: "The account that owns the model",
  age: "When the model was published",
};

export interface Legend {
  /** Colours with what they stand for; of a ramp, those of its two ends and what lies between. */
  entries: { colour: string; name: Child }[];
  ramp: string[] | null;
}

function mix(low: string, high: string, share: number): string {
  const part = (at: number): string => {
    const [a, b] = [parseInt(low.slice(at, at + 2), 16), parseInt(high.slice(at, at + 2), 16)];
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}

const RAMP = Array.from({ length: 65 }, (_, step) => {
  const at = (step / 64) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return mix(VIRIDIS[low]!, VIRIDIS[low + 1]!, at - low);
});

const ramp = (share: number): string => RAMP[Math.round(Math.min(Math.max(share, 0), 1) * 64)]!;
const VERSIONS = [RAMP[20]!, "#e69f00", "#d55e00", "#cc79a7", "#7f4fbf"];

/** Least and greatest measured value, so that a scale shows what differs. */
function bounds(values: Float32Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values)
    if (!Number.isNaN(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return low <= high ? [low, high] : [0, 1];
}

/** The colour of each row by a mode, and the legend; `versions` are those at the time that is shown. */
export function colouring(graph: GraphData, mode: Mode, versions: Uint32Array): [(row: number) => string, Legend] {
  if (mode === "version") {
    const isGone = (row: number): boolean => graph.withdrawn[row]! > 0 && versions[row] === graph.version[row];
    const most = versions.reduce((a, b, row) => (isGone(row) ? a : Math.max(a, b)), 0);
    const entries = Array.from({ length: Math.min(most, VERSIONS.length - 1) + 1 }, (_, version) => ({
      colour: VERSIONS[version]!,
      name: version === 0 ? "as published" : `version ${version}${version === VERSIONS.length - 1 ? " or later" : ""}`,
    }));
    if (versions.some((_, row) => isGone(row))) entries.push({ colour: UNMEASURED, name: "withdrawn" });
    return [(row) => (isGone(row) ? UNMEASURED : VERSIONS[Math.min(versions[row]!, VERSIONS.length - 1)]!), { entries, ramp: null }];
  }
  if (mode === "owner") {
    const few = graph.owners.length <= PALETTE.length;
    const entries = few ? graph.owners.map((owner, at) => ({ colour: PALETTE[at]!, name: userOf(owner) })) : [];
    return [(row) => PALETTE[graph.owner[row]! % PALETTE.length]!, { entries, ramp: null }];
  }
  if (mode === "age") {
    const last = Math.max(graph.ticks.length, 2);
    const legend = { entries: [{ colour: RAMP[0]!, name: "oldest" }, { colour: RAMP[64]!, name: "newest" }], ramp: RAMP };
    return [(row) => ramp((graph.born[row]! - 1) / (last - 1)), legend];
  }
  const values = graph[mode];
  const [low, high] = bounds(values);
  const unmeasured = values.some(Number.isNaN) ? [{ colour: UNMEASURED, name: "not measured" }] : [];
  const measured = values.some((value) => !Number.isNaN(value));
  const ends = [{ colour: RAMP[0]!, name: percent(low) }, { colour: RAMP[64]!, name: percent(high) }];
  const colour = (row: number): string =>
    Number.isNaN(values[row]!) || versions[row] !== graph.version[row]
      ? UNMEASURED
      : ramp(high > low ? (values[row]! - low) / (high - low) : 0.5);
  return [colour, { entries: [...(measured ? ends : []), ...unmeasured], ramp: measured ? RAMP : null }];
}
