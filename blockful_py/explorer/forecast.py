# SPDX-License-Identifier: Apache-2.0
"""Forecasts the reach and cost of a request, from the paper's cost model and this federation's history.

Gas of a transaction is fitted by least squares over past transactions:

    live chain     gas = a + b * chameleon hashes redacted, of models and headers
    archive chain  gas = c + d * records

If all of them have the same size, a or c is the base cost of an Ethereum transaction.  Before the first
redaction, the benchmark gives a, b, c and d.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockful_py import costs
from blockful_py.explorer.affected import reached, remedies_at
from blockful_py.explorer.durations import (
    Duration,
    by_method,
    durations,
    expected_seconds,
    forecast_before,
)
from blockful_py.explorer.lists import Document, models_at, place
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.kinds import Remedy
from blockful_py.types import Paradigm, Position

BASE = 21_000
"""Gas of any transaction of Ethereum (yellow paper, G_transaction)."""
LISTED = 500
"""Maximum number of affected models listed by name."""

_LIVE = (
    "SELECT gas, count(*) + count(DISTINCT position >> 32) AS hashes FROM made"
    " WHERE version > 0 AND gas > 0 AND tick < ? GROUP BY tick"
)
_ARCHIVE = (
    "SELECT sent.gas, count(*) AS records FROM record JOIN sent ON sent.chain = 'archive'"
    " AND sent.hash = record.sent WHERE sent.gas > 0 AND record.number < ? GROUP BY record.sent"
)
ALL = 2**62


@dataclass(frozen=True, slots=True)
class GasFit:
    """Fitted gas, and the numbers of transactions on each chain behind the fit."""

    gas: costs.RedactionGas
    redactions: int
    records: int


def fit_gas(
    connection: sqlite3.Connection, before_tick: int = ALL, before_record: int = ALL
) -> GasFit | None:
    """The fit over transactions before a tick and a record; None before the first redaction."""
    live = [tuple(row) for row in connection.execute(_LIVE, (before_tick,))]
    archive = [tuple(row) for row in connection.execute(_ARCHIVE, (before_record,))]
    if not live or not archive:
        return None
    return GasFit(costs.RedactionGas(*_line(live), *_line(archive)), len(live), len(archive))


def _line(samples: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Intercept and slope of gas over size; `samples` has gas and size of each transaction."""
    gas, size = np.array(samples, dtype=float).T
    if len(set(size.tolist())) > 1:
        slope, intercept = np.polyfit(size, gas, 1)
        if intercept >= BASE and slope > 0:
            return float(intercept), float(slope)
    return float(BASE), float(np.mean((gas - BASE) / size))


def forecast(
    connection: sqlite3.Connection,
    starts: Sequence[Position],
    chunk: int,
    blocks: int,
    jobs: Mapping[bytes, float],
) -> Document:
    """Reach of a request that starts at these models, and its cost by paradigm.

    `chunk` is the number of models that one transaction replaces, `blocks` an owner's time for one part among
    machines; `jobs` has the seconds of requests in this machine's runs.
    """
    depths = reached(connection, [each.packed for each in starts])
    references = _references(connection, depths)
    graph = InheritanceGraph.from_references(
        {name: [each for each in listed if each in references] for name, listed in references.items()}
    )
    depth = graph.depth([str(each) for each in starts])
    longest = max((each.longest for each in depth.values()), default=0)
    order = [str(each) for each in starts]
    chosen = set(order)
    order += [name for name in graph.topological_order() if name in depth and name not in chosen]
    work = remedies_at(connection, depths)
    if work:  # adopted models are withdrawn together, and once
        depths = _standing(connection, depths)
    affected = models_at(connection, list(depths)[:LISTED])
    headers = len({packed >> 32 for packed in depths})
    operations = {
        Paradigm.PARALLEL: costs.expected_parallel(len(depths), headers) if depths else costs.Operations()
    }
    if not work:
        mean = costs.mean_references(references, order)
        operations[Paradigm.SEQUENTIAL] = costs.expected_sequential(len(depths), mean)
    fit, took = fit_gas(connection), durations(connection, jobs)
    among_machines = connection.execute("SELECT 1 FROM participant LIMIT 1").fetchone() is not None
    parts = {Paradigm.PARALLEL: 1, Paradigm.SEQUENTIAL: 1 + longest} if among_machines else {}
    return {
        "starts": models_at(connection, [each.packed for each in starts]),
        "affected": len(depths),
        "blocks": headers,
        "depth": max((each.shortest for each in depth.values()), default=0),
        "longest": longest,
        "trainings": sum(work[each] == Remedy.MADE_AGAIN for each in depths) if work else None,
        "models": [
            {**each, "depth": depths[(packed := _packed(each["position"]))], "remedy": work.get(packed)}
            for each in affected
        ],
        "paradigms": [
            {
                **_paradigm(paradigm, each, fit, (len(depths), headers, chunk), took),
                "deadline": blocks * parts[paradigm] if paradigm in parts else None,
            }
            for paradigm, each in operations.items()
        ],
        "history": None if fit is None else {"redactions": fit.redactions, "records": fit.records},
        "past": past(connection, chunk, took),
    }


