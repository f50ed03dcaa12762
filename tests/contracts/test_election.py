# SPDX-License-Identifier: Apache-2.0
"""Elections: phases, seed, outputs, group key, and what withholding costs."""

from __future__ import annotations

from typing import Any

from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import SeededRng
from tests.contracts.refusal import refusal
from tests.contracts.scene import Panel
from tests.contracts.sortition import ETHER, Candidate, Elections, Phase, address, tag

Standing = tuple[Elections, list[Candidate]]


def refused(elections: Elections, by: Candidate, method: str, *arguments: Any) -> tuple[Any, ...]:
    return refusal(elections.contract, method, *arguments, sender=by.account.address)


def test_an_election_from_commitment_to_epoch(standing: Standing) -> None:
    elections, candidates = standing
    book = elections.contract
    assert (elections.phase, book.currentEpoch()) == (Phase.IDLE, 0)
    members = elections.elect(candidates)
    assert elections.phase == Phase.CONFIRM
    alpha = book.alpha()
    assert members == sorted(candidates, key=lambda each: each.output(alpha))[:4]
    panel = Panel(tuple(each.voting for each in members), 7)
    event = elections.confirm(panel, members[1:]).events["EpochStarted"]
    assert (event["epoch"], event["quorum"], event["threshold"]) == (1, 3, 3)
    assert list(event["members"]) == [each.voter for each in members]
    assert bytes(book.keyId(1)) == panel.key_id
    assert (elections.phase, book.currentEpoch()) == (Phase.IDLE, 1)


def test_the_seed_and_the_input_are_bound_to_chain_contract_epoch_and_draw(standing: Standing) -> None:
    elections, candidates = standing
    elections.open(candidates)
    elections.reveal(candidates)
    elections.contract.proceed()
    fold = 0
    for each in candidates:
        fold ^= int.from_bytes(keccak(words(address(each.account.address), each.secret)), "big")
    place = (elections.domain.chain_id, elections.domain.contract, 1, 1)
    seed = keccak(words(tag("seed"), *place, bytes(32), fold))
    assert bytes(elections.contract.election()[9]) == seed
    assert elections.contract.alpha() == int.from_bytes(
        keccak(words(tag("alpha"), *place, seed, bytes(32))), "big"
    )


def test_phases_take_their_time(standing: Standing) -> None:
    elections, candidates = standing
    book = elections.contract
    assert refusal(book, "proceed") == ("WrongPhase", Phase.IDLE, Phase.COMMIT)
    for method, arguments, needed in (
        ("commit", (b"\1" * 32,), Phase.COMMIT),
        ("reveal", (b"\1" * 32,), Phase.REVEAL),
        ("prove", (candidates[0].proof(1),), Phase.PROVE),
        ("confirmKey", (1, 2, 3), Phase.CONFIRM),
    ):
        assert refused(elections, candidates[0], method, *arguments) == ("WrongPhase", Phase.IDLE, needed)
    elections.open([])
    assert elections.phase == Phase.IDLE
    book.openElection()
    assert refusal(book, "openElection") == ("WrongPhase", Phase.COMMIT, Phase.IDLE)
    assert refusal(book, "proceed")[0] == "TooEarly"
    elections.commit(candidates[:3])
    elections.wait()
    assert refused(elections, candidates[3], "commit", b"\1" * 32)[0] == "TooLate"
    book.proceed()
    elections.reveal(candidates[:2])
    assert refusal(book, "proceed")[0] == "TooEarly"
    elections.wait()
    assert refused(elections, candidates[2], "reveal", candidates[2].secret)[0] == "TooLate"


def test_the_next_election_waits_for_the_epochs_least_length(standing: Standing) -> None:
    elections, candidates = standing
    elections.epoch(candidates, "first")
    assert refusal(elections.contract, "openElection")[0] == "TooEarly"
    elections.wait(1000)
    elections.contract.openElection()
    assert elections.phase == Phase.COMMIT


