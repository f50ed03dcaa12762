// SPDX-License-Identifier: Apache-2.0
// The drawn graph: sigma draws all models; what a request would reach is drawn over them, so that a hover
// costs what it reaches, and not what there is.

import { DirectedGraph } from "graphology";
import Sigma from "sigma";
import { EdgeArrowProgram } from "sigma/rendering";
import type { GraphData } from "./file";
import { LineLayer, type Map } from "./lines";
import { Picking } from "./picking";
import { adjacency, neighbours, reach, type Adjacency, type Reach } from "../../../web/reach";

/** Models of a large graph, whose edges are thin lines without heads in a layer of their own. */
const MANY = 2_000;
/** Edges that are left out while the camera moves. */
const SLOW = 20_000;

export interface Shown {
  colour: (row: number) => string;
  stands: (row: number) => boolean;
}

export class GraphView {
  readonly heirs: Adjacency;
  readonly references: Adjacency;
  private readonly sigma: Sigma;
  private readonly graph: DirectedGraph;
  private readonly overlay: HTMLCanvasElement;
  private lit: Reach | null = null;
  private starts: number[] = [];
  private shown: Shown;
  private readonly lines: LineLayer | null = null;
  private settling: number | undefined;

  constructor(
    private readonly container: HTMLElement,
    readonly data: GraphData,
    shown: Shown,
    private readonly on: {
      hover: (row: number | null) => void;
      click: (row: number | null, more: boolean) => void;
      /** Of how many edges one is drawn. */
      edges: (step: number) => void;
    },
  ) {
    this.shown = shown;
    this.heirs = adjacency(data.models, data.source, data.target);
    this.references = adjacency(data.models, data.target, data.source);
    this.graph = this.made();
    const style = getComputedStyle(container);
    const many = data.models > MANY;
    this.sigma = new Sigma(this.graph, container, {
      allowInvalidContainer: true,
      defaultEdgeType: "arrow",
      edgeProgramClasses: { arrow: EdgeArrowProgram },
      defaultEdgeColor: style.getPropertyValue("--edge").trim(),
      labelColor: { color: style.getPropertyValue("--text").trim() },
      labelFont: style.fontFamily,
      labelSize: 12,
      labelWeight: "500",
      labelDensity: 0.7,
      labelRenderedSizeThreshold: many ? 7 : 4,
      hideLabelsOnMove: many,
      stagePadding: Math.min(60, container.clientWidth / 12),
      minCameraRatio: 0.002,
      maxCameraRatio: 4,
      defaultDrawNodeHover: () => undefined,
    });
    this.overlay = document.createElement("canvas");
    this.overlay.className = "overlay";
    container.append(this.overlay);
    if (many) {
      this.lines = new LineLayer(data.places, data.source, data.target);
      container.prepend(this.lines.canvas);
      this.sigma.getCamera().on("updated", () => this.move());
      this.drawLines();
    }
    this.sigma.on("afterRender", () => this.draw());
    this.sigma.on("resize", () => this.drawLines());
    this.listen();
  }

  /** Finds models by `Picking`, in the place of sigma's own listeners. */
  private listen(): void {
    const picking = new Picking(this.data.places);
    const mouse = this.sigma.getMouseCaptor();
    mouse.removeAllListeners();
    this.sigma.getTouchCaptor().removeAllListeners();
    const at = (place: { x: number; y: number }): number | null => {
      const { x, y } = this.sigma.viewportToGraph(place);
      const { origin, right } = this.map();
      const scale = Math.hypot(right.x - origin.x, right.y - origin.y);
      return picking.at(x, y, (this.size() + 3) / scale, this.shown.stands);
    };
    let hovered: number | null = null;
    mouse.on("mousemovebody", (event) => {
      const inside = event.original.target instanceof Node && this.container.contains(event.original.target);
      const row = inside && !mouse.isMoving ? at(event) : null;
      if (row !== hovered) this.on.hover((hovered = row));
    });
    mouse.on("click", (event) => this.on.click(at(event), (event.original as MouseEvent).shiftKey));
    this.sigma.getTouchCaptor().on("tap", (event) => this.on.click(at(event.touches[0] ?? event.previousTouches[0]!), false));
  }

