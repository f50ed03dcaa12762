# SPDX-License-Identifier: Apache-2.0
"""A member reset to an earlier state, including its generator, does not reveal its share."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import pytest

from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.cosigner import Cosigner
from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.memory import Memory, VolatileMemory
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    PledgedNonces,
    SignedAttestation,
    pairs_digest,
)
from blockful_py.crypto import curve, eip712
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster, bits
from blockful_py.crypto.threshold.keys import CommitteeKey, lagrange
from blockful_py.crypto.threshold.messages import AggregatedNonces, Task
from blockful_py.crypto.threshold.signing import ThresholdSigner, _rounds, aggregate, combine
from blockful_py.errors import BlockfulError, CheaterError, CryptoError, NonceReuseError, RefusedError
from blockful_py.types import Rng
from tests.colluders import summed
from tests.crypto.committee import Ceremony, tasks_for

DOMAIN = eip712.Domain(1337, b"\x11" * 20)
VICTIM = 1
SUMS = bytes(32)
"""Digest of sums of nonces, where these do not matter."""


@dataclass(frozen=True)
class Answered:
    """The information that an attacker gets from one answer of the victim."""

    nonces: AggregatedNonces
    tasks: tuple[Task, ...]
    values: tuple[int, ...]


class Panel:
    """A committee of n = 3f + 1, t = 2f + 1, whose members are asked one by one."""

    def __init__(self, faults: int) -> None:
        self.quorum = 2 * faults + 1
        self.shares = Ceremony(self.quorum, 3 * faults + 1).run()
        self.voting = [curve.random_scalar(SeededRng(b"voting", share.index)) for share in self.shares]
        self.key: CommitteeKey = self.shares[0].public
        keys = tuple(map(curve.multiply_base, self.voting))
        self.roster = Roster(keys, self.quorum, False, self.key.group_key)

    def member(self, index: int, memory: Memory | None = None, rng: Rng | None = None) -> Cosigner:
        rng, memory = rng or SeededRng(b"nonces", index), memory or VolatileMemory()
        voter = CertificateSigner(self.voting[index - 1], self.roster, DOMAIN, memory, rng)
        return Cosigner(voter, self.shares[index - 1], rng, memory)

    def members(self) -> dict[int, Cosigner]:
        return {share.index: self.member(share.index) for share in self.shares}

    def tasks(self, draft: bytes = b"draft") -> tuple[Task, ...]:
        return tuple(tasks_for(self.key, 2, draft))


def session_of(signers: Sequence[int], draft: bytes = b"draft", salt: bytes = bytes(32)) -> CollisionSession:
    return CollisionSession(3, b"\x22" * 32, keccak(draft), bytes(20), bits(signers), salt)


def attested(
    session: CollisionSession, pledged: Sequence[PledgedNonces], attesting: dict[int, Cosigner]
) -> AttestedNonces:
    """The nonces with the attestations of all members that attest."""
    found, sums = [], summed(pledged)
    for index, member in attesting.items():
        try:
            signed = member.attest(session, [each.pledge for each in pledged], pairs_digest(sums))
        except (RefusedError, CryptoError):
            continue
        found.append(SignedAttestation(index, signed))
    return AttestedNonces(session, tuple(each.pledge.pledge for each in pledged), sums, tuple(found))


def share_from(key: CommitteeKey, answers: Sequence[Answered]) -> set[int]:
    """Every x that three answers with one pair (d, e) would have, by Cramer's rule:

    z = sigma d + sigma rho e + lambda c'^-1 x.
    """
    found = set()
    for item in range(len(answers[0].tasks)):
        rows = []
        for each in answers:
            round_ = _rounds(key, each.tasks, each.nonces)[item]
            sigma = -1 if round_.negated else 1
            weight = lagrange(each.nonces.signers, VICTIM) * round_.weight
            rows.append((sigma, sigma * round_.rho, weight, each.values[item]))
        coefficients = [row[:3] for row in rows]
        solved = [(a, b, z) for a, b, _, z in rows]
        if determinant := _determinant(coefficients) % N:
            found.add(_determinant(solved) * pow(determinant, -1, N) % N)
    return found


def _determinant(rows: Sequence[Sequence[int]]) -> int:
    (a, b, c), (d, e, f), (g, h, i) = rows
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def extracted(panel: Panel, answers: Sequence[Answered]) -> bool:
    """Whether three of the answers give the victim's share."""
    secret = panel.shares[VICTIM - 1].secret
    return any(secret in share_from(panel.key, three) for three in combinations(answers, 3))


