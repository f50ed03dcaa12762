// SPDX-License-Identifier: Apache-2.0
// Keeps the names that a canvas was last given, and points of the curves, in `window.drawn`.
window.drawn = { names: [], points: [] };
let last = [0, 0];
const wrap = (of, name, before) => {
  const plain = of[name];
  of[name] = function (...given) {
    before.apply(this, given);
    return plain.apply(this, given);
  };
};
wrap(CanvasRenderingContext2D.prototype, "clearRect", () => (window.drawn = { names: [], points: [] }));
wrap(CanvasRenderingContext2D.prototype, "fillText", function (text, x, y) {
  window.drawn.names.push({ text, x, y, width: this.measureText(text).width });
});
wrap(Path2D.prototype, "moveTo", (x, y) => (last = [x, y]));
wrap(Path2D.prototype, "bezierCurveTo", (...to) => {
  for (let at = 0; at <= 1; at += 1 / 16) {
    const rest = 1 - at;
    const part = (axis) => rest ** 3 * last[axis] + 3 * rest ** 2 * at * to[axis] + 3 * rest * at ** 2 * to[2 + axis] + at ** 3 * to[4 + axis];
    window.drawn.points.push([part(0), part(1)]);
  }
  last = to.slice(4);
});
