# SPDX-License-Identifier: Apache-2.0
"""Durations of past requests, and duration forecasts for requests with the same method."""

from __future__ import annotations

import sqlite3
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duration:
    """A completed request: its key, paradigm, method, number of models, and duration."""

    key: bytes
    paradigm: str
    method: str
    models: int
    seconds: float


def durations(connection: sqlite3.Connection, jobs: Mapping[bytes, float]) -> list[Duration]:
    """Durations of past requests, in the order of their execution.

    A duration runs from the filing to the last model, by the live chain's node; for a request that was not
    filed, it is the job's.
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
    """Past requests of a paradigm, by method name."""
    found: dict[str, list[Duration]] = {}
    for each in sorted(past, key=lambda one: one.method):
        if each.paradigm == paradigm:
            found.setdefault(each.method, []).append(each)
    return found


def expected_seconds(past: Sequence[Duration], models: int) -> float:
    """Forecast for `models` models: the median of past requests' seconds per model."""
    return statistics.median(each.seconds / each.models for each in past) * models


def forecast_before(past: Sequence[Duration], key: bytes) -> tuple[float | None, float | None]:
    """Forecast seconds of a request, from earlier requests with its method, and its actual seconds."""
    for at, each in enumerate(past):
        if each.key == key:
            before = by_method(past[:at], each.paradigm).get(each.method)
            return (expected_seconds(before, each.models) if before else None), each.seconds
    return None, None