def test_a_session_opens_its_hashes() -> None:
    panel = Panel(1)
    members, session, tasks = panel.members(), session_of((1, 2, 4)), panel.tasks()
    pledged = [members[index].commit(session, len(tasks)) for index in (1, 2, 4)]
    nonces = attested(session, pledged, members)
    assert len(nonces.attestations) == 4
    answers = [members[index].sign(tasks, nonces) for index in (1, 2, 4)]
    commitments = [each.commitments for each in pledged]
    assert len(combine(panel.key, tasks, commitments, aggregate(panel.key, commitments), answers)) == 2


def test_without_attestations_a_snapshot_gives_the_share_away() -> None:
    """The attack itself: three answers from one snapshot, with different nonces of a co-signer."""
    panel = Panel(1)
    tasks = panel.tasks()
    victim = ThresholdSigner(panel.shares[VICTIM - 1], SeededRng(b"victim"))
    own = victim.commit(b"session", len(tasks))
    honest = ThresholdSigner(panel.shares[1], SeededRng(b"honest")).commit(b"session", len(tasks))
    answers = []
    for attempt in range(3):
        corrupt = ThresholdSigner(panel.shares[3], SeededRng(b"corrupt", attempt))
        nonces = aggregate(panel.key, [own, honest, corrupt.commit(b"session", len(tasks))])
        answers.append(Answered(nonces, tasks, copy.deepcopy(victim).sign(tasks, nonces).values))
    assert extracted(panel, answers)
    assert not extracted(panel, [*answers[:2], replace(answers[2], values=(1, 1))])


@dataclass
class Attack:
    """An attack by a corrupt leader and last member; the victim is reset before each attempt.

    Attributes:
        others: members with intact memory.
        given: the nonces that the victim gave out.
    """

    panel: Panel
    others: dict[int, Cosigner]
    answers: list[Answered] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    given: list[PledgedNonces] = field(default_factory=list)

    @property
    def corrupt(self) -> int:
        return len(self.panel.shares)

    def attempt(
        self,
        victim: Cosigner,
        session: CollisionSession,
        draft: bytes,
        own: PledgedNonces | None,
        honest: list[PledgedNonces],
        number: int,
        attesting: Sequence[int],
    ) -> None:
        """One answer, if the victim gives it; `own` are nonces that it gave out before."""
        tasks = self.panel.tasks(draft)
        try:
            own = own or victim.commit(session, len(tasks))
            self.given.append(own)
            accomplice = self.panel.member(self.corrupt, rng=SeededRng(b"corrupt", number))
            pledged = [own, *honest, accomplice.commit(session, len(tasks))]
            witnesses = {index: self.others[index] for index in attesting if index in self.others}
            witnesses |= {VICTIM: victim, self.corrupt: accomplice}
            nonces = attested(session, pledged, witnesses)
            shares = victim.sign(tasks, nonces)
        except BlockfulError as error:
            self.refusals.append(str(error))
            return
        commitments = [each.commitments for each in pledged]
        self.answers.append(Answered(aggregate(self.panel.key, commitments), tasks, shares.values))


def attack_on(panel: Panel) -> Attack:
    others = panel.members()
    del others[VICTIM], others[len(panel.shares)]
    return Attack(panel, others)


def test_a_snapshot_after_round_1_gives_one_answer() -> None:
    """f = 2 of 7 are faulty: the forgetful victim, and a co-signer that changes its nonces."""
    panel = Panel(2)
    attack, session = attack_on(panel), session_of((1, 2, 3, 4, 7))
    victim = panel.member(VICTIM)
    own = victim.commit(session, 2)
    honest = [attack.others[index].commit(session, 2) for index in (2, 3, 4)]
    for number, attesting in enumerate(combinations((2, 3, 4, 5, 6), 3)):
        attack.attempt(copy.deepcopy(victim), session, b"draft", own, honest, number, attesting)
    assert len(attack.answers) == 1
    assert len(attack.refusals) == 9
    assert all("members attest these nonces, 5 are needed" in each for each in attack.refusals)


def test_a_fault_too_many_gives_two_answers_and_not_the_three_that_a_share_takes() -> None:
    """f = 1 of 4, but two are faulty: the leader splits the honest members, which attest once each."""
    panel = Panel(1)
    attack, session = attack_on(panel), session_of((1, 2, 4))
    victim = panel.member(VICTIM)
    own = victim.commit(session, 2)
    honest = [attack.others[2].commit(session, 2)]
    for number, attesting in enumerate([(2,), (3,), (2,), (3,), (2, 3)]):
        attack.attempt(copy.deepcopy(victim), session, b"draft", own, honest, number, attesting)
    assert len(attack.answers) == 2
    assert not extracted(panel, attack.answers)


