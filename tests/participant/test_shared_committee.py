# SPDX-License-Identifier: Apache-2.0
"""Shares of sums follow an elected committee of processes, whose newcomer carries out a request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blockful_py.committee.service.folder import keys_in
from blockful_py.committee.vault import Vault
from blockful_py.forget import Forget
from blockful_py.pipeline.coordination.rotation import skipping
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_stage import RequestStage
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Paradigm
from tests.member.leaders import until
from tests.member.processes import WORDS, MemberProcess
from tests.participant.conftest import Machines

pytestmark = pytest.mark.slow

LEARNING = {"epochs": 20, "root_factor": 3, "model": "analytic", "options": {"features": 8}}
UNLEARNING = {"parallel": "auto", "sequential": "auto", "blocks": 100_000}
EPOCH_SECONDS = 86_400


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"learning": {**LEARNING, "shares_sums": True}, "unlearning": UNLEARNING}


@pytest.fixture(scope="module")
def candidates() -> int:
    return 5


def seated(machines: Machines) -> list[MemberProcess]:
    committee = machines.contracts.elected
    members = committee.roster(committee.current_epoch())[0].members
    return [each for each in machines.members if each.address in members]


def settled(folder: Path) -> int:
    """Files of shares that were handed on to a member, whose old ones are destroyed."""
    return len([*(folder / "handed").rglob("*.settled")])


def keeps(member: MemberProcess, files: set[bytes]) -> bool:
    """Whether a member has the key of a file of shares."""
    vault = Vault(member.folder / "vault", keys_in(member.folder, WORDS).voting_secret)
    return not files.isdisjoint(vault.versions())


def test_a_newcomer_carries_out_a_request_with_shares_that_were_handed_on(machines: Machines) -> None:
    with machines.participants["a"].run() as party:
        party.train_next()
    node = machines.contracts.elected.node
    first = seated(machines)
    (newcomer,) = (each for each in machines.members if each not in first)
    gone = first[0]
    with machines.participants["a"].run() as party:
        part = party.federation.catalogue()["a"].node.shared
        assert part is not None
        files = {parse_cid(each).digest for each in part.files}
        assert keeps(gone, files) and not keeps(newcomer, files)
        with gone.dead():
            node.rpc.call("evm_increaseTime", EPOCH_SECONDS)
            node.rpc.call("evm_mine")
            party.federation.epochs.rotate(skipping(machines.contracts.elected, len(machines.members) - 1))
            assert {each.address for each in seated(machines)} == {
                each.address for each in machines.members if each is not gone
            }
            until(lambda: all(settled(each.folder) == len(part.classes) for each in seated(machines)))
            assert keeps(gone, files)
    until(lambda: not keeps(gone, files))
    with machines.participants["s"].run() as party:
        party.train_next()
    with machines.participants["a"].run() as party:
        number = party.request(("a",), Forget.of_classes([3]), Paradigm.PARALLEL, None)
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)
        certificate = party.certificate(number)
        assert {each.name for each in certificate.statement.replaced} == {"a", "s"}
        assert party.federation.verify().passed
    check_certificate(certificate)
