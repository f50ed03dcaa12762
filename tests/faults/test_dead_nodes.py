# SPDX-License-Identifier: Apache-2.0
"""A node that dies during a job: one error that names the cause, and a run that can be resumed."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from blockful_py.chain.calls import Call
from blockful_py.errors import NodeError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from tests.cli.commands import nodes_of
from tests.faults.fuse import FusedLive, Sent, fused
from tests.federations import AFFECTED, GRAPH, promised, small, versions

pytestmark = pytest.mark.slow


class Murderous(FusedLive):
    """Kills its node before it sends."""

    victim: int

    def send_each(self, calls: Sequence[Call]) -> Sent:
        os.kill(self.victim, signal.SIGKILL)
        return super().send_each(calls)


def test_a_node_killed_between_archive_and_live(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with Federation.create(small(), directory) as federation:
        federation.train()
    run = RunDirectory.open(directory)
    with Nodes(run.place) as nodes:
        federation = fused(directory, nodes)
        live = federation.contracts.live
        (victim,) = nodes_of(run.place.databases / "live")
        live.__class__ = Murderous
        live.victim = victim
        with pytest.raises(NodeError, match="the development node was ended by SIGKILL") as error:
            federation.unlearn()
        assert f"no node answers at {nodes.live.url}" in str(error.value)
    assert nodes_of(directory) == []
    with Federation.open(directory) as resumed:
        assert versions(resumed) == dict.fromkeys(GRAPH, 0) | dict.fromkeys(AFFECTED, 1)
        assert resumed.contracts.archive.length() == len(GRAPH) + len(AFFECTED)
        assert resumed.unlearn().nodes.keys() == set(AFFECTED)
        assert versions(resumed) == dict.fromkeys(GRAPH, 0) | dict.fromkeys(AFFECTED, 1)
        assert resumed.verify().passed
        assert resumed.audit().passed
        promised(resumed.contracts)
    assert nodes_of(directory) == []
