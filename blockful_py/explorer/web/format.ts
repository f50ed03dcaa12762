// SPDX-License-Identifier: Apache-2.0
// How values are written.

const counts = new Intl.NumberFormat("en");

export const count = (value: number): string => counts.format(value);

/** A share of 1 as percent, with one decimal; a dash where nothing was measured. */
export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : `${(value * 100).toFixed(1)} %`;

/** A share of 1 with three decimals; a dash where nothing was measured. */
export const share = (value: number | null | undefined): string =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(3);

/** The beginning and the end of a hash, an address or a CID. */
export const short = (text: string | null | undefined, head = 8, tail = 4): string =>
  !text ? "–" : text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;

/** Seconds since 1970 as date and time, UTC. */
export const when = (seconds: number | null | undefined): string =>
  seconds === null || seconds === undefined ? "–" : new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");

let demo = false;

/** Whether times of the record are of a run's own chains, whose clock is not the world's. */
export const setDemoClock = (value: boolean): void => void (demo = value);
export const isDemoClock = (): boolean => demo;

/** A time that the record states, marked where its clock is the demo's. */
export const recorded = (seconds: number | null | undefined): string => `${when(seconds)}${demo ? " (demo clock)" : ""}`;

export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
}

/** Wei as ether. */
export function ether(wei: string): string {
  const value = BigInt(wei);
  const whole = value / 10n ** 18n;
  const rest = (value % 10n ** 18n).toString().padStart(18, "0").replace(/0+$/, "").slice(0, 6);
  return rest ? `${whole}.${rest}` : `${whole}`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
