# SPDX-License-Identifier: Apache-2.0
"""Seconds that past requests took, and those that a request is forecast to take by the same method."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duration:
    """A request that was carried out: its key, how, how many models, and how long it took."""

    key: bytes
    paradigm: str
    method: str
    models: int
    seconds: float


def durations(connection: sqlite3.Connection, jobs: Mapping[bytes, float]) -> list[Duration]:
    """Those of past requests, in the order in which they were carried out.

    From its filing to its last model, by the live chain's node; of one that was not filed, those of its job.
    """
    rows = connection.execute(
        "SELECT key, paradigm, request.method, count(*) AS models, max(made.time) AS last,"
        " filed.time AS filed FROM made JOIN request ON key = made.request"
        " LEFT JOIN filing ON filing.request = key"
        " LEFT JOIN sent AS filed ON filed.chain = 'live' AND filed.hash = filing.sent"
        " GROUP BY key ORDER BY min(made.tick)"
    )
    found = []
    for row in rows:
        filed, last = row["filed"], row["last"]
        took = jobs.get(row["key"]) if filed is None or last is None else float(last - filed)
        if took:
            method = row["method"].partition(" ")[0]
            found.append(Duration(row["key"], row["paradigm"], method, row["models"], took))
    return found


def by_method(past: Sequence[Duration], paradigm: str) -> dict[str, list[Duration]]:
    """Past requests of a paradigm, by their method's name."""
    found: dict[str, list[Duration]] = {}
    for each in sorted(past, key=lambda one: one.method):
        if each.paradigm == paradigm:
            found.setdefault(each.method, []).append(each)
    return found


def expected_seconds(past: Sequence[Duration], models: int) -> float:
    """The median of the seconds a model of past requests, for `models`."""
    return statistics.median(each.seconds / each.models for each in past) * models


def forecast_before(past: Sequence[Duration], key: bytes) -> tuple[float | None, float | None]:
    """Seconds of a request: those forecast from requests before it by its method, and those it took."""
    for at, each in enumerate(past):
        if each.key == key:
            before = by_method(past[:at], each.paradigm).get(each.method)
            return (expected_seconds(before, each.models) if before else None), each.seconds
    return None, None
