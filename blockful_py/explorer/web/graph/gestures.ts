// SPDX-License-Identifier: Apache-2.0
// Mouse, pen and touch as what they mean: pointing, choosing, dragging, zooming.

import type { Point } from "./camera";

/** Pixels that a pointer moves before it drags. */
const STILL = 4;

export interface Meanings {
  /** Where the pointer rests; null where it has left.  Browsers tell moves once a frame. */
  point: (at: Point | null) => void;
  choose: (at: Point, more: boolean) => void;
  drag: (across: number, down: number) => void;
  /** `factor`: below 1 to come nearer. */
  zoom: (factor: number, at: Point) => void;
}

export class Gestures {
  private readonly pressed = new Map<number, Point>();
  private readonly ending = new AbortController();
  private moved = 0;

  constructor(private readonly element: HTMLElement, private readonly on: Meanings) {
    const listen = <K extends keyof HTMLElementEventMap>(name: K, listener: (event: HTMLElementEventMap[K]) => void): void =>
      element.addEventListener(name, listener, { signal: this.ending.signal, passive: false });
    listen("pointerdown", (event) => this.down(event));
    listen("pointermove", (event) => this.move(event));
    listen("pointerup", (event) => this.up(event));
    listen("pointercancel", (event) => void this.pressed.delete(event.pointerId));
    listen("pointerleave", () => on.point(null));
    listen("wheel", (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
      on.zoom(Math.exp(Math.min(Math.max(event.deltaY * lines, -300), 300) / 500), this.at(event));
    });
  }

  private at(event: MouseEvent): Point {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.pressed.set(event.pointerId, this.at(event));
    this.moved = this.pressed.size > 1 ? Infinity : 0;
    this.on.point(null);
  }

  private move(event: PointerEvent): void {
    const before = this.pressed.get(event.pointerId);
    const at = this.at(event);
    if (!before) return this.on.point(at);
    const [across, down] = [at.x - before.x, at.y - before.y];
    const other = [...this.pressed].find(([pointer]) => pointer !== event.pointerId)?.[1];
    if (!other && (this.moved += Math.hypot(across, down)) < STILL) return;
    this.element.setPointerCapture(event.pointerId);
    this.pressed.set(event.pointerId, at);
    if (!other) return this.on.drag(across, down);
    this.on.drag(across / 2, down / 2);
    const apart = (point: Point): number => Math.max(Math.hypot(point.x - other.x, point.y - other.y), 1);
    this.on.zoom(apart(before) / apart(at), { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 });
  }

  private up(event: PointerEvent): void {
    if (!this.pressed.delete(event.pointerId)) return;
    if (this.pressed.size === 0 && this.moved < STILL) this.on.choose(this.at(event), event.shiftKey);
  }

  close(): void {
    this.ending.abort();
  }
}
