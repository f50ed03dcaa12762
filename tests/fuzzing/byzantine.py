# SPDX-License-Identifier: Apache-2.0
"""Plays faulty members and leaders against honest ones, whose messages go through the real handlers.

    python -m tests.fuzzing.byzantine --seconds 300 --seed 1

A case is drawn from its seed.  It ends in a ViolationError unless, with at most f faulty members, decisions
of an honest leader are executed or cleanly refused, none is done twice, and liars alone are blamed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

from blockful_py.committee import codec, coordinator, wire
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import (
    CastVote,
    CommittedVote,
    Cosigning,
    Executor,
    actions_under,
    attestation_of,
    digest_of,
    pair_digest,
    require_signed,
)
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication, CertifiedRedaction
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import NewModel, Proposer, Replacement
from blockful_py.committee.leaves import archive_leaves, redaction_leaves
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot, VolatileMemory
from blockful_py.committee.outbox_store import Note, OutboxStore
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    Pledge,
    PledgedNonces,
    SignedAttestation,
    SignedPledge,
    attestation_digest,
    nonces_digest,
)
from blockful_py.committee.proposals import (
    PublicationProposal,
    RedactionChunk,
    RedactionDraft,
    opening_tasks,
    with_openings,
)
from blockful_py.committee.service import member_client
from blockful_py.committee.service.client import LimitOf
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.member_client import Deadlines, MemberClient
from blockful_py.committee.service.messages import AttestRequest, MessageKind, SignRequest
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.remote import RemoteMember
from blockful_py.committee.service.request_handler import RequestHandler, Seat
from blockful_py.crypto import curve, eip712, merkle, multisignature, signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster, bits
from blockful_py.crypto.threshold import response, signing
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine
from blockful_py.errors import (
    BlockfulError,
    ContractError,
    QuorumError,
    RefusedError,
    TooLongError,
    UnreachableError,
)
from blockful_py.types import Certificate, Codec, Position, Uri
from tests.committee.service.dealers import Hall, Shelf
from tests.crypto.committee import Ceremony
from tests.fuzzing.ledgers import EPOCH, MAX_DRIFT, LateArchive, MemoryArchive, MemoryLive, ViolationError
from tests.fuzzing.liars import WAYS, Liar

ARCHIVE_CHAIN, LIVE_CHAIN = 7001, 7002
COMMITTEE = b"\x77" * 20
VOTING = eip712.Domain(LIVE_CHAIN, COMMITTEE)
MESSAGES = wire.domain(LIVE_CHAIN, COMMITTEE)
NOW = 1_800_000_000
HOUR = 3600
WRONG_BYTE = 0xBA
"""First byte of models that no member accepts."""
AT_ONCE = frozenset(
    {
        MessageKind.PUBLICATION,
        MessageKind.REDACTION,
        MessageKind.COMMIT,
        MessageKind.RECOMMIT,
        MessageKind.ATTEST,
        MessageKind.ATTEST_COSIGNING,
    }
)
"""Answers that are checked one by one; shares are only once all have arrived."""

Answer = TypeVar("Answer")


@cache
def committee_of(size: int) -> tuple[tuple[KeyShare, ...], tuple[int, ...], Roster]:
    """Key shares, voting secrets and roster."""
    threshold = -(-2 * size // 3)
    shares = Ceremony(threshold, size).run()
    secrets = tuple(curve.random_scalar(SeededRng(b"voting", share.index)) for share in shares)
    keys = tuple(map(curve.multiply_base, secrets))
    return shares, secrets, Roster(keys, threshold, False, shares[0].group_key)


class MemoryNotes(OutboxStore):
    """Notes without a file."""

    def __init__(self) -> None:
        self._notes: dict[tuple[str, Ballot, int], bytes] = {}

    def write(self, topic: str, ballot: Ballot, body: bytes, number: int = 0) -> bytes:
        return self._notes.setdefault((topic, ballot, number), body)

    def read(self, topic: str) -> tuple[Note, ...]:
        return tuple(Note(key[1], key[2], body) for key, body in self._notes.items() if key[0] == topic)

    def strike(self, topic: str, ballot: Ballot, number: int = 0) -> None:
        self._notes.pop((topic, ballot, number), None)


class Doorkeeper:
    """A reviewer that accepts all models but those whose digest begins with WRONG_BYTE."""

    def review_publication(self, proposal: PublicationProposal) -> None:
        self._review([each.uri for each in proposal.block.publications])

    def review_redaction(self, draft: RedactionDraft) -> None:
        self._review([target.uri for chunk in draft.chunks for target in chunk.targets])

    def review_erasure(self, statement: bytes) -> None:
        raise RefusedError("nothing is erased here")

    def review_motion(self, motion: object) -> bytes:
        raise RefusedError("nothing is moved here")

    def _review(self, uris: Sequence[Uri]) -> None:
        if any(uri.digest[0] == WRONG_BYTE for uri in uris):
            raise RefusedError("a model is wrong")


class Bench(Hall):
    """What the process of one member sees; EPOCH is the current one."""

    def __init__(self, member: Member, leaders: frozenset[bytes]) -> None:
        self._seat = Seat(member, lambda: 0)
        self._leaders = leaders

    def domain(self) -> eip712.Domain:
        return MESSAGES

    def may_lead(self, address: bytes) -> bool:
        return address in self._leaders

    def seat(self, epoch: int) -> Seat:
        if epoch != EPOCH:
            raise RefusedError("another epoch")
        return self._seat

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        return self.current_roster() if epoch == EPOCH else ()

    def current_roster(self) -> tuple[bytes, ...]:
        return self._seat.member.roster.members


@dataclass
class Place:
    """A member behind its handler."""

    index: int
    member: Member
    archive: LateArchive
    outbox: Outbox
    handler: RequestHandler
    liar: Liar | None = None
    reachable: bool = True


class World:
    """The chains, the members and what passes between them."""

    def __init__(self, size: int, faulty: Sequence[int], rng: Random) -> None:
        self.shares, self.secrets, self.roster = committee_of(size)
        self.rng = rng
        self.faulty = frozenset(faulty)
        place = (self.roster, VOTING, NOW)
        self.archive = MemoryArchive(ARCHIVE_CHAIN, *place)
        self.live = MemoryLive(LIVE_CHAIN, *place, self.archive)
        self.leader = wire.MessageSigner(rng.randrange(1, curve.N), MESSAGES, rng.randbytes)
        self.schemer = wire.MessageSigner(rng.randrange(1, curve.N), MESSAGES, rng.randbytes)
        self.places = {share.index: self._place(share) for share in self.shares}
        self.answers: Counter[tuple[int, int]] = Counter()
        """How often each pair of nonces was answered with."""
        self.asked: list[bytes] = []
        self.problems: list[str] = []
        self._votes: dict[tuple[int, bytes], set[bytes]] = defaultdict(set)
        self._uses: dict[tuple[int, int, int], bytes] = {}
        self._certified: dict[bytes, set[bytes]] = defaultdict(set)
        self._begin()

    @property
    def size(self) -> int:
        return len(self.shares)

    @property
    def most_faulty(self) -> int:
        return self.size - self.roster.quorum

    def proposer(self) -> Proposer:
        drawn = self.rng.randbytes
        return Proposer(
            self.live, self.archive, self.roster.group_key, EPOCH, self.rng.choice((1, 8)), lambda _: drawn
        )

    def uri(self, wrong: bool = False) -> Uri:
        digest = self.rng.randbytes(32)
        return Uri(bytes([WRONG_BYTE if wrong else 1]) + digest[1:], Codec.RAW)

    def models(self, wrong: bool = False) -> list[NewModel]:
        owner = b"\x05" * 20
        return [NewModel("m", self.uri(wrong), owner, ()) for _ in range(self.rng.randint(1, 2))]

    def remote(self, signer: wire.MessageSigner) -> dict[int, RemoteMember]:
        """The members, as a leader sees them."""
        found = {}
        for index, place in self.places.items():
            client = MemberClient(str(index), place.member.address, signer, Deadlines())
            found[index] = RemoteMember(index, client, lambda *_: None)
        return found

    def post(
        self, url: str, data: bytes, seconds: float, limit_of: LimitOf, voter: bytes | None = None
    ) -> bytes:
        """In the place of `client.post`."""
        place = self.places[int(url)]
        if not place.reachable:
            raise UnreachableError(f"no member answers at {url}")
        self.asked.append(data)
        line = wire.first_line(data)
        body = data[len(line) :]
        admitted = place.handler.admit(line, len(body))
        read = place.handler.answer(admitted, body)
        if place.liar is None:
            self._watch(place, admitted.kind, admitted.question.header, body, read)
        elif admitted.question.header.sender == self.leader.address:
            read = place.liar.answer(admitted.kind, admitted.question, read)
        answered = wire.first_line(read)
        if len(read) > len(answered) + limit_of(answered):
            raise TooLongError(f"the member at {url} answers too much")
        return read

    def certified(self, certificate: Certificate, executor: Executor) -> bool:
        """Whether it holds; notes what it is about."""
        try:
            require_signed(certificate, executor, self.roster, VOTING)
        except RefusedError:
            return False
        contents = self._certified[certificate.proposal]
        contents.add(certificate.content_hash)
        if len(contents) > 1:
            self.problems.append("one proposal has certificates of two contents")
        if executor == self.live.executor and not self._archived(certificate.proposal):
            self.problems.append("the live chain has a certificate before the archive has the records")
        return True

    def answered(self, pair: tuple[int, int]) -> None:
        self.answers[pair] += 1
        if self.answers[pair] > 1:
            self.problems.append("a pair of nonces was answered with twice")

    def catch_up(self, seconds: float) -> None:
        for place in self.places.values():
            place.archive.current = True

    def settle(self, certified: CertifiedProposal, certificate: Certificate) -> None:
        """Writes the live chain's part."""
        if isinstance(certified, CertifiedPublication):
            self.live.append(certified.proposal.block, replace(certified.live, certificate=certificate))
            return
        for chunk, action in zip(certified.chunks, certified.live, strict=True):
            signed = replace(action, certificate=certificate)
            self.live.redact(chunk.updates, chunk.header_updates, signed)

    def archived(self, certified: CertifiedProposal) -> None:
        """Writes the archive's part."""
        decided = certified.proposal if isinstance(certified, CertifiedPublication) else certified.draft
        for chunk, action in zip(decided.archive, certified.archive, strict=True):
            self.archive.append(chunk.expected_head, chunk.timestamp, chunk.records, action)

    def check(self) -> None:
        """Raises ViolationError."""
        for ledger in (self.archive, self.live):
            if len(set(ledger.executed)) != len(ledger.executed):
                self.problems.append("an action was executed twice")
        for index, place in self.places.items():
            accused = {each.index for each in place.outbox.evidence()}
            if not accused <= self.faulty:
                self.problems.append(f"member {index} has evidence against honest {accused - self.faulty}")
        if self.problems:
            raise ViolationError("; ".join(sorted({*self.problems})))

    def _place(self, share: KeyShare) -> Place:
        memory, secret, draw = VolatileMemory(), self.secrets[share.index - 1], self.rng.randbytes
        voter = CertificateSigner(secret, self.roster, VOTING, memory, draw)
        archive: Any = LateArchive(self.archive)
        archive.current = True
        member = Member(voter, share, self.live, archive, Doorkeeper(), draw, memory)
        leaders = frozenset({self.leader.address, self.schemer.address})
        outbox = Outbox(MemoryNotes())
        handler = RequestHandler(secret, Bench(member, leaders), DkgParticipant(secret, Shelf()), outbox)
        liar = None
        if share.index in self.faulty:
            liar = Liar(share.index, self.size, secret, VOTING, MESSAGES, Random(self.rng.random()))
            kinds = [kind for kind in MessageKind if self.rng.random() < 0.7]
            liar.ways = {kind: self.rng.choice(WAYS) for kind in kinds}
        return Place(share.index, member, archive, outbox, handler, liar)

    def _begin(self) -> None:
        """A first block of two models."""
        models = [NewModel(name, self.uri(), b"\x05" * 20, ()) for name in "ab"]
        proposal = self.proposer().publication(models, NOW - HOUR)
        for chunk in proposal.archive:
            self.archive.write(chunk.timestamp, chunk.records)
        self.live.write(proposal.block)

    def _archived(self, proposal: bytes) -> bool:
        done, chunks = self.archive.progress(proposal)
        return 0 < done == chunks

    def _watch(
        self, place: Place, kind: MessageKind, asked: wire.MessageHeader, body: bytes, answer: bytes
    ) -> None:
        """Notes what an honest member must not have answered."""
        message = wire.receive(MESSAGES, answer).message
        if message.kind != wire.ANSWERED:
            return
        if kind in (MessageKind.PUBLICATION, MessageKind.REDACTION, MessageKind.RECOMMIT):
            digests = self._votes[place.index, asked.subject]
            digests.add(codec.decode(CommittedVote, message.body).pledge.pledge.session)
            if len(digests) > 1:
                self.problems.append("an honest member voted twice")
        if kind is MessageKind.PUBLICATION:
            block = codec.decode(PublicationProposal, body).block
            if any(each.uri.digest[0] == WRONG_BYTE for each in block.publications):
                self.problems.append("an honest member voted for a wrong model")
        if kind is MessageKind.ATTEST:
            request = codec.decode(AttestRequest, body)
            digest = attestation_digest(VOTING, request.session.identifier(VOTING), request.pledges)
            self._watch_uses(place.index, request.pledges, digest)
        if kind is MessageKind.ATTEST_COSIGNING:
            asked_for = codec.decode(Cosigning, body)
            self._watch_uses(place.index, asked_for.pledges, attestation_of(asked_for, VOTING))
        if kind is MessageKind.COSIGN:
            cosigning = codec.decode(Cosigning, body)
            self._watch_attested(attestation_of(cosigning, VOTING), cosigning.attestations)
            if cosigning.executor == self.live.executor and not self._archived(cosigning.proposal):
                self.problems.append("an honest member signed for the live chain before the archive has it")
        if kind is MessageKind.SIGN:
            nonces = codec.decode(SignRequest, body).nonces
            pledges = [each.pledge for each in nonces.pledged]
            digest = attestation_digest(VOTING, nonces.session.identifier(VOTING), pledges)
            self._watch_attested(digest, nonces.attestations)

    def _watch_uses(self, member: int, pledges: Sequence[SignedPledge], digest: bytes) -> None:
        for each in pledges:
            use = (member, each.pledge.signer, each.pledge.generation)
            if self._uses.setdefault(use, digest) != digest:
                self.problems.append("an honest member attests two uses of a generation")

    def _watch_attested(self, digest: bytes, attestations: Sequence[Any]) -> None:
        members = self.roster.members
        attesting = {
            each.member
            for each in attestations
            if 1 <= each.member <= self.size
            and signature.is_by(members[each.member - 1], digest, each.signature)
        }
        if len(attesting) < self.roster.quorum:
            self.problems.append("an honest member answered nonces that no quorum attests")