def test_who_may_commit(standing: Standing) -> None:
    from brownie import accounts

    elections, candidates = standing
    book = elections.contract
    book.openElection()
    stranger = accounts[9].address
    assert refusal(book, "commit", b"\1" * 32, sender=stranger) == ("UnknownCandidate", stranger)
    assert refused(elections, candidates[0], "commit", bytes(32)) == ("EmptyCommitment",)
    elections.commit(candidates[:1])
    found = refused(elections, candidates[0], "commit", b"\1" * 32)
    assert found == ("WrongStage", candidates[0].account.address, 1)
    book.unbond({"from": candidates[1].account})
    found = refused(elections, candidates[1], "commit", b"\1" * 32)
    assert found == ("IsUnbonding", candidates[1].account.address)
    assert refused(elections, candidates[0], "unbond") == ("Engaged", candidates[0].account.address)


def test_too_few_candidates_elect_nobody(standing: Standing) -> None:
    elections, candidates = standing
    elections.contract.openElection()
    elections.commit(candidates[:2])
    event = elections.expire().events["ElectionVoid"]
    assert (event["epoch"], event["reason"]) == (1, "too few candidates")
    assert (elections.phase, elections.trust(candidates[0])) == (Phase.IDLE, 500_000)


def test_fewer_candidates_than_seats_all_serve(standing: Standing) -> None:
    elections, candidates = standing
    _, members = elections.epoch(candidates[:3], "three")
    assert len(members) == 3
    assert elections.contract.roster(1)[1] == 2


def test_a_secret_of_another_candidate_or_draw_opens_nothing(standing: Standing) -> None:
    elections, candidates = standing
    book = elections.contract
    book.openElection()
    first, second = candidates[:2]
    copied = elections.commitment(first)
    book.commit(copied, {"from": first.account})
    book.commit(copied, {"from": second.account})
    elections.commit(candidates[2:])
    elections.expire()
    assert refused(elections, second, "reveal", first.secret)[0] == "WrongSecret"
    assert refused(elections, first, "reveal", second.secret)[0] == "WrongSecret"
    elections.reveal([first])
    assert refused(elections, first, "reveal", first.secret) == ("WrongStage", first.account.address, 1)


def test_a_withheld_secret_voids_the_draw_and_costs_place_trust_and_stake(standing: Standing) -> None:
    """Who reveals last knows the seed; withholding gives it no choice, only a fresh draw without it."""
    elections, candidates = standing
    book, grinder = elections.contract, candidates[-1]
    elections.open(candidates)
    elections.reveal(candidates[:-1])
    done = elections.expire()
    assert done.events["Withheld"]["registrant"] == grinder.account
    assert done.events["ElectionVoid"]["reason"] == "a secret was withheld"
    assert (elections.phase, elections.draw) == (Phase.COMMIT, 2)
    assert elections.trust(grinder) == 250_000
    assert book.candidate(grinder.account)[6] == 2 * ETHER - ETHER // 4
    assert book.burnt() == ETHER // 4
    assert refused(elections, grinder, "commit", b"\1" * 32) == ("Untrusted", 250_000, 400_000)
    elections.commit(candidates[:-1])
    elections.expire()
    elections.reveal(candidates[:-1])
    book.proceed()
    assert elections.phase == Phase.PROVE


def test_a_withholder_comes_back_as_a_newcomer_once_its_stake_was_unbound(standing: Standing) -> None:
    elections, candidates = standing
    book, idle, other, rest = elections.contract, candidates[0], candidates[1], candidates[2:]
    book.unbond({"from": other.account})
    elections.open([idle, *rest])
    elections.reveal(rest)
    elections.expire()
    book.unbond({"from": idle.account})
    elections.commit(rest)
    elections.expire()
    elections.reveal(rest)
    book.proceed()
    elections.prove(rest)
    book.proceed()
    elections.confirm(elections.panel(elections.elected(), "first"), elections.elected()[:2], 2)
    elections.wait(10_000)
    assert elections.trust(idle) == 250_000
    done = book.withdraw({"from": idle.account})
    assert done.events["TrustChanged"]["trust"] == elections.trust(idle) == 500_000
    assert "TrustChanged" not in book.withdraw({"from": other.account}).events
    book.deposit({"from": idle.account, "value": ETHER})
    book.openElection()
    elections.commit([idle])
    assert book.election()[5] == 1


