// SPDX-License-Identifier: Apache-2.0
// Which model is where, by a grid over the places.

export class Picking {
  private readonly first: Uint32Array;
  private readonly rows: Uint32Array;
  private readonly side: number;
  private readonly low: [number, number] = [Infinity, Infinity];
  private readonly cell: [number, number];

  /** `places`: x and y by row. */
  constructor(private readonly places: Float32Array) {
    const size = places.length / 2;
    const high: [number, number] = [-Infinity, -Infinity];
    for (let at = 0; at < places.length; at++) {
      const axis = (at % 2) as 0 | 1;
      this.low[axis] = Math.min(this.low[axis], places[at]!);
      high[axis] = Math.max(high[axis], places[at]!);
    }
    this.side = Math.max(1, Math.round(Math.sqrt(size / 2)));
    this.cell = [0, 1].map((axis) => Math.max(high[axis]! - this.low[axis]!, 1e-6) / this.side) as [number, number];
    const cells = new Uint32Array(size);
    this.first = new Uint32Array(this.side * this.side + 1);
    for (let row = 0; row < size; row++) {
      cells[row] = this.column(0, places[2 * row]!) * this.side + this.column(1, places[2 * row + 1]!);
      this.first[cells[row]! + 1]!++;
    }
    for (let cell = 0; cell < this.side * this.side; cell++) this.first[cell + 1]! += this.first[cell]!;
    const next = this.first.slice();
    this.rows = new Uint32Array(size);
    for (let row = 0; row < size; row++) this.rows[next[cells[row]!]!++] = row;
  }

  private column(axis: 0 | 1, value: number): number {
    const column = Math.floor((value - this.low[axis]) / this.cell[axis]);
    return Math.min(Math.max(column, 0), this.side - 1);
  }

  /** The nearest row that `stands` within `radius` of a place of the graph; null where there is none. */
  at(x: number, y: number, radius: number, stands: (row: number) => boolean): number | null {
    let [found, nearest]: [number | null, number] = [null, radius * radius];
    for (let left = this.column(0, x - radius); left <= this.column(0, x + radius); left++)
      for (let top = this.column(1, y - radius); top <= this.column(1, y + radius); top++) {
        const cell = left * this.side + top;
        for (let at = this.first[cell]!; at < this.first[cell + 1]!; at++) {
          const row = this.rows[at]!;
          const distance = (this.places[2 * row]! - x) ** 2 + (this.places[2 * row + 1]! - y) ** 2;
          if (distance <= nearest && stands(row)) [found, nearest] = [row, distance];
        }
      }
    return found;
  }

  /** Rows in a box from one corner, x and y, to the other one; null where there are more than `most`. */
  within(low: [number, number], high: [number, number], most: number): number[] | null {
    const found: number[] = [];
    for (let left = this.column(0, low[0]); left <= this.column(0, high[0]); left++)
      for (let top = this.column(1, low[1]); top <= this.column(1, high[1]); top++) {
        const cell = left * this.side + top;
        for (let at = this.first[cell]!; at < this.first[cell + 1]!; at++) {
          const row = this.rows[at]!;
          const [x, y] = [this.places[2 * row]!, this.places[2 * row + 1]!];
          if (x < low[0] || y < low[1] || x > high[0] || y > high[1]) continue;
          if (found.push(row) > most) return null;
        }
      }
    return found;
  }
}
