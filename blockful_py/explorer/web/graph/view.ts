// SPDX-License-Identifier: Apache-2.0
// The drawn graph: a base with all models, what a request would reach above it, and the camera on both.

import { between, extent, mapOf, panned, placeAt, whole, zoomed, type Camera, type Frame, type Point } from "./camera";
import type { GraphData } from "./file";
import { Gestures } from "./gestures";
import { LargeGraph } from "./large";
import { LitLayer } from "./lit";
import { FEW, PaintedGraph } from "./painted";
import { Picking } from "./picking";
import { adjacency, reach, type Adjacency, type Reach } from "./reach";
import { sizeOf, styleOf, type Scene, type Shown, type Style } from "./scene";

/** Milliseconds from the last movement until a large graph has its edges and names again. */
const SETTLING = 140;
const ANIMATION = 350;
const STEP = 1.5;

export interface Told {
  hover: (row: number | null) => void;
  click: (row: number | null, more: boolean) => void;
  /** Of how many edges one is drawn. */
  edges: (step: number) => void;
}

export class GraphView {
  readonly heirs: Adjacency;
  readonly references: Adjacency;
  private readonly base: PaintedGraph | LargeGraph;
  private readonly overlay: LitLayer;
  private readonly picking: Picking;
  private readonly gestures: Gestures;
  private readonly resizing: ResizeObserver;
  private readonly schemes = matchMedia("(prefers-color-scheme: dark)");
  private readonly bounds: { low: Point; high: Point };
  private style: Style;
  private camera: Camera;
  private lit: Reach | null = null;
  private starts: number[] = [];
  private hovered: number | null = null;
  private moving = false;
  private settling: number | undefined;
  private frame = 0;
  private isBaseDue = true;
  private animation = 0;

  constructor(
    private readonly container: HTMLElement,
    readonly data: GraphData,
    private shown: Shown,
    private readonly on: Told,
  ) {
    this.heirs = adjacency(data.models, data.source, data.target);
    this.references = adjacency(data.models, data.target, data.source);
    this.picking = new Picking(data.places);
    this.bounds = extent(data.places);
    this.camera = whole(this.seen());
    this.style = styleOf(container);
    this.base = data.models <= FEW ? new PaintedGraph(container) : new LargeGraph(container, data, this.picking);
    this.overlay = new LitLayer(container, this.heirs);
    this.gestures = new Gestures(container, {
      point: (at) => this.point(at),
      choose: (at, more) => on.click(this.rowAt(at), more),
      drag: (across, down) => this.move(panned(this.camera, mapOf(this.camera, this.seen()), across, down)),
      zoom: (factor, at) => this.move(zoomed(this.camera, mapOf(this.camera, this.seen()), factor, at)),
    });
    this.resizing = new ResizeObserver(() => this.request(true));
    this.resizing.observe(container);
    this.schemes.addEventListener("change", this.restyle);
    this.drawNow();
  }

  /** Draws the models with other colours, or others of them. */
  show(shown: Shown): void {
    this.shown = shown;
    this.request(true);
    this.light(this.starts);
  }

  /** Lights what a request that starts at these rows would reach; nothing for no rows. */
  light(starts: number[]): Reach | null {
    this.starts = starts;
    this.lit = starts.length ? reach(this.heirs, starts, this.shown.stands) : null;
    this.container.classList.toggle("dimmed", this.lit !== null);
    this.request(false);
    return this.lit;
  }

  /** Brings a model to the middle. */
  centre(row: number): void {
    const ratio = Math.min(this.camera.ratio, this.data.models > 200 ? 0.2 : 0.8);
    this.fly({ x: this.data.places[2 * row]!, y: this.data.places[2 * row + 1]!, ratio });
  }

  zoom(way: "in" | "out" | "all"): void {
    const frame = this.seen();
    if (way === "all") return this.fly(whole(frame));
    const middle = { x: frame.width / 2, y: frame.height / 2 };
    this.fly(zoomed(this.camera, mapOf(this.camera, frame), way === "in" ? 1 / STEP : STEP, middle));
  }

  /** The camera, for another view of the same graph. */
  state(): Camera {
    return this.camera;
  }

  restore(camera: Camera): void {
    this.camera = camera;
    this.request(true);
  }

  close(): void {
    clearTimeout(this.settling);
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.animation);
    this.schemes.removeEventListener("change", this.restyle);
    this.resizing.disconnect();
    this.gestures.close();
    this.base.close();
    this.overlay.close();
  }

  private readonly restyle = (): void => {
    this.style = styleOf(this.container);
    this.request(true);
  };

  private seen(): Frame {
    return { ...this.bounds, width: this.container.clientWidth, height: this.container.clientHeight };
  }

  private scene(): Scene {
    const frame = this.seen();
    const map = mapOf(this.camera, frame);
    const share = (low: number, high: number, size: number): number => Math.min(1, size / map.scale / Math.max(high - low, 1e-9));
    return {
      data: this.data,
      shown: this.shown,
      map,
      width: frame.width,
      height: frame.height,
      density: devicePixelRatio,
      size: sizeOf(this.data, this.camera),
      inView: share(frame.low.x, frame.high.x, frame.width) * share(frame.low.y, frame.high.y, frame.height),
      moving: this.moving,
      style: this.style,
    };
  }

  private rowAt(at: Point): number | null {
    const map = mapOf(this.camera, this.seen());
    const { x, y } = placeAt(map, at);
    return this.picking.at(x, y, (sizeOf(this.data, this.camera) + 3) / map.scale, this.shown.stands);
  }

  private point(at: Point | null): void {
    const row = at && this.rowAt(at);
    if (row !== this.hovered) this.on.hover((this.hovered = row));
  }

  private fly(to: Camera): void {
    cancelAnimationFrame(this.animation);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.move(to);
    const [from, began] = [this.camera, performance.now()];
    const step = (now: number): void => {
      const share = Math.min(1, Math.max(0, now - began) / ANIMATION);
      this.move(between(from, to, share));
      if (share < 1) this.animation = requestAnimationFrame(step);
    };
    step(began);
  }

  private move(camera: Camera): void {
    this.camera = camera;
    this.moving = true;
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.moving = false;
      this.request(true);
    }, SETTLING);
    this.request(true);
  }

  /** Draws with the next frame, once for all that has changed until then; the base only where it is due. */
  private request(base: boolean): void {
    this.isBaseDue ||= base;
    this.frame ||= requestAnimationFrame(() => this.drawNow());
  }

  private drawNow(): void {
    this.frame = 0;
    const scene = this.scene();
    if (this.isBaseDue) this.on.edges(this.base.draw(scene));
    this.isBaseDue = false;
    this.overlay.draw(scene, this.lit, this.starts);
  }
}
