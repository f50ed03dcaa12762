# SPDX-License-Identifier: Apache-2.0
"""The inheritance graph as one binary file: positions, edges, and the values that colour the models.

    4 bytes   length of the header, little-endian
    header    JSON in UTF-8: {"format", "revision", "models", "edges", "level", "names", "kinds", "owners",
              "ticks", "arrays"}
    arrays    little-endian, each at a multiple of 4 bytes after the header's padded end

`arrays` lists name, type and length of each array in order.  Models are indexed by row, in the order of their
positions; edges are sorted by the row of the heir, and have the index of their kind in `kinds`.  A tick is a
live transaction that published or replaced models: its number (from 1), the newest block after it, its time.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockful_py.explorer.database import REVISION, IndexReader, counter
from blockful_py.explorer.lists import hexed, with_parties
from blockful_py.graph.kinds import EdgeKind
from blockful_py.graph.layout import LEVEL, layered_drawing, quick_layout
from blockful_py.settings.sections import FederationSettings

FORMAT = "blockful-graph/3"
CAREFUL = 1_500
"""Maximum number of models laid out by `layered_drawing`, which takes 0.4 ms per model."""
CURVED = 500
"""Maximum number of models for curved edges, as painted by web/graph/painted.ts."""
KINDS = [*EdgeKind]
ASPECT = 1.55
"""Width of the drawing divided by its height."""
TYPES = {"f4": "<f4", "u4": "<u4", "u2": "<u2", "u1": "<u1"}

Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A gzip-compressed graph file, and the index revision it shows."""

    revision: int
    data: bytes


