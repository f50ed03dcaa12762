// SPDX-License-Identifier: Apache-2.0
// What layers of the drawing share.

import { radius, type Camera, type Map } from "./camera";
import type { GraphData } from "./file";

/** How models look at the time that is shown. */
export interface Shown {
  /** Six hexadecimal digits after "#". */
  colour: (row: number) => string;
  stands: (row: number) => boolean;
  /** Whether it is no better than chance on what it was to keep. */
  isDamaged: (row: number) => boolean;
}

/** One state of the drawing: all layers draw the same one. */
export interface Scene {
  data: GraphData;
  shown: Shown;
  map: Map;
  /** Size of the page in CSS pixels, and how many of the screen's make one. */
  width: number;
  height: number;
  density: number;
  /** Radius of a model. */
  size: number;
  /** Share of the graph's extent that is seen. */
  inView: number;
  moving: boolean;
  style: Style;
}

export interface Style {
  edge: string;
  text: string;
  page: string;
  accent: string;
  bad: string;
  font: string;
}

export function styleOf(element: HTMLElement): Style {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return { edge: of("--edge"), text: of("--text"), page: of("--page"), accent: of("--accent"), bad: of("--bad"), font: style.fontFamily };
}

export const sizeOf = (data: GraphData, camera: Camera): number => radius(data.models, camera.ratio);

export const xOf = ({ data, map }: Scene, row: number): number => map.left + map.scale * data.places[2 * row]!;
export const yOf = ({ data, map }: Scene, row: number): number => map.top - map.scale * data.places[2 * row + 1]!;

/** A point of a curve, on the page. */
export const curvePoint = ({ data, map }: Scene, point: number): [number, number] => [
  map.left + map.scale * data.curves[2 * point]!,
  map.top - map.scale * data.curves[2 * point + 1]!,
];

export const nameOf = (data: GraphData, row: number): string => data.names[row] || `${data.height[row]}:${data.index[row]}`;

/** Red, green and blue of "#rrggbb", from 0 to 255. */
export const channels = (colour: string): [number, number, number] => [
  parseInt(colour.slice(1, 3), 16),
  parseInt(colour.slice(3, 5), 16),
  parseInt(colour.slice(5, 7), 16),
];

/** A canvas over all of `container`. */
export function layer(container: HTMLElement, kind: string): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.className = kind;
  container.append(canvas);
  return canvas;
}

/** Fits a canvas to the page; whether its size has changed. */
export function fitted(canvas: HTMLCanvasElement, { width, height, density }: Scene): boolean {
  const [across, down] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  if (canvas.width === across && canvas.height === down) return false;
  canvas.width = across;
  canvas.height = down;
  return true;
}

/** A cleared canvas to paint on, in CSS pixels. */
export function cleared(canvas: HTMLCanvasElement, brush: CanvasRenderingContext2D, scene: Scene): void {
  if (!fitted(canvas, scene)) {
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, canvas.width, canvas.height);
  }
  brush.setTransform(scene.density, 0, 0, scene.density, 0, 0);
}