  /** Radius of a model on the page, in pixels. */
  private size(): number {
    return this.sigma.scaleSize(Number(this.graph.getNodeAttribute(0, "size")));
  }

  private made(): DirectedGraph {
    const { data } = this;
    const graph = new DirectedGraph({ allowSelfLoops: false });
    const size = data.models > 20_000 ? 1.6 : data.models > MANY ? 2.6 : data.models > 200 ? 5 : 9;
    for (let row = 0; row < data.models; row++)
      graph.addNode(row, {
        x: data.places[2 * row],
        y: data.places[2 * row + 1],
        size,
        label: data.names[row] || `${data.height[row]}:${data.index[row]}`,
        color: this.shown.colour(row),
        hidden: !this.shown.stands(row),
      });
    for (let edge = 0; edge < data.edges && data.models <= MANY; edge++)
      graph.addDirectedEdgeWithKey(edge, data.source[edge], data.target[edge], {
        size: 1.4,
        hidden: !this.shown.stands(data.target[edge]!),
      });
    return graph;
  }

  /** Draws the models with other colours, or others of them. */
  show(shown: Shown): void {
    this.shown = shown;
    this.graph.updateEachNodeAttributes(
      (node, attributes) => ({ ...attributes, color: shown.colour(Number(node)), hidden: !shown.stands(Number(node)) }),
      { attributes: ["color", "hidden"] },
    );
    this.graph.updateEachEdgeAttributes(
      (edge, attributes) => ({ ...attributes, hidden: !shown.stands(this.data.target[Number(edge)]!) }),
      { attributes: ["hidden"] },
    );
    this.drawLines();
    this.light(this.starts);
  }

  /** Lights what a request that starts at these rows would reach; nothing for no rows. */
  light(starts: number[]): Reach | null {
    this.starts = starts;
    this.lit = starts.length ? reach(this.heirs, starts, this.shown.stands) : null;
    this.container.classList.toggle("dimmed", this.lit !== null);
    this.draw();
    return this.lit;
  }