class GraphFiles:
    """Makes graph files when the index changes; lays models out again only if the graph grew."""

    def __init__(self, reader: IndexReader, federation: FederationSettings) -> None:
        """Reads from `reader`; `federation` has the names that parties gave themselves."""
        self._reader = reader
        self._federation = federation
        self._making = threading.Lock()
        self._file: GraphFile | None = None
        self._drawing: tuple[tuple[int, int], DrawnGraph] | None = None

    def current(self) -> GraphFile:
        """The graph file of the current index.  Raises sqlite3.Error while the index is being rebuilt."""
        with self._making, self._reader.moment() as connection:
            revision = counter(connection, REVISION)
            if self._file is None or self._file.revision != revision:
                data = gzip.compress(self._made(connection, revision), compresslevel=4, mtime=0)
                self._file = GraphFile(revision, data)
            return self._file

    def _made(self, connection: sqlite3.Connection, revision: int) -> bytes:
        models = connection.execute(
            "SELECT model.position, owner, model.version, coalesce(name, ''), first.tick, last.accuracy,"
            " last.ad_f, last.ad_r, last.withdrawn, last.at_chance, user FROM model"
            " JOIN version AS first ON first.position = model.position AND first.version = 0"
            " JOIN version AS last ON last.position = model.position AND last.version = model.version"
            " ORDER BY row"
        ).fetchall()
        found = connection.execute(
            "SELECT above.row, below.row, coalesce(kind, 'train') FROM reference"
            " JOIN model AS above ON above.position = reference.reference"
            " JOIN model AS below ON below.position = reference.model"
        ).fetchall()
        table = [(above, below, KINDS.index(kind)) for above, below, kind in found]
        edges = np.array(table, dtype=np.int64).reshape(-1, 3)
        edges = edges[np.argsort(edges[:, 1], kind="stable")]
        replaced = connection.execute(
            "SELECT row, tick, version.version FROM version JOIN model USING (position)"
            " WHERE version.version > 0 ORDER BY tick"
        ).fetchall()
        ticks = connection.execute(
            "SELECT tick, max(max(position >> 32)) OVER (ORDER BY tick), time"
            " FROM made GROUP BY tick ORDER BY tick"
        ).fetchall()
        users = {row[1]: row[10] for row in models}
        owners = {owner: number for number, owner in enumerate(users)}
        columns = list(zip(*models, strict=True)) or [()] * 11
        drawn = self._drawn(len(models), edges[:, :2])
        positions = np.array(columns[0], dtype=np.uint64)
        arrays: dict[str, tuple[str, Column]] = {
            "places": ("f4", drawn.places.ravel()),
            "curves": ("f4", drawn.curves.ravel()),
            "curve_end": ("u4", drawn.curve_end),
            "source": ("u4", edges[:, 0]),
            "target": ("u4", edges[:, 1]),
            "kind": ("u1", edges[:, 2]),
            "height": ("u4", positions >> np.uint64(32)),
            "index": ("u4", positions & np.uint64(0xFFFFFFFF)),
            "born": ("u4", np.array(columns[4], dtype=np.int64)),
            "accuracy": ("f4", _figures(columns[5])),
            "ad_f": ("f4", _figures(columns[6])),
            "ad_r": ("f4", _figures(columns[7])),
            "replaced_row": ("u4", np.array([row[0] for row in replaced], dtype=np.int64)),
            "replaced_tick": ("u4", np.array([row[1] for row in replaced], dtype=np.int64)),
            "replaced_version": ("u4", np.array([row[2] for row in replaced], dtype=np.int64)),
            "version": ("u4", np.array(columns[2], dtype=np.int64)),
            "owner": ("u4", np.array([owners[each] for each in columns[1]], dtype=np.int64)),
            "withdrawn": ("u1", np.array(columns[8], dtype=np.int64)),
            "at_chance": ("u1", np.array(columns[9], dtype=np.int64)),
        }
        header = {
            "format": FORMAT,
            "revision": revision,
            "models": len(models),
            "edges": len(edges),
            "level": drawn.level,
            "names": columns[3],
            "kinds": KINDS,
            "owners": with_parties(
                [{"owner": hexed(owner), "user": user} for owner, user in users.items()], self._federation
            ),
            "ticks": [list(row) for row in ticks],
        }
        return packed(header, arrays)

    def _drawn(self, models: int, edges: Column) -> DrawnGraph:
        if self._drawing is None or self._drawing[0] != (models, len(edges)):
            self._drawing = (models, len(edges)), drawn_graph(models, edges)
        return self._drawing[1]


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Coordinates of models and edges, with layers from left to right.

    Attributes:
        places: coordinates of the models, shape (models, 2).
        curves: points of all edges, concatenated, as in `Drawing.curves`, shape (points, 2).
        curve_end: number of points up to each edge's last one; all 0 if edges are straight.
        level: length of the horizontal part of an edge beside a model; 0 if edges are straight.
    """

    places: Column
    curves: Column
    curve_end: Column
    level: float


def drawn_graph(models: int, edges: Column) -> DrawnGraph:
    """Lays out the graph, in O(models + edges)."""
    names = [str(row) for row in range(models)]
    points, ends = np.zeros((0, 2)), np.zeros(len(edges), dtype=np.int64)
    if models > CAREFUL:
        placed = quick_layout(names, edges[:, 0], edges[:, 1])
    else:
        references: dict[str, list[str]] = {name: [] for name in names}
        for source, target in edges.tolist():
            references[names[target]].append(names[source])
        drawing = layered_drawing(references)
        placed = np.array([drawing.places[name] for name in names]).reshape(-1, 2)
        if models <= CURVED and len(edges):
            found = drawing.curves
            curves = [found[names[source], names[target]] for source, target in edges.tolist()]
            points = np.array([point for curve in curves for point in curve])
            ends = np.cumsum([len(curve) for curve in curves])
    if not models:
        return DrawnGraph(placed, points, ends, 0.0)
    everything = np.concatenate([placed, points])
    low, high = everything.min(axis=0), everything.max(axis=0)
    extent = np.maximum(high - low, 1.0)
    across = max(extent[1] * ASPECT / extent[0], 0.5)

    def stretched(each: Column) -> Column:
        return np.column_stack([(each[:, 0] - low[0]) * across, extent[1] - (each[:, 1] - low[1])])

    return DrawnGraph(stretched(placed), stretched(points), ends, LEVEL * across if len(points) else 0.0)


def packed(header: dict[str, Any], arrays: dict[str, tuple[str, Column]]) -> bytes:
    """A graph file of these arrays."""
    listed = [{"name": name, "type": kind, "length": len(each)} for name, (kind, each) in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 4)
    parts = [len(text).to_bytes(4, "little"), text]
    for kind, each in arrays.values():
        data = np.ascontiguousarray(each.astype(TYPES[kind])).tobytes()
        parts.append(data + bytes(-len(data) % 4))
    return b"".join(parts)


def _figures(values: Sequence[float | None]) -> Column:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