@contextmanager
def watched(world: World) -> Iterator[None]:
    """Messages go through `world`, which sees every answer with a nonce; nobody waits.

    What all members compute alike is computed once.
    """

    class Watched(response.Responder):
        def answer(self, pair: tuple[int, int], rho: int, negated: bool, inverse: int) -> int:
            world.answered(pair)
            return super().answer(pair, rho, negated, inverse)

    with (
        patch.object(member_client, "post", world.post),
        patch.object(coordinator, "time", SimpleNamespace(sleep=world.catch_up)),
        patch.object(codec, "decode", lru_cache(1 << 12)(codec.decode)),
        patch.object(signature, "recover", lru_cache(1 << 12)(signature.recover)),
        patch.object(signing, "Responder", Watched),
        patch.object(multisignature, "Responder", Watched),
    ):
        yield


class HonestLeader:
    """Leads as the pipeline does; `drift` is how many seconds its clock is ahead of the chains'."""

    def __init__(self, world: World, drift: int) -> None:
        self.world = world
        self.drift = drift
        members = [*world.remote(world.leader).values()]
        self.coordinator = Coordinator(
            members,
            world.shares[0].public,
            world.roster,
            VOTING,
            world.live,
            world.archive,
            salt=world.rng.randbytes(16),
            keepers=members,
            leader=world.leader.address,
        )

    def decide(self, redaction: bool) -> bool:
        """Whether the decision was executed; raises ViolationError when it had to be."""
        world = self.world
        now = NOW + self.drift
        absent = {index for index, place in world.places.items() if not place.reachable}
        before = len(world.archive.executed), len(world.live.executed)
        try:
            certified = self._certified(redaction, now)
            world.certified(certified.certificate, world.archive.executor)
            self.coordinator.hand_over(certified)
            world.archived(certified)
            released = self.coordinator.release(self._decision(certified))
            world.certified(released, world.live.executor)
            world.settle(certified, released)
        except QuorumError as error:
            if len(world.faulty | absent) <= world.most_faulty or not str(error).strip():
                raise ViolationError(f"an honest leader with a quorum got {error}") from None
            return False
        except ContractError as error:
            after = len(world.archive.executed), len(world.live.executed)
            if self.drift <= MAX_DRIFT or before != after:
                raise ViolationError(f"an honest leader was refused by a chain: {error}") from None
            return False
        return True

    def check(self) -> None:
        """Raises ViolationError when somebody is blamed wrongly, or a liar is not."""
        world, reasons = self.world, self.coordinator.excluded.reasons
        present = {index for index, place in world.places.items() if place.reachable}
        for index, reason in reasons.items():
            excused = index not in present or "the live chain's certificate follows" in reason
            if index not in world.faulty and ("check out" in reason or not excused):
                raise ViolationError(f"honest member {index} is blamed: {reason}")
        for index in world.faulty & present:
            liar = world.places[index].liar
            wrong = {*liar.wrong} if liar else set()
            if (wrong & AT_ONCE or (wrong and len(world.faulty) == 1)) and index not in reasons:
                names = sorted(kind.name for kind in wrong)
                raise ViolationError(f"member {index} lied in {names} and is not named")

    def _certified(self, redaction: bool, now: int) -> CertifiedProposal:
        world, proposer = self.world, self.world.proposer()
        if not redaction:
            return self.coordinator.certify_publication(proposer.publication(world.models(), now))
        places = world.rng.sample([Position(1, 0), Position(1, 1)], world.rng.randint(1, 2))
        chosen = [Replacement(place, world.uri()) for place in places]
        return self.coordinator.certify_redaction(proposer.redaction(chosen, now))

    def _decision(self, certified: CertifiedProposal) -> Certificate:
        if isinstance(certified, CertifiedPublication):
            return certified.live.certificate
        return certified.live[0].certificate