def test_a_pair_is_answered_for_under_its_own_generation_alone(panel: Panel) -> None:
    """A victim that was restored pledges two generations for one session, and has the pair of the second."""
    members, session, victim = panel.members(), session_of((1, 2, 3)), panel.member(VICTIM)
    honest = [members[index].commit(session, 2) for index in (2, 3)]
    first = copy.deepcopy(victim).commit(session, 2)
    victim.commit(session_of((1, 2, 4)), 2)
    second = victim.commit(session, 2)
    assert [first.generation, second.generation] == [1, 2]
    nonces = attested(session, [first, *honest], {index: members[index] for index in (2, 3, 4)})
    assert len(nonces.attestations) == panel.quorum
    with pytest.raises(NonceReuseError, match="of another leader or use"):
        victim.sign(panel.tasks(), nonces)


CHANGES: dict[str, Callable[[int], tuple[CollisionSession, bytes]]] = {
    "nonces": lambda number: (session_of((1, 2, 4)), b"draft"),
    "draft": lambda number: (session_of((1, 2, 4), b"draft %d" % number), b"draft %d" % number),
    "co-signers": lambda number: (session_of((1, 2 + number % 2, 4)), b"draft"),
    "salt": lambda number: (session_of((1, 2, 4), salt=bytes([number]) * 32), b"draft"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_snapshot_before_round_1_gives_other_nonces_or_no_answer(change: str) -> None:
    """The generator is restored too, so that only the context of the nonces distinguishes them."""
    panel = Panel(1)
    attack, victim = attack_on(panel), panel.member(VICTIM)
    peers = attack.others
    for number in range(4):
        session, draft = CHANGES[change](number)
        with suppress(NonceReuseError):  # a known session repeats its earlier answer
            honest = [peers[index].commit(session, 2) for index in session.indices if index in peers]
        attack.attempt(copy.deepcopy(victim), session, draft, None, honest, number, (2, 3))
    assert len(attack.answers) == 1
    assert not extracted(panel, attack.answers)
    given = {pair for each in attack.given for pair in each.commitments.pairs}
    sessions = {CHANGES[change](number)[0] for number in range(4)}
    assert len(given) == 2 * len(sessions)


def test_a_disk_that_is_put_back_is_noticed(tmp_path: Path) -> None:
    """Memory and generator start anew; the peers know the generation and name the member."""
    panel = Panel(1)
    path, backup = tmp_path / "memory.sqlite", tmp_path / "backup"
    DurableMemory.create(path, panel.roster.members[0]).close()
    shutil.copyfile(path, backup)
    peers = {index: panel.member(index) for index in (2, 3, 4)}
    seen = []
    for number in range(2):
        shutil.copyfile(backup, path)
        with DurableMemory(path, panel.roster.members[0]) as memory:
            victim, session = panel.member(VICTIM, memory), session_of((1, 2, 3), salt=bytes([number]) * 32)
            pledged = [{**peers, VICTIM: victim}[index].commit(session, 2) for index in (1, 2, 3)]
            seen.append(pledged[0])
            pledges = [each.pledge for each in pledged]
            for peer in peers.values():
                if number == 0:
                    assert len(peer.attest(session, pledges, SUMS)) == 64
                    continue
                with pytest.raises(CheaterError, match=r"pledged before, from member\(s\) 1 "):
                    peer.attest(session, pledges, SUMS)
    assert [each.generation for each in seen] == [1, 1]
    assert not {*seen[0].commitments.pairs} & {*seen[1].commitments.pairs}


@pytest.fixture
def panel() -> Panel:
    return Panel(1)


def test_a_member_attests_one_use_of_a_generation_and_repeats_its_word(panel: Panel) -> None:
    members, session = panel.members(), session_of((1, 2, 3))
    pledges = [members[index].commit(session, 1).pledge for index in (1, 2, 3)]
    first = members[4].attest(session, pledges, SUMS)
    assert members[4].attest(session, pledges, SUMS) == first
    forgetful = panel.member(1)
    other = session_of((1, 2, 3), salt=b"\1" * 32)
    again = [forgetful.commit(other, 1).pledge, *(members[i].commit(other, 1).pledge for i in (2, 3))]
    with pytest.raises(CheaterError) as caught:
        members[4].attest(other, again, SUMS)
    assert caught.value.members == (1,)
    third = session_of((1, 2, 3), salt=b"\2" * 32)
    fresh = [forgetful.commit(third, 1).pledge, *(members[i].commit(third, 1).pledge for i in (2, 3))]
    assert len(members[4].attest(third, fresh, SUMS)) == 64
    with pytest.raises(CheaterError, match=r"pledged before, from member\(s\) 1, 2, 3 "):
        members[4].attest(third, fresh, b"\1" * 32)  # other sums are another use


def test_two_leaders_at_once_do_not_disturb_each_other(panel: Panel) -> None:
    members, tasks = panel.members(), panel.tasks()
    one, other = session_of((1, 2, 3)), replace(session_of((1, 2, 3)), leader=b"\x77" * 20)
    first = [members[index].commit(one, 2) for index in (1, 2, 3)]
    second = [members[index].commit(other, 2) for index in (1, 2, 3)]
    for session, pledged in ((other, second), (one, first)):
        nonces = attested(session, pledged, members)
        assert [len(members[index].sign(tasks, nonces).values) for index in (1, 2, 3)] == [2, 2, 2]


def forge(given: PledgedNonces) -> PledgedNonces:
    return replace(given, generation=given.generation + 1)


def turn(given: PledgedNonces) -> PledgedNonces:
    return replace(given, commitments=replace(given.commitments, pairs=given.commitments.pairs[::-1]))


@pytest.mark.parametrize("change", [forge, turn])
def test_a_pledge_that_its_signer_did_not_sign_is_named(
    panel: Panel, change: Callable[[PledgedNonces], PledgedNonces]
) -> None:
    """Otherwise a leader could exclude a member, or change its nonces."""
    members, session = panel.members(), session_of((1, 2, 3))
    pledged = [members[index].commit(session, 2) for index in (1, 2, 3)]
    shown = [pledged[0], change(pledged[1]), pledged[2]]
    with pytest.raises(CheaterError, match=r"the pledge from member\(s\) 2 "):
        members[4].attest(session, [each.pledge for each in shown], SUMS)
    nonces = attested(session, pledged, members)
    with pytest.raises(RefusedError, match="0 members attest these nonces, 3 are needed"):
        members[1].sign(panel.tasks(), replace(nonces, pledges=tuple(each.pledge.pledge for each in shown)))
    assert len(members[1].sign(panel.tasks(), nonces).values) == 2


Spoil = Callable[[AttestedNonces], AttestedNonces]
SPOILS: dict[str, Spoil] = {
    "one fewer": lambda nonces: replace(nonces, attestations=nonces.attestations[:2]),
    "one twice": lambda nonces: replace(nonces, attestations=(*nonces.attestations[:2],) * 2),
    "of nobody": lambda nonces: replace(
        nonces, attestations=tuple(replace(each, member=each.member - 3) for each in nonces.attestations)
    ),
    "malformed": lambda nonces: replace(
        nonces, attestations=tuple(replace(each, signature=b"") for each in nonces.attestations)
    ),
    "a signer fewer": lambda nonces: replace(nonces, pledges=nonces.pledges[:2]),
    "in another order": lambda nonces: replace(nonces, pledges=nonces.pledges[::-1]),
    "other sums": lambda nonces: replace(nonces, sums=nonces.sums[::-1]),
    "another session": lambda nonces: replace(nonces, session=replace(nonces.session, salt=b"\1" * 32)),
    "too few signers": lambda nonces: replace(
        nonces, session=replace(nonces.session, signers=0b11), pledges=nonces.pledges[:2]
    ),
    "generation 0": lambda nonces: replace(
        nonces, pledges=(replace(nonces.pledges[0], generation=0), *nonces.pledges[1:])
    ),
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_nonces_that_no_quorum_attests_are_refused_and_kept(panel: Panel, spoil: str) -> None:
    members, session = panel.members(), session_of((1, 2, 3))
    pledged = [members[index].commit(session, 2) for index in (1, 2, 3)]
    nonces = attested(session, pledged, members)
    with pytest.raises(RefusedError):
        members[1].sign(panel.tasks(), SPOILS[spoil](nonces))
    assert len(members[1].sign(panel.tasks(), nonces).values) == 2


def test_a_member_that_is_no_signer_commits_to_nothing(panel: Panel) -> None:
    with pytest.raises(RefusedError, match=r"4 is not among the signers \[1, 2, 3\]"):
        panel.member(4).commit(session_of((1, 2, 3)), 1)
