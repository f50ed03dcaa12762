// SPDX-License-Identifier: Apache-2.0
// Names beside models, none over another.

import { nameOf, xOf, yOf, type Scene } from "./scene";

const LINE = 15;
const LENGTH = 24;
const MARGIN = 200;

/** Writes the names of these rows, those before others first; `all`: also over each other. */
export function writeLabels(brush: CanvasRenderingContext2D, scene: Scene, rows: Iterable<number>, all: boolean, weight: number): void {
  const { size, style } = scene;
  brush.font = `${weight} 12px ${style.font}`;
  brush.textBaseline = "middle";
  brush.lineJoin = "round";
  brush.lineWidth = 4;
  const taken = new Map<number, [number, number][]>();
  for (const row of rows) {
    const [left, top] = [xOf(scene, row) + size + 4, yOf(scene, row)];
    if (left < -MARGIN || top < -LINE || left > scene.width || top > scene.height + LINE) continue;
    const name = nameOf(scene.data, row);
    const text = name.length > LENGTH ? `${name.slice(0, LENGTH - 1)}…` : name;
    if (!all && !takes(taken, Math.floor(top / LINE), left, left + brush.measureText(text).width)) continue;
    brush.strokeStyle = style.page;
    brush.strokeText(text, left, top);
    brush.fillStyle = style.text;
    brush.fillText(text, left, top);
  }
}

/** Takes a stretch of a line, and of the next one, unless some of it is taken. */
function takes(taken: Map<number, [number, number][]>, line: number, from: number, to: number): boolean {
  const lines = [line, line + 1].map((each) => taken.get(each) ?? taken.set(each, []).get(each)!);
  if (lines.some((each) => each.some(([left, right]) => from < right && to > left))) return false;
  for (const each of lines) each.push([from, to]);
  return true;
}
