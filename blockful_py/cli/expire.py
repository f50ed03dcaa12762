# SPDX-License-Identifier: Apache-2.0
"""Destroys auditors' keys after the retention time (`blockful expire`)."""

from __future__ import annotations

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Run, located_run


def expire(run: Run, as_json: AsJson = False) -> None:
    """Destroy the auditors' keys of versions that were replaced more than archive.retention_days ago.

    Example: blockful expire --run runs/mine
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    with Federation.open(run) as federation:
        expired = federation.expire()
    out.result(
        {
            "expired": [
                {"model": each.name, "position": str(each.position), "version": each.version}
                for each in expired
            ]
        }
    )
    out.say(f"the auditors' keys of {len(expired)} replaced version(s) were destroyed here")
