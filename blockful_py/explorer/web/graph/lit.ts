// SPDX-License-Identifier: Apache-2.0
// What a request would reach, on a canvas of its own above the graph: a hover costs what it reaches, and not what
// there is.  The canvas is painted by the processor, since most of it is set pixel by pixel.

import { writeLabels } from "./labels";
import { arrows, disc, rings } from "./painted";
import { neighbours, type Adjacency, type Reach } from "../../../web/reach";
import { channels, cleared, layer, xOf, yOf, type Scene } from "./scene";

/** Models that are painted as discs, with arrows; more are squares, with some lines. */
const FEW = 300;
const LINES = 1_500;

export class LitLayer {
  private readonly canvas: HTMLCanvasElement;
  private readonly brush: CanvasRenderingContext2D;
  private pixels: ImageData | null = null;

  constructor(container: HTMLElement, private readonly heirs: Adjacency) {
    this.canvas = layer(container, "lit");
    this.brush = this.canvas.getContext("2d", { willReadFrequently: true })!;
  }

  draw(scene: Scene, lit: Reach | null, starts: number[]): void {
    this.canvas.hidden = lit === null;
    if (!lit) return;
    cleared(this.canvas, this.brush, scene);
    if (lit.rows.length > FEW) this.many(scene, lit);
    else this.few(scene, lit);
    for (const row of starts) disc(this.brush, scene, row, Math.max(scene.size, 5), scene.style.text, 2.5);
    rings(this.brush, scene, lit.rows);
    writeLabels(this.brush, scene, lit.rows.length > FEW ? starts : lit.rows, lit.rows.length <= 20, 600);
  }

  private few(scene: Scene, { rows, depth }: Reach): void {
    const { brush } = this;
    if (scene.data.models <= FEW) {
      const { source, target } = scene.data;
      arrows(brush, scene, scene.style.accent, 1.8, (edge) => depth[source[edge]!]! >= 0 && depth[target[edge]!]! >= 0);
    } else this.lines(scene, rows, depth, 1, 0.8);
    for (const row of rows) disc(brush, scene, row, scene.size, scene.style.page, 1);
  }

  private many(scene: Scene, { rows, depth }: Reach): void {
    this.squares(scene, rows);
    this.lines(scene, rows, depth, Math.ceil((2 * rows.length) / LINES), 0.35);
  }

  /** Sets the pixels of each model. */
  private squares(scene: Scene, rows: Uint32Array): void {
    const { width, height } = this.canvas;
    if (this.pixels?.width !== width || this.pixels.height !== height) this.pixels = new ImageData(width, height);
    const pixels = new Uint32Array(this.pixels.data.buffer).fill(0);
    const known = new Map<string, number>();
    const side = Math.max(1, Math.round(2 * scene.size * scene.density));
    for (const row of rows) {
      const left = Math.round(xOf(scene, row) * scene.density - side / 2);
      const top = Math.round(yOf(scene, row) * scene.density - side / 2);
      if (left < 0 || top < 0 || left + side > width || top + side > height) continue;
      const colour = scene.shown.colour(row);
      let value = known.get(colour);
      if (value === undefined) {
        const [red, green, blue] = channels(colour);
        known.set(colour, (value = (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0));
      }
      for (let at = top * width + left, line = 0; line < side; line++, at += width) pixels.fill(value, at, at + side);
    }
    this.brush.putImageData(this.pixels, 0, 0);
  }

  /** Lines from every `step`th row to its heirs. */
  private lines(scene: Scene, rows: Uint32Array, depth: Int32Array, step: number, strength: number): void {
    const { brush } = this;
    brush.strokeStyle = scene.style.accent;
    brush.lineWidth = 1;
    brush.globalAlpha = strength;
    brush.beginPath();
    for (let at = 0; at < rows.length; at += step)
      for (const heir of neighbours(this.heirs, rows[at]!)) {
        if (depth[heir]! < 0) continue;
        brush.moveTo(xOf(scene, rows[at]!), yOf(scene, rows[at]!));
        brush.lineTo(xOf(scene, heir), yOf(scene, heir));
      }
    brush.stroke();
    brush.globalAlpha = 1;
  }

  close(): void {
    this.canvas.remove();
  }
}
