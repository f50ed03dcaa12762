// SPDX-License-Identifier: Apache-2.0
// A large graph, in two calls of WebGL from the file's own arrays: an object for each model would take seconds.

import type { GraphData } from "./file";
import { writeLabels } from "./labels";
import type { Picking } from "./picking";
import { rings } from "./painted";
import { Program } from "./program";
import { channels, cleared, fitted, layer, type Scene, type Shown } from "./scene";

const PLACED = `#version 300 es
in vec2 place;
in vec4 look;
uniform vec4 map;
uniform float size;
out vec4 colour;
void main() {
  colour = look;
  gl_PointSize = size;
  gl_Position = look.a == 0.0 ? vec4(2.0) : vec4(place * map.xy + map.zw, 0.0, 1.0);
}`;
const DOT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float size;
uniform bool round;
out vec4 pixel;
void main() {
  float inside = (0.5 - length(gl_PointCoord - 0.5)) * size;
  pixel = round ? colour * clamp(inside, 0.0, 1.0) : colour;
}`;
const LINE = `#version 300 es
in vec2 place;
uniform vec4 map;
void main() { gl_Position = vec4(place * map.xy + map.zw, 0.0, 1.0); }`;
const INK = `#version 300 es
precision mediump float;
uniform vec4 ink;
out vec4 pixel;
void main() { pixel = vec4(ink.rgb * ink.a, ink.a); }`;

/** Every `step`th edge: what is drawn while more would only be a blot, and slow without a processor for graphics. */
interface Level {
  step: number;
  buffer: WebGLBuffer;
  target: Uint32Array;
}

const STEPS = [1, 4, 16];
/** Edges in view that are drawn at most. */
const BUDGET = 20_000;
/** Edges that are left out while the view moves. */
const SLOW = 20_000;
/** Models in view whose names are written. */
const NAMED = 150;
/** Radius from which models are discs, in pixels; smaller ones are squares. */
const ROUND = 2.2;

export class LargeGraph {
  private readonly canvas: HTMLCanvasElement;
  private readonly names: HTMLCanvasElement;
  private readonly brush: CanvasRenderingContext2D;
  private readonly gl: WebGL2RenderingContext;
  private readonly dots: Program;
  private readonly lines: Program;
  private readonly looks: WebGLBuffer;
  private readonly levels = new Map<number, Level>();
  private readonly closing = new AbortController();
  private readonly damaged: number[];
  private looked: Shown | null = null;

  /** Throws an Error without WebGL 2.  Calls `lost` when WebGL gives its context up. */
  constructor(container: HTMLElement, private readonly data: GraphData, private readonly picking: Picking, lost: () => void) {
    this.canvas = layer(container, "base");
    this.canvas.addEventListener("webglcontextlost", lost, { signal: this.closing.signal });
    const gl = this.canvas.getContext("webgl2", { antialias: false, depth: false, stencil: false });
    if (!gl) throw new Error("large graphs need WebGL 2");
    this.gl = gl;
    this.names = layer(container, "base");
    this.brush = this.names.getContext("2d")!;
    this.damaged = Array.from(data.at_chance.keys()).filter((row) => data.at_chance[row]);
    this.dots = new Program(gl, PLACED, DOT);
    this.lines = new Program(gl, LINE, INK);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data.places, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    this.looks = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Draws all models and as many edges as can be told apart; of how many edges one is drawn. */
  draw(scene: Scene): number {
    const { gl, data } = this;
    fitted(this.canvas, scene);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (this.looked !== scene.shown) this.look(scene.shown);
    const step = this.stepOf(scene.inView);
    if (!scene.moving || data.edges <= SLOW) this.edges(scene, step);
    this.dots.use(scene);
    gl.enableVertexAttribArray(1);
    gl.uniform1f(this.dots.at("size"), 2 * scene.size * scene.density);
    gl.uniform1i(this.dots.at("round"), Number(scene.size >= ROUND));
    gl.drawArrays(gl.POINTS, 0, data.models);
    this.label(scene);
    return step;
  }

  private look(shown: Shown): void {
    const { gl, data } = this;
    const known = new Map<string, [number, number, number]>();
    const looks = new Uint8Array(4 * data.models);
    for (let row = 0; row < data.models; row++) {
      if (!shown.stands(row)) continue;
      const colour = shown.colour(row);
      let parts = known.get(colour);
      if (!parts) known.set(colour, (parts = channels(colour)));
      looks.set(parts, 4 * row);
      looks[4 * row + 3] = 255;
    }
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.bufferData(gl.ARRAY_BUFFER, looks, gl.DYNAMIC_DRAW);
    this.looked = shown;
  }

  private stepOf(inView: number): number {
    return STEPS.find((step) => (this.data.edges / step) * inView <= BUDGET) ?? STEPS[STEPS.length - 1]!;
  }

  private edges(scene: Scene, step: number): void {
    const { gl } = this;
    const { buffer, target } = this.levels.get(step) ?? this.level(step);
    let [low, high] = [0, target.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (scene.shown.stands(target[middle]!)) low = middle + 1;
      else high = middle;
    }
    const [red, green, blue] = channels(scene.style.edge).map((each) => each / 255) as [number, number, number];
    this.lines.use(scene);
    gl.disableVertexAttribArray(1);
    gl.uniform4f(this.lines.at("ink"), red, green, blue, Math.max(0.12, Math.min(0.6, 4_000 / (target.length * scene.inView))));
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.drawElements(gl.LINES, 2 * low, gl.UNSIGNED_INT, 0);
  }

  /** Edges are ascending by target, and targets stand in the order of their rows. */
  private level(step: number): Level {
    const { gl, data } = this;
    const count = Math.ceil(data.edges / step);
    const ends = new Uint32Array(2 * count);
    const target = new Uint32Array(count);
    for (let edge = 0; edge < count; edge++) {
      ends[2 * edge] = data.source[edge * step]!;
      ends[2 * edge + 1] = target[edge] = data.target[edge * step]!;
    }
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, ends, gl.STATIC_DRAW);
    const made = { step, buffer, target };
    this.levels.set(step, made);
    return made;
  }

  /** Writes names where few models are in view, and rings; the canvas is hidden without any, so that it costs nothing. */
  private label(scene: Scene): void {
    const { map, width, height } = scene;
    const place = (x: number, y: number): [number, number] => [(x - map.left) / map.scale, (map.top - y) / map.scale];
    const few = scene.inView * this.data.models <= 40 * NAMED;
    const rows = few && !scene.moving ? this.picking.within(place(0, height), place(width, 0), NAMED) : null;
    this.names.hidden = rows === null && this.damaged.length === 0;
    if (this.names.hidden) return;
    cleared(this.names, this.brush, scene);
    if (!scene.moving) rings(this.brush, scene, this.damaged);
    if (rows) writeLabels(this.brush, scene, rows.filter(scene.shown.stands), false, 500);
  }

  close(): void {
    this.closing.abort();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
    this.canvas.remove();
    this.names.remove();
  }
}
