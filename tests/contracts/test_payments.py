# SPDX-License-Identifier: Apache-2.0
"""Receivers that enter again, refuse, or burn gas: they get nothing more and stop nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.sortition import ETHER, Candidate, Elections
from tests.contracts.test_stakes import Standing, equivocation, solvent


class Attacker:
    """A contract that is registered with 2 ether of its 4, and can be paid in ways of its own."""

    def __init__(self, artifacts: Any, elections: Elections) -> None:
        from brownie import Contract, accounts

        built = artifacts["Greedy"]
        code = built["bytecode"] + elections.contract.address[2:].rjust(64, "0")
        made = accounts[0].transfer(data=code, amount=4 * ETHER, silent=True)
        self.contract = Contract.from_abi("Greedy", made.contract_address, built["abi"])
        self.book, self.elections = elections.contract, elections
        self.candidate = Candidate(self.contract, 4321, 1234, b"\1" * 32)
        self.act("register", *elections.registration(self.candidate), value=2 * ETHER)
        elections.candidates[self.candidate.voter] = self.candidate

    @property
    def address(self) -> str:
        return str(self.contract.address)

    def act(self, method: str, *arguments: Any, value: int = 0, again: str = "", gas: int = 3_000_000) -> Any:
        """Calls `method`, and sends the call data `again` when it is paid for it."""
        from brownie import accounts

        data = getattr(self.book, method).encode_input(*arguments)
        return self.contract.act(data, value, again or b"", {"from": accounts[0], "gas_limit": gas})

    def unbonded(self) -> Attacker:
        self.act("unbond")
        self.elections.wait(10_000)
        return self


@pytest.fixture
def attacker(standing: Standing, attackers: Any) -> Attacker:
    return Attacker(attackers, standing[0])


@pytest.mark.parametrize("method", ["withdraw", "claim", "unbond", "openElection"])
def test_entering_again_from_a_withdrawal_brings_nothing(attacker: Attacker, method: str) -> None:
    book = attacker.book
    attacker.unbonded().act("withdraw", again=getattr(book, method).encode_input())
    found = attacker.contract
    assert (found.entered(), found.reenteredSuccessfully()) == (1, method == "openElection")
    assert (found.balance(), book.candidate(found)[6]) == (4 * ETHER, 0)
    assert (book.totalStake(), solvent(book)) == (10 * ETHER, True)


def test_entering_again_from_a_claim_brings_nothing(standing: Standing, attacker: Attacker) -> None:
    elections, candidates = standing
    book = elections.contract
    panel, _ = elections.epoch(candidates, "first")
    attacker.act("slash", equivocation(elections, panel, 0))
    assert book.rewards(attacker.address) == 2 * ETHER // 5
    attacker.act("claim", again=book.claim.encode_input())
    found = attacker.contract
    assert (found.entered(), found.reenteredSuccessfully()) == (1, False)
    assert (found.balance(), book.totalRewards()) == (2 * ETHER + 2 * ETHER // 5, 0)
    assert solvent(book)


def test_a_receiver_that_refuses_hurts_only_itself(standing: Standing, attacker: Attacker) -> None:
    from brownie import accounts

    elections, candidates = standing
    book, honest = elections.contract, candidates[0]
    book.unbond({"from": honest.account})
    attacker.unbonded().contract.refuse(True, {"from": accounts[0]})
    found = refusal(book, "withdraw", sender=attacker.address)
    assert found == ("PaymentRefused", attacker.address, 2 * ETHER)
    book.withdraw({"from": honest.account})
    assert (book.totalStake(), solvent(book)) == (10 * ETHER, True)
    attacker.contract.refuse(False, {"from": accounts[0]})
    attacker.act("withdraw")
    assert (attacker.contract.balance(), solvent(book)) == (4 * ETHER, True)


def test_a_receiver_that_burns_all_gas_hurts_only_itself(standing: Standing, attacker: Attacker) -> None:
    from brownie import accounts
    from brownie.exceptions import VirtualMachineError

    elections, candidates = standing
    book, honest = elections.contract, candidates[0]
    book.unbond({"from": honest.account})
    attacker.unbonded().contract.burn(True, {"from": accounts[0]})
    with pytest.raises(VirtualMachineError):
        attacker.act("withdraw", gas=1_000_000)
    assert book.candidate(attacker.contract)[6] == 2 * ETHER
    done = book.withdraw({"from": honest.account})
    assert done.gas_used < 60_000
    assert (book.totalStake(), solvent(book)) == (10 * ETHER, True)


def test_no_step_of_an_election_and_no_slashing_calls_a_member(
    standing: Standing, attacker: Attacker
) -> None:
    """A candidate that refuses and burns is elected, votes twice and is slashed like any other."""
    from brownie import accounts

    elections, candidates = standing
    book, contract = elections.contract, attacker.contract
    contract.burn(True, {"from": accounts[0]})
    entering = [*candidates[:2], attacker.candidate]
    elections.wait(1000)
    book.openElection()
    elections.commit(candidates[:2])
    attacker.act("commit", elections.commitment(attacker.candidate))
    elections.expire()
    elections.reveal(candidates[:2])
    attacker.act("reveal", attacker.candidate.secret)
    book.proceed()
    elections.prove(candidates[:2])
    attacker.act("prove", attacker.candidate.proof(book.alpha()))
    book.proceed()
    members = elections.elected()
    assert set(members) == set(entering)
    panel = elections.panel(members, "first")
    elections.confirm(panel, [each for each in members if each in candidates], 2)
    assert book.currentEpoch() == 1
    book.slash(equivocation(elections, panel, members.index(attacker.candidate)), {"from": accounts[9]})
    assert book.candidate(contract)[5]
    assert (contract.entered(), solvent(book)) == (0, True)
