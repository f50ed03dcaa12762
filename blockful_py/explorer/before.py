# SPDX-License-Identifier: Apache-2.0
"""Figures before a request, from the report of a run on this machine or from claims in the record."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.explorer.lists import Document
from blockful_py.record.model_node import Request
from blockful_py.report.schema import Report

REPORT = "report.json"
MAX_REPORT_BYTES = 32 * 2**20


def measured_before(run: Path, request: Request) -> Mapping[str | None, Document]:
    """AD_f and AD_r by model, in [0, 1], from the report of this request; empty without a report.

    A run's report lies in its directory, or beside it if the demo made several runs.
    """
    for path in (run / REPORT, run.resolve().parent / REPORT):
        report = _report(path)
        if report is not None and _is_of(report, request):
            return {
                each.name: _figures("report", _share(each.before.ad_f), _share(each.before.ad_r), None)
                for each in report.models
            }
    return {}


def claimed_before(
    connection: sqlite3.Connection, key: bytes, request: Request, only: int | None = None
) -> Mapping[int, Document]:
    """Figures claimed by the nodes of the versions that a request replaced, by position.

    AD_f only if that version resulted from a request to forget the same; AD_r if it resulted from any request
    or was measured for this one; the accuracy that its owner signed.  `only` restricts the result to one
    position.
    """
    rows = connection.execute(
        "SELECT old.position, old.accuracy, old.ad_f, coalesce(new.ad_r_before, old.ad_r), request.document"
        " FROM version AS new"
        " JOIN version AS old ON old.position = new.position AND old.version = new.version - 1"
        " LEFT JOIN request ON request.key = old.request WHERE new.request = ?"
        " AND new.position = coalesce(?, new.position)",
        (key, only),
    )
    found = {}
    for position, accuracy, ad_f, ad_r, document in rows:
        same = document is not None and Request.model_validate_json(document).forget == request.forget
        found[position] = _figures("record", ad_f if same else None, ad_r, accuracy)
    return found


def stated_before(row: sqlite3.Row) -> Document | None:
    """Claim about the replaced version in the new version's node, which everybody may read."""
    return None if row["ad_r_before"] is None else _figures("record", None, row["ad_r_before"], None)


def _figures(source: str, ad_f: float | None, ad_r: float | None, accuracy: float | None) -> Document:
    return {"source": source, "ad_f": ad_f, "ad_r": ad_r, "accuracy": accuracy}


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _report(path: Path) -> Report | None:
    try:
        if path.stat().st_size > MAX_REPORT_BYTES:
            return None
        return Report.from_bytes(path.read_bytes())
    except (OSError, RunError):
        return None


def _is_of(report: Report, request: Request) -> bool:
    """Whether the report is about this request."""
    asked = report.forget
    forgotten = (asked.classes, asked.clients, asked.samples)
    starts = {start.name for start in request.starts}
    return forgotten == (request.classes, request.clients, request.samples) and set(asked.starts) == starts