  /** Leaves the edges of a large graph out until the camera rests. */
  private move(): void {
    if (this.data.edges <= SLOW) return this.drawLines();
    this.lines!.canvas.hidden = true;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.lines!.canvas.hidden = false;
      this.drawLines();
    }, 140);
  }

  private drawLines(): void {
    const { lines, container } = this;
    if (!lines) return;
    const hex = getComputedStyle(container).getPropertyValue("--edge").trim();
    const colour = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
    const inView = Math.min(1, this.sigma.getCamera().ratio ** 2);
    const step = lines.draw(this.shown.stands, this.map(), container.clientWidth, container.clientHeight, inView, colour);
    this.on.edges(step);
  }

  private map(): Map {
    const place = (x: number, y: number): { x: number; y: number } => this.sigma.graphToViewport({ x, y });
    return { origin: place(0, 0), right: place(1, 0), up: place(0, 1) };
  }

  private draw(): void {
    const { overlay, container } = this;
    const ratio = devicePixelRatio;
    const [width, height] = [container.clientWidth, container.clientHeight];
    if (overlay.width !== width * ratio || overlay.height !== height * ratio) {
      overlay.width = width * ratio;
      overlay.height = height * ratio;
      overlay.style.width = `${width}px`;
      overlay.style.height = `${height}px`;
    }
    const canvas = overlay.getContext("2d")!;
    canvas.setTransform(ratio, 0, 0, ratio, 0, 0);
    canvas.clearRect(0, 0, width, height);
    if (!this.lit) return;
    const { origin, right, up } = this.map();
    const places = this.data.places;
    const x = (row: number): number =>
      origin.x + places[2 * row]! * (right.x - origin.x) + places[2 * row + 1]! * (up.x - origin.x);
    const y = (row: number): number =>
      origin.y + places[2 * row]! * (right.y - origin.y) + places[2 * row + 1]! * (up.y - origin.y);
    this.edges(canvas, x, y);
    this.nodes(canvas, x, y, width, height);
  }

  private edges(canvas: CanvasRenderingContext2D, x: (row: number) => number, y: (row: number) => number): void {
    const { rows, depth } = this.lit!;
    canvas.strokeStyle = getComputedStyle(this.container).getPropertyValue("--accent");
    canvas.lineWidth = rows.length > MANY ? 0.5 : 1.8;
    canvas.globalAlpha = rows.length > MANY ? 0.35 : 0.8;
    canvas.beginPath();
    let drawn = 0;
    for (const row of rows) {
      for (const heir of neighbours(this.heirs, row)) {
        if (depth[heir]! < 0) continue;
        canvas.moveTo(x(row), y(row));
        canvas.lineTo(x(heir), y(heir));
        if (++drawn > 4 * MANY) break;
      }
      if (drawn > 4 * MANY) break;
    }
    canvas.stroke();
    canvas.globalAlpha = 1;
  }

  private nodes(
    canvas: CanvasRenderingContext2D,
    x: (row: number) => number,
    y: (row: number) => number,
    width: number,
    height: number,
  ): void {
    const { rows, depth } = this.lit!;
    const size = this.size();
    const style = getComputedStyle(this.container);
    const [text, page] = [style.getPropertyValue("--text"), style.getPropertyValue("--page")];
    const small = rows.length > 300;
    for (const row of rows) {
      const [left, top] = [x(row), y(row)];
      if (left < -20 || top < -20 || left > width + 20 || top > height + 20) continue;
      canvas.fillStyle = this.shown.colour(row);
      if (small && depth[row] !== 0) canvas.fillRect(left - size, top - size, 2 * size, 2 * size);
      else {
        canvas.beginPath();
        canvas.arc(left, top, Math.max(size, depth[row] === 0 ? 5 : 0), 0, 2 * Math.PI);
        canvas.fill();
        canvas.lineWidth = depth[row] === 0 ? 2.5 : 1;
        canvas.strokeStyle = depth[row] === 0 ? text : page;
        canvas.stroke();
      }
    }
    canvas.font = `600 12px ${style.fontFamily}`;
    canvas.textBaseline = "middle";
    canvas.lineJoin = "round";
    for (const row of small ? this.starts : rows) {
      const label = String(this.graph.getNodeAttribute(row, "label"));
      canvas.lineWidth = 4;
      canvas.strokeStyle = page;
      canvas.strokeText(label, x(row) + size + 4, y(row));
      canvas.fillStyle = text;
      canvas.fillText(label, x(row) + size + 4, y(row));
    }
  }

  /** Brings a model to the middle. */
  centre(row: number): void {
    const place = this.sigma.getNodeDisplayData(row);
    if (!place) return;
    const ratio = Math.min(this.sigma.getCamera().ratio, this.data.models > 200 ? 0.2 : 0.8);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    void this.sigma.getCamera().animate({ x: place.x, y: place.y, ratio }, { duration: still ? 0 : 350 });
  }

  zoom(way: "in" | "out" | "all"): void {
    const camera = this.sigma.getCamera();
    if (way === "in") void camera.animatedZoom();
    else if (way === "out") void camera.animatedUnzoom();
    else void camera.animatedReset();
  }

  /** Rows whose colours or places a click and a test can find: the middle of a model on the page. */
  at(row: number): { x: number; y: number } {
    const place = this.sigma.graphToViewport({ x: this.data.places[2 * row]!, y: this.data.places[2 * row + 1]! });
    const box = this.container.getBoundingClientRect();
    return { x: box.left + place.x, y: box.top + place.y };
  }

  /** Keeps the camera for another view of the same graph. */
  camera(): object {
    return this.sigma.getCamera().getState();
  }

  restore(state: object): void {
    this.sigma.getCamera().setState(state);
  }

  close(): void {
    clearTimeout(this.settling);
    this.sigma.kill();
    this.lines?.close();
    this.overlay.remove();
  }
}
