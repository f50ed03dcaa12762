// SPDX-License-Identifier: Apache-2.0
// A small graph: models as discs, references as arrows, names.

import { writeLabels } from "./labels";
import { cleared, layer, xOf, yOf, type Scene } from "./scene";

/** Most models that are painted so; drawing takes 10 to 20 microseconds each. */
export const FEW = 500;
const HEAD = 7;
/** From a disc to the ring around it. */
const RING = 3;

export class PaintedGraph {
  private readonly canvas: HTMLCanvasElement;
  private readonly brush: CanvasRenderingContext2D;

  constructor(container: HTMLElement) {
    this.canvas = layer(container, "base");
    this.brush = this.canvas.getContext("2d")!;
  }

  /** Draws all models; of how many edges one is drawn. */
  draw(scene: Scene): number {
    const { brush } = this;
    const { data, shown, size } = scene;
    cleared(this.canvas, brush, scene);
    arrows(brush, scene, scene.style.edge, 1.4, (edge) => shown.stands(data.target[edge]!));
    for (let row = 0; row < data.models; row++) if (shown.stands(row)) disc(brush, scene, row, size, scene.style.page, 1);
    const rows = Array.from({ length: data.models }, (_, row) => row).filter(shown.stands);
    rings(brush, scene, rows);
    writeLabels(brush, scene, rows, false, 500);
    return 1;
  }

  close(): void {
    this.canvas.remove();
  }
}

export function disc(brush: CanvasRenderingContext2D, scene: Scene, row: number, size: number, rim: string, width: number): void {
  brush.beginPath();
  brush.arc(xOf(scene, row), yOf(scene, row), size, 0, 2 * Math.PI);
  brush.fillStyle = scene.shown.colour(row);
  brush.fill();
  brush.lineWidth = width;
  brush.strokeStyle = rim;
  brush.stroke();
}

/** Rings around those of these rows that are damaged. */
export function rings(brush: CanvasRenderingContext2D, scene: Scene, rows: Iterable<number>): void {
  brush.strokeStyle = scene.style.bad;
  brush.lineWidth = 2;
  for (const row of rows) {
    if (!scene.shown.isDamaged(row)) continue;
    brush.beginPath();
    brush.arc(xOf(scene, row), yOf(scene, row), scene.size + RING, 0, 2 * Math.PI);
    brush.stroke();
  }
}

/** Draws the edges that are chosen, each with a head at the rim of the heir. */
export function arrows(
  brush: CanvasRenderingContext2D,
  scene: Scene,
  colour: string,
  width: number,
  chosen: (edge: number) => boolean,
): void {
  const { data, size } = scene;
  brush.strokeStyle = brush.fillStyle = colour;
  brush.lineWidth = width;
  const lines = new Path2D();
  const heads = new Path2D();
  for (let edge = 0; edge < data.edges; edge++) {
    if (!chosen(edge)) continue;
    const [from, to] = [data.source[edge]!, data.target[edge]!];
    const [x, y, endX, endY] = [xOf(scene, from), yOf(scene, from), xOf(scene, to), yOf(scene, to)];
    const length = Math.max(Math.hypot(endX - x, endY - y), 1e-6);
    const [across, down] = [(endX - x) / length, (endY - y) / length];
    const [tipX, tipY] = [endX - across * (size + 1), endY - down * (size + 1)];
    const [backX, backY] = [tipX - across * HEAD, tipY - down * HEAD];
    lines.moveTo(x, y);
    lines.lineTo(backX, backY);
    heads.moveTo(tipX, tipY);
    heads.lineTo(backX - down * HEAD * 0.45, backY + across * HEAD * 0.45);
    heads.lineTo(backX + down * HEAD * 0.45, backY - across * HEAD * 0.45);
    heads.closePath();
  }
  brush.stroke(lines);
  brush.fill(heads);
}
