// SPDX-License-Identifier: Apache-2.0
// Names below models, none over another, and none wider than edges are level there.

import { nameOf, xOf, yOf, type Scene } from "./scene";

const LINE = 15;
const LENGTH = 24;
const MARGIN = 100;
/** From the rim of a model to the middle of its name. */
const BELOW = 11;
/** From a model to the next edge, in rows (graph/layout.py), and half the height of a name in pixels. */
const FREE = 0.8;
const HALF = 6;

/** Writes the names of these rows where they have room, those before others first; `all`: also over each other. */
export function writeLabels(brush: CanvasRenderingContext2D, scene: Scene, rows: Iterable<number>, all: boolean, weight: number): void {
  const { size, style } = scene;
  brush.font = `${weight} 12px ${style.font}`;
  brush.textBaseline = "middle";
  brush.lineJoin = "round";
  brush.lineWidth = 4;
  if (!all && scene.data.level && FREE * scene.map.scale < size + BELOW + HALF) return;
  const room = scene.data.level ? 2 * scene.data.level * scene.map.scale : Infinity;
  const taken = new Map<number, [number, number][]>();
  for (const row of rows) {
    const [middle, top] = [xOf(scene, row), yOf(scene, row) + size + BELOW];
    if (middle < -MARGIN || top < -LINE || middle > scene.width + MARGIN || top > scene.height + LINE) continue;
    const [text, width] = fitted(brush, nameOf(scene.data, row), room);
    const left = middle - width / 2;
    if (!all && !takes(taken, Math.floor(top / LINE), left, left + width)) continue;
    brush.strokeStyle = style.page;
    brush.strokeText(text, left, top);
    brush.fillStyle = style.text;
    brush.fillText(text, left, top);
  }
}

/** As much of a name as has room, and its width. */
function fitted(brush: CanvasRenderingContext2D, name: string, room: number): [string, number] {
  let text = name.length > LENGTH ? `${name.slice(0, LENGTH - 1)}…` : name;
  let width = brush.measureText(text).width;
  for (let length = text.length - 1; width > room && length > 1; length--) {
    text = `${name.slice(0, length - 1)}…`;
    width = brush.measureText(text).width;
  }
  return [text, width];
}

/** Takes a stretch of a line, and of the next one, unless some of it is taken. */
function takes(taken: Map<number, [number, number][]>, line: number, from: number, to: number): boolean {
  const lines = [line, line + 1].map((each) => taken.get(each) ?? taken.set(each, []).get(each)!);
  if (lines.some((each) => each.some(([left, right]) => from < right && to > left))) return false;
  for (const each of lines) each.push([from, to]);
  return true;
}
