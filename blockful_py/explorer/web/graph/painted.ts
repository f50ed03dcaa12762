// SPDX-License-Identifier: Apache-2.0
// A small graph: models as discs, references as arrows, names.

import { dashOf } from "./kinds";
import { writeLabels } from "./labels";
import { cleared, curvePoint, layer, xOf, yOf, type Scene } from "./scene";

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

/** Draws the edges that are chosen, dashed by kind, each with a head at the rim of the heir, which they reach level. */
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
  const lines = data.kinds.map(() => new Path2D());
  const heads = new Path2D();
  for (let edge = 0; edge < data.edges; edge++) {
    if (!chosen(edge)) continue;
    const [first, end] = [edge ? data.curve_end[edge - 1]! : 0, data.curve_end[edge]!];
    const line = lines[data.kind[edge]!]!;
    line.moveTo(...curvePoint(scene, first));
    for (let at = first + 1; at < end; at += 3) line.bezierCurveTo(...curvePoint(scene, at), ...curvePoint(scene, at + 1), ...curvePoint(scene, at + 2));
    const [tip, y] = [xOf(scene, data.target[edge]!) - size - 1, yOf(scene, data.target[edge]!)];
    heads.moveTo(tip, y);
    heads.lineTo(tip - HEAD, y + HEAD * 0.45);
    heads.lineTo(tip - HEAD, y - HEAD * 0.45);
    heads.closePath();
  }
  lines.forEach((line, kind) => {
    brush.setLineDash(dashOf(data.kinds[kind]!));
    brush.stroke(line);
  });
  brush.setLineDash([]);
  brush.fill(heads);
}