def _paradigm(
    paradigm: Paradigm,
    operations: costs.Operations,
    fit: GasFit | None,
    size: tuple[int, int, int],
    took: Sequence[Duration],
) -> Document:
    gas = costs.MEASURED_GAS if fit is None else fit.gas
    times = [
        {"method": method, "seconds": expected_seconds(history, size[0]), "requests": len(history)}
        for method, history in by_method(took, paradigm).items()
    ]
    return {
        "paradigm": paradigm.value,
        "chameleon_hashes": operations.chameleon_hashes,
        "consensus": operations.consensus,
        "uploads": operations.uploads,
        "downloads": operations.downloads,
        "gas": gas.of(paradigm, *size),
        "times": times,
    }


def past(connection: sqlite3.Connection, chunk: int, took: Sequence[Duration]) -> list[Document]:
    """Completed requests: actual gas and seconds, and their forecasts from earlier data."""
    rows = connection.execute(
        "SELECT key, paradigm, count(*) AS models, min(tick) AS tick, count(DISTINCT proposal) AS decisions,"
        " count(DISTINCT position >> 32) AS headers FROM made JOIN request ON key = made.request"
        " GROUP BY key ORDER BY min(tick)"
    ).fetchall()
    return [_compared(connection, row, chunk, took) for row in rows]


def _compared(
    connection: sqlite3.Connection, row: sqlite3.Row, chunk: int, took: Sequence[Duration]
) -> Document:
    gas, first = connection.execute(
        "WITH own AS (SELECT DISTINCT proposal FROM made WHERE request = ?)"
        " SELECT (SELECT sum(gas) FROM sent WHERE proposal IN own),"
        " (SELECT min(number) FROM record JOIN sent ON sent.chain = 'archive' AND sent.hash = record.sent"
        " WHERE sent.proposal IN own)",
        (row["key"],),
    ).fetchone()
    fit = fit_gas(connection, row["tick"], ALL if first is None else first)
    models = row["models"]
    how = Paradigm.SEQUENTIAL if row["decisions"] > 1 else Paradigm.PARALLEL
    expected, seconds = forecast_before(took, row["key"])
    return {
        "key": "0x" + row["key"].hex(),
        "paradigm": row["paradigm"],
        "models": models,
        "gas": gas,
        "forecast": None if fit is None else fit.gas.of(how, models, row["headers"], chunk),
        "seconds": seconds,
        "forecast_seconds": expected,
    }


def _standing(connection: sqlite3.Connection, depths: Mapping[int, int]) -> dict[int, int]:
    """The models whose newest version was not withdrawn."""
    rows = connection.execute(
        "SELECT model.position FROM model JOIN version AS last ON last.position = model.position"
        " AND last.version = model.version WHERE last.withdrawn"
    )
    gone = {row[0] for row in rows}
    return {position: depth for position, depth in depths.items() if position not in gone}


def _references(connection: sqlite3.Connection, depths: dict[int, int]) -> dict[str, tuple[str, ...]]:
    """References of the affected models, by position; unaffected references map to an empty list."""
    found: dict[str, tuple[str, ...]] = {}
    outside: set[int] = set()
    for packed in sorted(depths):
        rows: list[Any] = connection.execute(
            "SELECT reference FROM reference WHERE model = ?", (packed,)
        ).fetchall()
        found[place(packed)] = tuple(place(row[0]) for row in rows)
        outside |= {row[0] for row in rows} - depths.keys()
    return found | {place(packed): () for packed in sorted(outside)}


def _packed(text: str) -> int:
    height, index = text.split(":")
    return Position(int(height), int(index)).packed