@dataclass
class Allied:
    """A faulty member's part in a certificate: it votes and signs for anything."""

    secret: int
    index: int
    rng: Random
    pair: tuple[int, int] = (0, 0)

    def vote(self, proposal: bytes, content: bytes, generation: int) -> CommittedVote:
        self.pair = (self.rng.randrange(1, curve.N), self.rng.randrange(1, curve.N))
        points = (curve.multiply_base(self.pair[0]), curve.multiply_base(self.pair[1]))
        digest = eip712.decision_digest(VOTING, EPOCH, proposal, content)
        pledge = Pledge(digest, self.index, generation, pair_digest(points))
        signed = SignedPledge(pledge, self.sign(eip712.digest(VOTING, pledge)))
        return CommittedVote(self.sign(digest), points, signed)

    def sign(self, digest: bytes) -> bytes:
        return signature.sign(self.secret, digest)

    def share(self, begun: multisignature.SigningRound) -> int:
        d, e = self.pair
        return (d + begun.rho * e + begun.challenge * self.secret) % curve.N


@dataclass
class Variant:
    """One of the contents that a schemer shows for a proposal, and the honest votes that it got."""

    proposal: PublicationProposal | RedactionDraft
    contents: tuple[tuple[bytes, ...], tuple[bytes, ...]] = ((), ())
    chunks: tuple[RedactionChunk, ...] = ()
    votes: dict[int, list[CommittedVote]] = field(default_factory=lambda: defaultdict(list))

    @property
    def content(self) -> bytes:
        return merkle.root([leaf for leaves in self.contents for leaf in leaves])