def test_a_trusted_withholder_is_still_barred_from_this_epoch(standing: Standing) -> None:
    elections, candidates = standing
    panel, members = elections.epoch(candidates, "first")
    for number in range(2):
        proposal = keccak(bytes([number]))
        elections.contract.report(panel.certificate(elections.domain, 1, proposal, b"\2" * 32, range(4)))
    elections.open(candidates)
    elections.reveal([each for each in candidates if each is not members[0]])
    elections.expire()
    assert elections.trust(members[0]) == 500_000
    found = refused(elections, members[0], "commit", b"\1" * 32)
    assert found == ("Barred", members[0].account.address, 2)


def test_a_withheld_proof_costs_trust(standing: Standing) -> None:
    elections, candidates = standing
    book = elections.contract
    elections.open(candidates)
    elections.reveal(candidates)
    book.proceed()
    best = min(candidates, key=lambda each: each.output(book.alpha()))
    others = [each for each in candidates if each is not best]
    elections.prove(others)
    assert refusal(book, "proceed")[0] == "TooEarly"
    done = elections.expire()
    assert done.events["Withheld"]["registrant"] == best.account
    assert best not in elections.elected()
    assert (elections.trust(best), elections.phase) == (250_000, Phase.CONFIRM)
    assert book.burnt() == ETHER // 4


def test_too_few_proofs_elect_nobody(standing: Standing) -> None:
    elections, candidates = standing
    elections.open(candidates)
    elections.reveal(candidates)
    elections.contract.proceed()
    elections.prove(candidates[:2])
    done = elections.expire()
    assert done.events["ElectionVoid"]["reason"] == "too few proofs"
    assert elections.phase == Phase.IDLE


def test_forged_proofs(standing: Standing) -> None:
    elections, candidates = standing
    book, forger = elections.contract, candidates[0]
    elections.open(candidates)
    elections.reveal(candidates)
    book.proceed()
    alpha = book.alpha()
    key, gamma, c, s, seed, u, c_gamma, s_hash, inverse = forger.proof(alpha)
    for forged, reason in (
        ((key, gamma, c, s + 1, seed, u, c_gamma, s_hash, inverse), "addr(c*pk+s*g)!=_uWitness"),
        ((key, c_gamma, c, s, seed, u, c_gamma, s_hash, inverse), "First mul check failed"),
        ((key, gamma, c, s, seed, u, c_gamma, s_hash, inverse + 1), "invZ must be inverse of z"),
        ((key, (gamma[0], gamma[1] ^ 1), c, s, seed, u, c_gamma, s_hash, inverse), "gamma is not on curve"),
        (forger.proof(alpha - 1), "Second mul check failed"),
        ((*forger.proof(alpha - 1)[:4], alpha, *forger.proof(alpha - 1)[5:]), "Second mul check failed"),
    ):
        assert refused(elections, forger, "prove", forged) == ("Error", reason)
    found = refused(elections, forger, "prove", candidates[1].proof(alpha))
    assert found[0] == "WrongVrfKey"
    elections.prove([forger])
    assert refused(elections, forger, "prove", forger.proof(alpha))[0] == "WrongStage"


def test_the_order_of_reveals_does_not_matter(standing: Standing) -> None:
    from brownie import chain

    elections, candidates = standing
    elections.open(candidates)
    chain.snapshot()
    seeds = []
    for order in (candidates, candidates[::-1], [candidates[index] for index in _shuffled(len(candidates))]):
        elections.reveal(order)
        elections.contract.proceed()
        seeds.append(bytes(elections.contract.election()[9]))
        chain.revert()
    assert len(set(seeds)) == 1


def _shuffled(count: int) -> list[int]:
    rng = SeededRng(b"order")
    return sorted(range(count), key=lambda _: rng(4))
