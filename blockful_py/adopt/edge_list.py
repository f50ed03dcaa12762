# SPDX-License-Identifier: Apache-2.0
"""Reads a plain table of edges: a CSV file with a row for each model and parent."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from blockful_py.adopt.cards import HUGE
from blockful_py.adopt.found import Found, FoundModel, datasets_of, edges_of, require_short
from blockful_py.errors import FormatError
from blockful_py.graph.kinds import EdgeKind

COLUMNS = ("model", "parent", "kind", "weight", "datasets")
MAX_LIST_BYTES = 1 << 30
MAX_ROWS = 5_000_000
MAX_FIELD = 1 << 17

Parents = list[tuple[str, EdgeKind, float | None]]


def read_list(path: Path) -> Found:
    """The models of a list; only the column `model` is needed.

    A model without parents has one row without a parent; `datasets` are separated by semicolons and added up
    over a model's rows.  Raises FormatError for a file that is no such list; a bad row refuses its model.
    """
    parents: dict[str, Parents] = {}
    datasets: dict[str, set[str]] = {}
    refused: dict[str, str] = {}
    for line, row in _rows(path):
        source = (row.get("model") or "").strip()
        try:
            source = require_short(source, "model")
            parents.setdefault(source, [])
            datasets.setdefault(source, set())
            if (row.get("parent") or "").strip():
                parents[source].append(_parent(row))
            datasets[source].update(filter(None, map(str.strip, (row.get("datasets") or "").split(";"))))
        except FormatError as error:
            refused.setdefault(source or f"line {line}", f"line {line}: {error}")
    models = []
    for source in parents.keys() - refused.keys():
        try:
            edges, names = edges_of(parents[source]), datasets_of(datasets[source])
            models.append(FoundModel(source, edges, names))
        except FormatError as error:
            refused[source] = str(error)
    return Found(tuple(sorted(models, key=lambda model: model.source)), refused)


def _parent(row: dict[str, str | None]) -> tuple[str, EdgeKind, float | None]:
    kind = (row.get("kind") or EdgeKind.FINE_TUNE).strip()
    if kind not in set(EdgeKind):
        raise FormatError(f"kind {kind[:40]!r} is none of {', '.join(EdgeKind)}.")
    weight, number = (row.get("weight") or "").strip(), None
    if weight:
        try:
            number = float(weight)
        except ValueError:
            raise FormatError(f"weight {weight[:40]!r} is no number.") from None
        if not abs(number) < HUGE:
            raise FormatError(f"weight {weight[:40]!r} is not finite.")
    return require_short(row["parent"] or "", "parent"), EdgeKind(kind), number


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    """Rows with their lines.  Raises FormatError."""
    csv.field_size_limit(MAX_FIELD)
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            raise FormatError(f"{path} has more than {MAX_LIST_BYTES} bytes: divide it.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            unknown = set(reader.fieldnames or ()) - set(COLUMNS)
            if "model" not in (reader.fieldnames or ()) or unknown:
                raise FormatError(
                    f"{path} has columns {', '.join(map(str, reader.fieldnames or ()))[:200] or 'none'}: a "
                    f"list of edges has {', '.join(COLUMNS)}, of which model is needed."
                )
            for number, row in enumerate(reader):
                if number >= MAX_ROWS:
                    raise FormatError(f"{path} has more than {MAX_ROWS} rows: divide it.")
                if None in row:
                    raise FormatError(f"{path}, line {reader.line_num}: it has more fields than columns.")
                yield reader.line_num, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FormatError(f"{path} cannot be read as CSV in UTF-8 ({str(error)[:120]}).") from None
