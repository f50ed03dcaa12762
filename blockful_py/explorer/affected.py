# SPDX-License-Identifier: Apache-2.0
"""Models that a request affects, with their figures before and after it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from blockful_py.explorer.before import claimed_before, stated_before
from blockful_py.explorer.lists import Document, models_at, place
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.kinds import EdgeKind, remedies
from blockful_py.record.request import Request
from blockful_py.types import HEADER_INDEX, Position

FIGURES = ("ad_f", "ad_r", "logit_auc")
LAST = 2**63 - 1
"""The largest integer of SQLite; no position exceeds it."""


def reached(connection: sqlite3.Connection, starts: list[int], height: int | None = None) -> dict[int, int]:
    """The start models and their descendants, each with its depth along the shortest path.

    `height` is the live chain's height up to which models count; None counts all.
    """
    end = LAST if height is None else Position(height, HEADER_INDEX).packed
    depth = dict.fromkeys(starts, 0)
    row = list(depth)
    while row:
        following = []
        for position in row:
            for (heir,) in connection.execute(
                "SELECT model FROM reference WHERE reference = ? AND model <= ?", (position, end)
            ):
                if heir not in depth:
                    depth[heir] = depth[position] + 1
                    following.append(heir)
        row = following
    return depth


def remedies_at(connection: sqlite3.Connection, depths: Mapping[int, int]) -> dict[int, str]:
    """The work that is left for each reached model, by position; empty if no model was made elsewhere.

    `depths`: of `reached`, whose starts have depth 0.
    """
    if connection.execute("SELECT 1 FROM reference WHERE kind IS NOT NULL LIMIT 1").fetchone() is None:
        return {}
    references: dict[str, tuple[str, ...]] = {}
    kinds: dict[str, set[EdgeKind]] = {}
    needed: dict[str, list[str]] = {}
    for model in depths:
        rows = connection.execute(
            "SELECT reference, kind, needed FROM reference WHERE model = ?", (model,)
        ).fetchall()
        references[str(model)] = tuple(str(row["reference"]) for row in rows)
        needed[str(model)] = [str(row["reference"]) for row in rows if row["needed"]]
        kinds[str(model)] = {EdgeKind(row["kind"] or EdgeKind.TRAIN) for row in rows}
    above = {each for listed in references.values() for each in listed} - references.keys()
    graph = InheritanceGraph.from_references({**dict.fromkeys(above, ()), **references})
    starts = [str(model) for model, depth in depths.items() if depth == 0]
    return {int(model): remedy.value for model, remedy in remedies(graph, kinds, starts, needed).items()}


def with_ancestors(connection: sqlite3.Connection, model: int) -> set[int]:
    """A model and all its ancestors."""
    found, row = {model}, [model]
    while row:
        above = {
            reference
            for each in row
            for (reference,) in connection.execute("SELECT reference FROM reference WHERE model = ?", (each,))
        }
        row = list(above - found)
        found |= above
    return found


def affected_models(
    connection: sqlite3.Connection,
    key: bytes,
    request: Request,
    height: int | None,
    audited: bool,
) -> list[Document]:
    """Every affected model, by depth: its replacement, and its figures before and after.

    `height` is as for `reached`.  Figures before come from the new version's node, and from the replaced
    version's.  Replaced versions are in the archive, so their figures are included only if `audited`.
    """
    depths = reached(connection, [start.place().packed for start in request.starts], height)
    known = {each["position"]: each for each in models_at(connection, depths)}
    rows = connection.execute("SELECT * FROM made WHERE request = ?", (key,))
    versions = {row["position"]: row for row in rows}
    record = claimed_before(connection, key, request) if audited else {}
    work = remedies_at(connection, depths)
    models = []
    for position, depth in sorted(depths.items(), key=lambda each: (each[1], each[0])):
        model, row = known[place(position)], versions.get(position)
        told = row is not None and (audited or row["version"] == model["version"])
        models.append(
            {
                **{name: model[name] for name in ("position", "name", "owner", "user")},
                "depth": depth,
                "remedy": work.get(position),
                "version": row["version"] if row else None,
                "time": row["time"] if row else None,
                "withdrawn": bool(row["withdrawn"]) if row and told else False,
                "after": {name: row[name] for name in FIGURES} if row and told else None,
                "at_chance": bool(row["at_chance"]) if row and told else False,
                "reserved": row is not None and not told,
                "is_loss": bool(row["is_loss"]) if row and told else False,
                "before": record.get(position) or (stated_before(row) if row and told else None),
            }
        )
    return models
