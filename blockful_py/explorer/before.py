# SPDX-License-Identifier: Apache-2.0
"""AD_f and AD_r before a request: no chain has them, the report of a run on this machine may."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.record.model_node import Request
from blockful_py.report.schema import Report

REPORT = "report.json"
MAX_REPORT_BYTES = 32 * 2**20


def measured_before(run: Path, request: Request) -> Mapping[str, tuple[float | None, float | None]]:
    """AD_f and AD_r by model, in [0, 1], of the report of this request; empty without one.

    A run's report lies in its directory, or beside it where the demo made several runs.
    """
    for path in (run / REPORT, run.resolve().parent / REPORT):
        report = _report(path)
        if report is not None and _is_of(report, request):
            return {each.name: (_share(each.before.ad_f), _share(each.before.ad_r)) for each in report.models}
    return {}


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
    """Whether the request asks for what the report is about."""
    asked = report.forget
    forgotten = (asked.classes, asked.clients, asked.samples)
    starts = {start.name for start in request.starts}
    return forgotten == (request.classes, request.clients, request.samples) and set(asked.starts) == starts
