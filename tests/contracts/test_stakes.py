# SPDX-License-Identifier: Apache-2.0
"""Registration, stake and rewards: who may, what is bound, and what attackers of the payments get."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import creation_refusal, refusal
from tests.contracts.scene import Panel
from tests.contracts.sortition import ETHER, Candidate, Elections, rules

Standing = tuple[Elections, list[Candidate]]


def solvent(book: Any) -> bool:
    return bool(book.balance() == book.totalStake() + book.totalRewards() + book.burnt())


def test_a_registration_binds_account_voter_and_key(standing: Standing) -> None:
    from brownie import accounts

    elections, candidates = standing
    book = elections.contract
    for each in candidates:
        found = book.candidate(each.account)
        assert (found[0], found[6], found[7], found[8]) == (each.voter, 2 * ETHER, 0, 0)
        assert book.registrantOf(each.voter) == each.account
        assert elections.trust(each) == 500_000
    assert book.totalStake() == 10 * ETHER
    assert solvent(book)
    assert book.candidate(accounts[9])[0] == "0x" + "00" * 20


def test_what_registration_refuses(standing: Standing) -> None:
    from brownie import accounts

    elections, candidates = standing
    book, new = elections.contract, Candidate.seeded(accounts[8])
    voter, consent, proof = elections.registration(new)

    def found(*arguments: Any, sender: Any = new.account, value: int = ETHER) -> tuple[Any, ...]:
        return refusal(book, "register", *arguments, sender=sender.address, value=value)

    assert found(voter, consent, proof, value=ETHER - 1) == ("StakeTooLow", ETHER - 1, ETHER)
    theirs = candidates[0]
    assert found(theirs.voter, consent, proof)[0] == "AlreadyRegistered"
    assert found(voter, consent, theirs.proof(1))[0] == "AlreadyRegistered"
    assert found(voter, consent, proof, sender=theirs.account)[0] == "AlreadyRegistered"
    stolen = found(voter, consent, proof, sender=accounts[9])
    assert (stolen[0], stolen[2]) == ("InvalidConsent", voter)
    assert found(voter, consent + b"\0", proof)[:2] == ("InvalidConsent", "0x" + "00" * 20)
    assert found("0x" + "00" * 20, bytes(64), proof)[0] == "InvalidConsent"
    elsewhere = new.proof(book.possessionAlpha(accounts[9]))
    assert found(voter, consent, elsewhere)[0] == "Error"


def test_stake_comes_back_after_the_delay(standing: Standing) -> None:
    elections, candidates = standing
    book, one = elections.contract, candidates[0]
    assert refusal(book, "withdraw", sender=one.account.address) == ("NotUnbonding", one.account.address)
    book.unbond({"from": one.account})
    assert refusal(book, "unbond", sender=one.account.address) == ("IsUnbonding", one.account.address)
    assert refusal(book, "withdraw", sender=one.account.address)[0] == "TooEarly"
    elections.wait(10_000)
    before = one.account.balance()
    done = book.withdraw({"from": one.account})
    assert one.account.balance() == before + 2 * ETHER - done.gas_used * done.gas_price
    assert refusal(book, "withdraw", sender=one.account.address) == ("NothingToPay", one.account.address)
    assert refusal(book, "deposit", sender=one.account.address, value=1) == ("StakeTooLow", 1, ETHER)
    book.deposit({"from": one.account, "value": ETHER})
    assert book.candidate(one.account)[1] == 0
    assert solvent(book)


def test_who_serves_keeps_its_stake_in(standing: Standing) -> None:
    elections, candidates = standing
    book = elections.contract
    _, members = elections.epoch(candidates, "first")
    leaving = members[0]
    book.unbond({"from": leaving.account})
    elections.wait(10_000)
    assert refusal(book, "withdraw", sender=leaving.account.address) == ("Engaged", leaving.account.address)
    elections.epoch([each for each in candidates if each is not leaving], "second")
    assert refusal(book, "withdraw", sender=leaving.account.address)[0] == "TooEarly"
    elections.wait(10_000)
    book.withdraw({"from": leaving.account})
    assert solvent(book)


def test_an_unknown_account(standing: Standing) -> None:
    from brownie import accounts

    book, stranger = standing[0].contract, accounts[9].address
    for method in ("deposit", "unbond", "withdraw"):
        assert refusal(book, method, sender=stranger) == ("UnknownCandidate", stranger)
    assert refusal(book, "claim", sender=stranger) == ("NothingToPay", stranger)


def test_forced_ether_belongs_to_nobody(standing: Standing, attackers: Any) -> None:
    from brownie import accounts

    book = standing[0].contract
    code = attackers["Forcer"]["bytecode"] + book.address[2:].rjust(64, "0")
    accounts[0].transfer(data=code, amount=ETHER, silent=True)
    assert book.balance() == book.totalStake() + ETHER
    assert book.totalStake() == 10 * ETHER


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("minStake is zero", {"minStake": 0}),
        ("forfeit above minStake", {"forfeit": 2 * ETHER}),
        ("minTrust excludes newcomers", {"minTrust": 500_001}),
        ("minimum out of range", {"minimum": 5}),
        ("minimum out of range", {"minimum": 0}),
        ("more than 100 seats", {"seats": 101}),
        ("maxCandidates out of range", {"maxCandidates": 3}),
        ("maxCandidates out of range", {"maxCandidates": 257}),
        ("reward above half", {"reward": 51}),
        ("attempts is zero", {"attempts": 0}),
        ("a period is zero", {"revealPeriod": 0}),
    ],
)
def test_parameters_that_break_a_rule(standing: Standing, reason: str, changes: dict[str, int]) -> None:
    from brownie import Committee

    found = creation_refusal(Committee, standing[0].contract.vrf(), rules(**changes))
    assert found == ("InvalidParameters", reason)


def test_a_verifier_without_code(standing: Standing) -> None:
    from brownie import Committee, accounts

    assert creation_refusal(Committee, accounts[9], rules()) == ("InvalidParameters", "no VRF verifier")


def test_rewards_are_paid_once(standing: Standing) -> None:
    from brownie import accounts

    elections, candidates = standing
    book = elections.contract
    panel, _ = elections.epoch(candidates, "first")
    book.slash(equivocation(elections, panel, 0), {"from": accounts[9]})
    assert book.rewards(accounts[9]) == 2 * ETHER // 5
    before = accounts[9].balance()
    done = book.claim({"from": accounts[9]})
    assert accounts[9].balance() == before + 2 * ETHER // 5 - done.gas_used * done.gas_price
    assert refusal(book, "claim", sender=accounts[9].address)[0] == "NothingToPay"
    assert solvent(book)


def equivocation(elections: Elections, panel: Panel, index: int, epoch: int = 1) -> tuple[Any, ...]:
    """Evidence of two votes of one member on one proposal."""
    proposal, first, second = b"\7" * 32, b"\1" * 32, b"\2" * 32
    votes = [
        panel.certificate(elections.domain, epoch, proposal, each, [index])[4] for each in (first, second)
    ]
    return (epoch, proposal, index, first, votes[0], second, votes[1])
