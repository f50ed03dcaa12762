// SPDX-License-Identifier: Apache-2.0
// Walks the graph by arrow keys.

import type { GraphData } from "../graph/file";
import { neighbours, type Adjacency } from "../../../web/reach";

/** The row that an arrow leads to: a reference, an heir, or the model before or after; the first one from nowhere. */
export function walked(
  data: GraphData,
  around: { references: Adjacency; heirs: Adjacency },
  stands: (row: number) => boolean,
  row: number | undefined,
  key: string,
): number | null {
  const along = (from: number, step: number): number | null => {
    for (let each = from; each >= 0 && each < data.models; each += step) if (stands(each)) return each;
    return null;
  };
  if (row === undefined) return along(0, 1);
  if (key === "ArrowLeft") return [...neighbours(around.references, row)].find(stands) ?? null;
  if (key === "ArrowRight") return [...neighbours(around.heirs, row)].find(stands) ?? null;
  return key === "ArrowDown" ? along(row + 1, 1) : along(row - 1, -1);
}