class Schemer:
    """A faulty leader, with all faulty members at its side."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.rng = world.rng
        secret = world.rng.choice([None, *(world.secrets[index - 1] for index in world.faulty)])
        signer = wire.MessageSigner(secret, MESSAGES, world.rng.randbytes) if secret else world.schemer
        self._address = signer.address
        self._remote = world.remote(signer)
        self._honest = [index for index in world.places if index not in world.faulty]
        self._allies = {index: Allied(world.secrets[index - 1], index, self.rng) for index in world.faulty}
        self._generation = 0

    def scheme(self) -> None:
        """One proposal, shown in up to two variants; steps are left out, repeated, or in another order."""
        variants = self._publications() if self.rng.random() < 0.5 else self._redactions()
        for _ in range(self.rng.randint(1, 3)):
            self._gather(variants)
            variant = self.rng.choice(variants)
            executors = [self.world.archive.executor, self.world.live.executor, Executor(1, bytes(20))]
            if self.rng.random() < 0.5:
                self.rng.shuffle(executors)
            for executor in executors[: self.rng.randint(1, 3)]:
                for chosen in self.rng.sample(variants, len(variants)):
                    self._certificate(chosen, executor)
            self._witness(variant)
            self._replay()

    def poison(self) -> None:
        """Shows a few honest members the next generations of its allies' nonces."""
        told = self.rng.sample(self._honest, self.rng.randint(1, self.world.most_faulty))
        variant = self._publication(self.world.proposer().publication(self.world.models(), NOW))
        proposal, content = variant.proposal.proposal, variant.content
        for generation in range(1, 13):
            votes = {i: ally.vote(proposal, content, generation) for i, ally in self._allies.items()}
            for index in self._honest:
                voted = self._say(index, self._asked, variant)
                votes |= {index: voted} if voted else {}
            if len(votes) < self.world.roster.quorum:
                return
            asked = self._cosigning(variant, self.world.archive.executor, votes)
            for index in told:
                self._say(index, RemoteMember.attest_cosigning, asked)

    def _publications(self) -> list[Variant]:
        proposer, models = self.world.proposer(), self.world.models
        first, second = (
            proposer.publication(models(self.rng.random() < 0.2), NOW + self.rng.randint(-HOUR, HOUR))
            for _ in range(2)
        )
        return [self._publication(first), self._publication(replace(second, proposal=first.proposal))]

    def _publication(self, proposal: PublicationProposal) -> Variant:
        archive = archive_leaves(self.world.archive, proposal.archive)
        return Variant(proposal, (archive, (self.world.live.append_leaf(proposal.block, 0, 1),)))

    def _redactions(self) -> list[Variant]:
        """Those of which it got the collisions."""
        proposer, place = self.world.proposer(), Position(1, self.rng.randint(0, 1))
        first, second = (proposer.redaction([Replacement(place, self.world.uri())], NOW) for _ in range(2))
        found = []
        for draft in (first, replace(second, proposal=first.proposal)):
            for index in self._some(self._honest, 0.8):
                self._say(index, RemoteMember.approve, draft)
            chunks = self._collided(draft)
            if chunks:
                leaves = redaction_leaves(self.world.live, chunks)
                archive = archive_leaves(self.world.archive, draft.archive)
                found.append(Variant(draft, (archive, leaves), chunks))
        return found or self._publications()

    def _collided(self, draft: RedactionDraft) -> tuple[RedactionChunk, ...]:
        """Two attempts with the nonces of one session, where the allies' nonces differ."""
        world, threshold = self.world, self.world.roster.threshold
        signers = sorted(self.rng.sample([*world.places], threshold))
        session = CollisionSession(
            EPOCH, draft.proposal, draft.digest(), self._address, bits(signers), self.rng.randbytes(32)
        )
        identifier = session.identifier(VOTING)
        tasks = opening_tasks(draft, world.live.chain_id, world.live.address)
        pledged: dict[int, PledgedNonces | None] = {
            index: self._say(index, RemoteMember.commit, draft, session)
            for index in signers
            if index in self._honest
        }
        for _ in range(2):
            own = {}
            for index in signers:
                if index in self._allies:
                    own[index] = ThresholdSigner(world.shares[index - 1], self.rng.randbytes)
                    given = own[index].commit(identifier, len(tasks))
                    pledge = Pledge(identifier, index, self._next(), nonces_digest(given))
                    signed = self._allies[index].sign(eip712.digest(VOTING, pledge))
                    pledged[index] = PledgedNonces(given, pledge.generation, signed)
            known = [pledged[index] for index in signers]
            if not all(known):
                return ()
            shown = tuple(each for each in known if each)
            pledges = [each.pledge for each in shown]
            digest = attestation_digest(VOTING, identifier, pledges)
            attested = self._attested(digest, RemoteMember.attest, session, pledges)
            nonces = AttestedNonces(session, shown, self._fewer(attested))
            commitments = [each.commitments for each in shown]
            shares: list[SignatureShares | None] = []
            for index in signers:
                if index in own:
                    shares.append(own[index].sign(tasks, aggregate(world.shares[0].public, commitments)))
                for _ in range(self.rng.choice((1, 1, 2)) if index in self._honest else 0):
                    shares.append(self._say(index, RemoteMember.sign, draft, nonces))
            given_shares = [each for each in shares if each]
            with suppress(BlockfulError):
                key = world.shares[0].public
                openings = combine(key, tasks, commitments, aggregate(key, commitments), given_shares)
                return with_openings(draft, openings)
        return ()

    def _gather(self, variants: Sequence[Variant]) -> None:
        """Asks members for votes: some for several variants, some for none, some again."""
        for index in self._honest:
            for variant in self._some(self.rng.sample(variants, len(variants)), 0.7):
                proposal = variant.proposal
                voted = self._say(index, self._asked, variant)
                if voted is None or self.rng.random() < 0.3:
                    voted = self._say(index, RemoteMember.recommit, EPOCH, proposal.proposal)
                if voted:
                    variant.votes[index].append(voted)

    def _asked(self, member: RemoteMember, variant: Variant) -> CommittedVote:
        if isinstance(variant.proposal, PublicationProposal):
            return member.vote_publication(variant.proposal)
        return member.vote_redaction(variant.proposal, variant.chunks)

    def _certificate(self, variant: Variant, executor: Executor) -> None:
        """Tries to have a variant signed, and writes it to both chains where that succeeds."""
        world, proposal, content = self.world, variant.proposal.proposal, variant.content
        votes = {index: self.rng.choice(some) for index, some in variant.votes.items()}
        for index, ally in self._allies.items():
            votes[index] = ally.vote(proposal, content, self._next())
        least = world.roster.quorum if self.rng.random() < 0.9 else 1
        if len(votes) < least:
            return
        voters = sorted(self.rng.sample([*votes], self.rng.randint(least, len(votes))))
        cosigning = self._cosigning(variant, executor, {index: votes[index] for index in voters})
        digest = attestation_of(cosigning, VOTING)
        attested = self._attested(digest, RemoteMember.attest_cosigning, cosigning)
        cosigning = replace(cosigning, attestations=self._fewer(attested))
        keys = [world.roster.keys[index - 1] for index in voters]
        total, signed = multisignature.total(keys), digest_of(cosigning.certificate, executor, VOTING)
        begun = multisignature.begin(total, signed, cosigning.nonces)
        shares: dict[int, int] = {}
        for index in voters:
            if index in self._allies and begun:
                shares[index] = self._allies[index].share(begun)
            for _ in range(self.rng.choice((1, 1, 2)) if index in self._honest else 0):
                given = self._say(index, RemoteMember.cosign, cosigning)
                shares |= {} if given is None else {index: given}
        with suppress(BlockfulError, ValueError):
            made = multisignature.combine(keys, signed, cosigning.nonces, [shares.get(i, 1) for i in voters])
            self._use(variant, replace(cosigning.certificate, nonce=made.nonce, s=made.s), executor)

    def _cosigning(
        self, variant: Variant, executor: Executor, votes: Mapping[int, CommittedVote]
    ) -> Cosigning:
        ordered = [(index, votes[index]) for index in sorted(votes)]
        return Cosigning(
            EPOCH,
            variant.proposal.proposal,
            executor,
            tuple(CastVote(index, variant.content, each.vote) for index, each in ordered),
            tuple(each.nonces for _, each in ordered),
            tuple(each.pledge for _, each in ordered),
        )

    def _use(self, variant: Variant, certificate: Certificate, executor: Executor) -> None:
        if not self.world.certified(certificate, executor):
            return
        archive = variant.contents[0]
        actions = actions_under(certificate, variant.contents)
        ends = actions[: len(archive)], actions[len(archive) :]
        certified: CertifiedProposal
        if isinstance(variant.proposal, PublicationProposal):
            certified = CertifiedPublication(variant.proposal, ends[0], ends[1][0])
        else:
            certified = CertifiedRedaction(variant.proposal, variant.chunks, *ends)
        for index in self._some(self._honest, 0.3):
            self._say(index, RemoteMember.keep, certified)
        if self.rng.random() < 0.8:
            with suppress(ContractError):
                self.world.archived(certified)
        with suppress(ContractError):
            self.world.settle(certified, certificate)

    def _attested(
        self, digest: bytes, question: Callable[..., bytes], *about: object
    ) -> list[SignedAttestation]:
        found = [SignedAttestation(index, ally.sign(digest)) for index, ally in self._allies.items()]
        for index in self._honest:
            signed = self._say(index, question, *about) if self.rng.random() < 0.9 else None
            if signed or self.rng.random() < 0.3:
                found.append(SignedAttestation(index, signed or self.rng.randbytes(64)))
        return found

    def _fewer(self, attested: list[SignedAttestation]) -> tuple[SignedAttestation, ...]:
        if self.rng.random() < 0.2 and attested:
            return tuple(self.rng.choices(attested, k=len(attested)))
        return tuple(attested)

    def _witness(self, variant: Variant) -> None:
        """Shows votes around, its allies' second ones too, and some under another's name."""
        proposal = variant.proposal.proposal
        cast = [CastVote(i, variant.content, votes[0].vote) for i, votes in variant.votes.items()]
        for index, ally in self._allies.items():
            other = self.rng.randbytes(32)
            digest = eip712.decision_digest(VOTING, EPOCH, proposal, other)
            named = self.rng.choice((index, index, self.rng.randint(0, self.world.size + 1)))
            cast.append(CastVote(named, other, ally.sign(digest)))
        for index in self._some(self._honest, 0.3):
            self._say(index, RemoteMember.witness, EPOCH, proposal, cast)

    def _replay(self) -> None:
        """Old questions, to those whom they were for and to others."""
        for data in self.rng.sample(self.world.asked, min(3, len(self.world.asked))):
            with suppress(BlockfulError):
                self.world.post(str(self.rng.choice(self._honest)), data, 1.0, lambda _: 1 << 30)
                self.world.problems.append("an old question was answered again")

    def _say(self, index: int, question: Callable[..., Answer], *about: object) -> Answer | None:
        """The answer of a member to a method of RemoteMember; None for a refusal."""
        try:
            return question(self._remote[index], *about)
        except BlockfulError:
            return None

    def _some(self, items: Sequence[Answer], share: float) -> list[Answer]:
        return [each for each in items if self.rng.random() < share]

    def _next(self) -> int:
        """A generation, now and then one that was pledged before."""
        self._generation += self.rng.random() < 0.9
        return 1 << 40 | self._generation


