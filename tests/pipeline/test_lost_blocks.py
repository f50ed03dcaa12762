# SPDX-License-Identifier: Apache-2.0
"""Refusals leave no traces, and losses are noticed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockful_py.errors import QuorumError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import redaction
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.statement_parts import Claimed
from tests.federations import small, trained, transactions
from tests.record.slots import COUNTS, ONE_BLOCK, Slots


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with trained(small(), tmp_path_factory.mktemp("lost") / "run", chains) as found:
        yield found


def test_a_refused_update_leaves_nothing_in_the_stores(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = transactions(federation)
    kept, wrong = held(federation.run), Claimed(ad_f=0.0, ad_r=1.0)
    monkeypatch.setattr(redaction, "measure", lambda _, models, *__: dict.fromkeys(models, wrong))
    with pytest.raises(QuorumError, match="claims"):
        federation.unlearn()
    assert held(federation.run) == kept
    assert transactions(federation) == before


def test_blocks_that_the_live_chain_lost_are_named(federation: Federation) -> None:
    assert federation.audit().passed
    slots, height = Slots(federation.contracts.live), federation.contracts.live.height()
    slot = slots.read(COUNTS)
    slots.write(COUNTS, slot - ONE_BLOCK)
    try:
        problems = federation.audit().problems
    finally:
        slots.write(COUNTS, slot)
    assert problems
    assert all(f"the model at {height}:" in problem for problem in problems)


def held(run: RunDirectory) -> set[tuple[str, int]]:
    """Names of all files, and the total size of vaults, whose restored keys are in a new generation."""
    files = {path for path in run.path.rglob("*") if path.is_file() and run.vaults not in path.parents}
    vaults = {(path.parent.name, path.stat().st_size) for path in run.vaults.glob("*/keys-*")}
    return {(path.name, 0) for path in files} | vaults
