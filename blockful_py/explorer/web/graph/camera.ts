// SPDX-License-Identifier: Apache-2.0
// Which part of the graph is seen: the place in the middle, and how far the view is from showing all.

export interface Point {
  x: number;
  y: number;
}

/** Places of the graph on the page, in pixels: (left + scale x, top - scale y). */
export interface Map {
  left: number;
  top: number;
  scale: number;
}

export interface Camera {
  /** Place of the graph in the middle. */
  x: number;
  y: number;
  /** Length that is seen, of that which shows the whole graph. */
  ratio: number;
}

/** Bounds of the graph, and of the page that it is drawn on. */
export interface Frame {
  low: Point;
  high: Point;
  width: number;
  height: number;
}

export const NEAREST = 0.002;
export const FARTHEST = 4;
/** Radius of a model far out, in pixels, at most. */
const RADII: [number, number][] = [[20_000, 1.6], [2_000, 2.6], [200, 5], [40, 6], [0, 9]];
const LARGEST = 16;

export function extent(places: Float32Array): { low: Point; high: Point } {
  const low = { x: Infinity, y: Infinity };
  const high = { x: -Infinity, y: -Infinity };
  for (let at = 0; at < places.length; at += 2) {
    low.x = Math.min(low.x, places[at]!);
    high.x = Math.max(high.x, places[at]!);
    low.y = Math.min(low.y, places[at + 1]!);
    high.y = Math.max(high.y, places[at + 1]!);
  }
  return { low, high };
}

export const whole = ({ low, high }: Frame): Camera => ({ x: (low.x + high.x) / 2, y: (low.y + high.y) / 2, ratio: 1 });

/** A camera by shares of the graph's extent, which stand for the same part of another drawing of the graph. */
export const asShares = ({ x, y, ratio }: Camera, { low, high }: Frame): Camera => ({
  x: (x - low.x) / Math.max(high.x - low.x, 1e-9),
  y: (y - low.y) / Math.max(high.y - low.y, 1e-9),
  ratio,
});

export const ofShares = ({ x, y, ratio }: Camera, { low, high }: Frame): Camera => ({
  x: low.x + x * (high.x - low.x),
  y: low.y + y * (high.y - low.y),
  ratio,
});

export function mapOf(camera: Camera, { low, high, width, height }: Frame): Map {
  const padding = Math.min(60, width / 12);
  const [across, down] = [Math.max(high.x - low.x, 1e-9), Math.max(high.y - low.y, 1e-9)];
  const fit = Math.min(Math.max(width - 2 * padding, 1) / across, Math.max(height - 2 * padding, 1) / down);
  const scale = fit / camera.ratio;
  return { left: width / 2 - scale * camera.x, top: height / 2 + scale * camera.y, scale };
}

/** The place of the graph that is drawn at a point of the page. */
export const placeAt = (map: Map, { x, y }: Point): Point => ({ x: (x - map.left) / map.scale, y: (map.top - y) / map.scale });

/** Moves what is seen by a way on the page. */
export const panned = (camera: Camera, map: Map, across: number, down: number): Camera => ({
  ...camera,
  x: camera.x - across / map.scale,
  y: camera.y + down / map.scale,
});

/** Goes `factor` times as far away, so that the place at a point of the page stays there. */
export function zoomed(camera: Camera, map: Map, factor: number, at: Point): Camera {
  const ratio = Math.min(Math.max(camera.ratio * factor, NEAREST), FARTHEST);
  const place = placeAt(map, at);
  const share = ratio / camera.ratio;
  return { x: place.x + (camera.x - place.x) * share, y: place.y + (camera.y - place.y) * share, ratio };
}

/** A camera on the way from one to another, `share` from 0 to 1. */
export function between(from: Camera, to: Camera, share: number): Camera {
  const eased = share * (2 - share);
  const mixed = (a: number, b: number): number => a + (b - a) * eased;
  return { x: mixed(from.x, to.x), y: mixed(from.y, to.y), ratio: mixed(from.ratio, to.ratio) };
}

/** Radius of a model on the page, in pixels. */
export function radius(models: number, ratio: number): number {
  const [, far] = RADII.find(([more]) => models > more) ?? RADII[RADII.length - 1]!;
  return Math.min(far / Math.sqrt(ratio), Math.max(LARGEST, far));
}