def run_case(seed: int) -> bool:
    """Whether an honest leader's decision was executed.  Raises ViolationError, and whatever breaks."""
    rng = Random(seed)
    size = rng.choice((4, 4, 4, 7))
    faulty = rng.sample(range(1, size + 1), rng.randint(0, (size - 1) // 3))
    world = World(size, faulty, rng)
    with watched(world):
        if rng.random() < 0.4:
            Schemer(world).scheme()
        if faulty and rng.random() < 0.15:
            Schemer(world).poison()
        if rng.random() < 0.15:
            for index in rng.sample(range(1, size + 1), rng.randint(1, size // 2)):
                world.places[index].reachable = False
        if rng.random() < 0.2:
            for index in rng.sample(range(1, size + 1), rng.randint(1, size)):
                world.places[index].archive.current = False
        leader = HonestLeader(world, rng.choice((0, rng.randint(-HOUR, HOUR))))
        executed = leader.decide(redaction=rng.random() < 0.5)
        leader.check()
        if rng.random() < 0.2:
            Schemer(world).scheme()
    world.check()
    return executed


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays faulty members and leaders against honest ones.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="of the first case; each next one has the next")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most")
    given = parser.parse_args()
    first = seed = Random().randrange(1 << 32) if given.seed is None else given.seed
    begun, executed = time.monotonic(), 0
    while time.monotonic() < begun + given.seconds and seed < first + given.cases:
        try:
            executed += run_case(seed)
        except Exception:
            sys.stderr.write(f"\nbyzantine: seed {seed} shows a fault; repeat with --seed {seed} --cases 1\n")
            raise
        seed += 1
        if seed % 20 == 0 and sys.stdout.isatty():
            sys.stdout.write(f"\rbyzantine: {seed - first} cases, {executed} decisions executed")
            sys.stdout.flush()
    told = f"{seed - first} cases from seed {first}, {executed} decisions executed, no fault"
    sys.stdout.write(f"\rbyzantine: {told}\n")


if __name__ == "__main__":
    main()
