# SPDX-License-Identifier: Apache-2.0
"""What was signed or proved for one committee, chain or epoch is refused in every other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.crypto.eip712 import Domain, decision_digest, sign
from tests.contracts.refusal import refusal
from tests.contracts.sortition import ETHER, Candidate, Elections, commitment, rules
from tests.contracts.test_stakes import Standing, equivocation

ELSEWHERE: dict[str, Callable[[Domain], Domain]] = {
    "another chain": lambda domain: replace(domain, chain_id=domain.chain_id + 1),
    "another contract": lambda domain: replace(domain, contract=bytes(19) + b"\1"),
}
PROPOSAL, CONTENT = b"\1" * 32, b"\2" * 32


@pytest.fixture(params=ELSEWHERE)
def elsewhere(request: pytest.FixtureRequest) -> Callable[[Domain], Domain]:
    return ELSEWHERE[request.param]


def test_votes_and_evidence_of_another_place(
    standing: Standing, elsewhere: Callable[[Domain], Domain]
) -> None:
    elections, candidates = standing
    book = elections.contract
    panel, _ = elections.epoch(candidates, "first")
    there = elsewhere(elections.domain)
    votes = panel.certificate(there, 1, PROPOSAL, CONTENT, range(3))
    assert refusal(book, "report", votes)[:2] == ("InvalidVote", 0)
    assert refusal(book, "requireQuorum", votes)[:2] == ("InvalidVote", 0)
    here = Elections(book, elections.domain.chain_id)
    here.domain = there
    assert refusal(book, "slash", equivocation(here, panel, 0))[:2] == ("InvalidEvidence", 0)
    book.report(panel.certificate(elections.domain, 1, PROPOSAL, CONTENT, range(3)))


def test_votes_of_another_epoch(standing: Standing) -> None:
    """The same members in the next epoch: a vote says its epoch, and the epoch says which votes count."""
    elections, candidates = standing
    book = elections.contract
    panel, _ = elections.epoch(candidates[:4], "first")
    old = panel.certificate(elections.domain, 1, PROPOSAL, CONTENT, range(3))
    second, _ = elections.epoch(candidates[:4], "second")
    assert set(second.secrets) == set(panel.secrets)
    assert refusal(book, "report", old) == ("StaleEpoch", 1, 2)
    digest = decision_digest(elections.domain, 1, PROPOSAL, CONTENT)
    relabelled = (2, PROPOSAL, CONTENT, 0b111, b"".join(sign(each, digest) for each in second.secrets[:3]))
    assert refusal(book, "report", relabelled)[:2] == ("InvalidVote", 0)
    first, other = panel.secrets[0], 0
    votes = [sign(first, decision_digest(elections.domain, epoch, PROPOSAL, CONTENT)) for epoch in (1, 2)]
    evidence = (1, PROPOSAL, other, CONTENT, votes[0], bytes(32), votes[1])
    assert refusal(book, "slash", evidence)[0] == "InvalidEvidence"


def test_a_registration_of_another_place(
    elected_committee: Any, elsewhere: Callable[[Domain], Domain], fn_isolation: None
) -> None:
    from brownie import accounts, chain

    elections = Elections(elected_committee, chain.id)
    new = Candidate.seeded(accounts[6])
    voter, _, proof = elections.registration(new)
    there = new.consent(elsewhere(elections.domain))
    found = refusal(
        elected_committee, "register", voter, there, proof, sender=new.account.address, value=ETHER
    )
    assert found[0] == "InvalidConsent"


def test_a_proof_of_possession_of_another_committee(elected_committee: Any, fn_isolation: None) -> None:
    from brownie import Committee, accounts, chain

    other = accounts[0].deploy(Committee, elected_committee.vrf(), rules())
    elections, new = Elections(elected_committee, chain.id), Candidate.seeded(accounts[6])
    voter, consent, _ = elections.registration(new)
    there = new.proof(other.possessionAlpha(new.account))
    found = refusal(
        elected_committee, "register", voter, consent, there, sender=new.account.address, value=ETHER
    )
    assert found[0] == "Error"


def test_a_commitment_of_another_place_opens_nothing(
    standing: Standing, elsewhere: Callable[[Domain], Domain]
) -> None:
    elections, candidates = standing
    book, one = elections.contract, candidates[0]
    book.openElection()
    there = commitment(elsewhere(elections.domain), 1, one.account.address, one.secret)
    book.commit(there, {"from": one.account})
    elections.commit(candidates[1:])
    elections.expire()
    assert refusal(book, "reveal", one.secret, sender=one.account.address)[0] == "WrongSecret"


def void(elections: Elections, candidates: list[Candidate]) -> int:
    """An election without a key, in which nobody can be blamed; its VRF input."""
    elections.elect(candidates)
    alpha = elections.contract.alpha()
    elections.expire()
    elections.expire()
    return int(alpha)


def test_a_commitment_of_another_draw_opens_nothing(standing: Standing) -> None:
    elections, candidates = standing
    book, one = elections.contract, candidates[0]
    void(elections, candidates)
    book.openElection()
    old = commitment(elections.domain, 1, one.account.address, one.secret)
    book.commit(old, {"from": one.account})
    elections.commit(candidates[1:])
    elections.expire()
    assert refusal(book, "reveal", one.secret, sender=one.account.address)[0] == "WrongSecret"


def test_a_proof_of_another_draw_or_candidate(standing: Standing) -> None:
    elections, candidates = standing
    book, one, other = elections.contract, *candidates[:2]
    alpha = void(elections, candidates)
    elections.open(candidates)
    elections.reveal(candidates)
    book.proceed()
    assert book.alpha() != alpha
    found = refusal(book, "prove", one.proof(alpha), sender=one.account.address)
    assert found == ("Error", "Second mul check failed")
    theirs = one.proof(book.alpha())
    assert refusal(book, "prove", theirs, sender=other.account.address)[0] == "WrongVrfKey"
