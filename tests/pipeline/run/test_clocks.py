# SPDX-License-Identifier: Apache-2.0
"""The record's times never go back, even if the leaders' clocks do."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.clock import WallClock
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import small


class Backwards:
    """A clock that goes back a minute at each reading, as if each leader's clock were behind the previous
    one."""

    def __init__(self) -> None:
        self._now = int(time.time())

    def now(self) -> int:
        self._now -= 60
        return self._now

    def wait_until(self, moment: float) -> None:
        pass


def test_leaders_whose_clocks_are_behind_publish_and_redact(chains: Nodes, tmp_path: Path) -> None:
    with Federation.create(small(), tmp_path / "run", nodes=chains) as federation:
        federation._context = replace(federation.context, clock=Backwards())
        federation.train()
        federation.unlearn()
        assert federation.verify().passed
        assert federation.audit().passed
        assert federation.contracts.live.height() > 1
        archive = federation.contracts.archive
        times = [stored.timestamp for stored in archive.records(0, archive.length())]
        assert times == sorted(times)


def test_a_machine_whose_clock_is_behind_records_the_time_of_the_chains(
    chains: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = (chains.live, chains.archive)
    clock, newest = WallClock(nodes), min(node.timestamp() for node in nodes)
    monkeypatch.setattr(time, "time", lambda: newest - 3600.0)
    assert clock.now() == newest
    monkeypatch.setattr(time, "time", lambda: newest + 60.0)
    assert clock.now() == newest + 60
    clock.wait_until(newest)
