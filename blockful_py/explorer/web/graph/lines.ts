// SPDX-License-Identifier: Apache-2.0
// The edges of large graphs, in one call of WebGL: 300,000 of them take sigma and graphology seconds to take in.

const VERTEX = `#version 300 es
in vec2 place;
uniform vec2 origin, right, up;
void main() { gl_Position = vec4(origin + place.x * right + place.y * up, 0.0, 1.0); }`;
const FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 colour;
out vec4 pixel;
void main() { pixel = vec4(colour.rgb * colour.a, colour.a); }`;

type Point = { x: number; y: number };

/** Places on the page, in pixels, of (0, 0), (1, 0) and (0, 1) of the graph: the camera's map is affine. */
export interface Map {
  origin: Point;
  right: Point;
  up: Point;
}

/** Every `step`th edge: what is drawn while more would only be a blot, and slow without a processor for graphics. */
interface Level {
  step: number;
  buffer: WebGLBuffer;
  target: Uint32Array;
}

const STEPS = [1, 4, 16];
/** Edges in view that are drawn at most. */
const BUDGET = 25_000;

export class LineLayer {
  private readonly levels: Level[];
  readonly canvas = document.createElement("canvas");
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;

  /**
   * `places`: x and y by row; `source`, `target`: rows of each edge's ends, ascending by target.
   * Throws an Error without WebGL 2.
   */
  constructor(places: Float32Array, source: Uint32Array, target: Uint32Array) {
    const gl = this.canvas.getContext("webgl2", { antialias: false, depth: false });
    if (!gl) throw new Error("large graphs need WebGL 2");
    this.gl = gl;
    this.canvas.className = "lines";
    this.program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    gl.useProgram(this.program);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, places, gl.STATIC_DRAW);
    const place = gl.getAttribLocation(this.program, "place");
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 2, gl.FLOAT, false, 0, 0);
    this.levels = STEPS.map((step) => this.level(step, source, target));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  private level(step: number, source: Uint32Array, target: Uint32Array): Level {
    const { gl } = this;
    const count = Math.ceil(source.length / step);
    const ends = new Uint32Array(2 * count);
    for (let edge = 0; edge < count; edge++) {
      ends[2 * edge] = source[edge * step]!;
      ends[2 * edge + 1] = target[edge * step]!;
    }
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, ends, gl.STATIC_DRAW);
    return { step, buffer, target: step === 1 ? target : target.filter((_, edge) => edge % step === 0) };
  }

  /**
   * Draws the edges to rows that stand; `inView`: share of the graph that is in view; `colour`: red, green, blue.
   * Returns of how many edges one was drawn.
   */
  draw(stands: (row: number) => boolean, map: Map, width: number, height: number, inView: number, colour: number[]): number {
    const { gl, canvas, program } = this;
    const ratio = devicePixelRatio;
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) {
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const fits = (level: Level): boolean => level.target.length * inView <= BUDGET;
    const { step, buffer, target } = this.levels.find(fits) ?? this.levels[this.levels.length - 1]!;
    let [low, high] = [0, target.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (stands(target[middle]!)) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return step;
    const at = (name: string): WebGLUniformLocation | null => gl.getUniformLocation(program, name);
    const axis = (to: Point): [number, number] => [((to.x - map.origin.x) * 2) / width, ((map.origin.y - to.y) * 2) / height];
    gl.uniform2f(at("origin"), (map.origin.x * 2) / width - 1, 1 - (map.origin.y * 2) / height);
    gl.uniform2f(at("right"), ...axis(map.right));
    gl.uniform2f(at("up"), ...axis(map.up));
    gl.uniform4fv(at("colour"), [...colour, Math.max(0.12, Math.min(0.6, 4_000 / (target.length * inView)))]);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
    gl.drawElements(gl.LINES, 2 * low, gl.UNSIGNED_INT, 0);
    return step;
  }

  close(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
    this.canvas.remove();
  }
}
