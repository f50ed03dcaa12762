# SPDX-License-Identifier: Apache-2.0
"""Clocks of development chains are set forward when nobody is waited for, and of other chains never."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.sortition import ElectionState, Phase
from blockful_py.pipeline.coordination.rotation import skipping
from blockful_py.pipeline.run.clock import skip_to
from blockful_py.pipeline.run.nodes import Nodes

AHEAD = 1_000


@pytest.mark.parametrize(("chain_id", "is_set"), [(1337, True), (626202, False)])
def test_only_development_chains_are_set_forward(chain_id: int, is_set: bool) -> None:
    with Devnet(NodeOptions(chain_id, kind="anvil")) as devnet:
        before = devnet.node.timestamp()
        assert skip_to(devnet.node, before + AHEAD) is is_set
        assert (devnet.node.timestamp() >= before + AHEAD) is is_set


@pytest.mark.parametrize(
    ("phase", "committed", "revealed", "proven", "ends"),
    [
        (Phase.COMMIT, 4, 0, 0, True),
        (Phase.COMMIT, 3, 0, 0, False),
        (Phase.REVEAL, 4, 4, 0, True),
        (Phase.REVEAL, 4, 3, 0, False),
        (Phase.PROVE, 4, 4, 4, True),
        (Phase.PROVE, 4, 4, 3, False),
        (Phase.CONFIRM, 4, 4, 4, False),
        (Phase.IDLE, 0, 0, 0, False),
    ],
)
def test_a_phase_ends_once_all_have_acted(
    chains: Nodes,
    phase: Phase,
    committed: int,
    revealed: int,
    proven: int,
    ends: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[ElectionState] = []
    monkeypatch.setattr("blockful_py.pipeline.coordination.rotation.a_second", waited.append)

    class Committee:
        """An elected committee on the live chain."""

        node = chains.live

    committee: Any = Committee()
    deadline = chains.live.timestamp() + AHEAD
    election = ElectionState(phase, 1, 1, 1, deadline, committed, revealed, proven, bytes(32), bytes(32))
    skipping(committee, 4)(election)
    assert (chains.live.timestamp() >= deadline) is ends
    assert bool(waited) is not ends
