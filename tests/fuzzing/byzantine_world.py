# SPDX-License-Identifier: Apache-2.0
"""A committee whose messages go through the real handlers, and the checks of these messages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

from blockful_py.committee import codec, coordinator, wire
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import CommittedVote, Cosigning, attestation_of
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication
from blockful_py.committee.drafting import NewModel, Proposer
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot, VolatileMemory
from blockful_py.committee.outbox_store import Note, OutboxStore
from blockful_py.committee.pledges import (
    SignedPledge,
    attestation_digest,
    pairs_digest,
)
from blockful_py.committee.proposals import (
    PublicationProposal,
    RedactionDraft,
)
from blockful_py.committee.service import member_client
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import Deadlines, LimitOf, MemberClient
from blockful_py.committee.service.messages import AttestRequest, SignRequest
from blockful_py.committee.service.office import Seat
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.remote import RemoteMember
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.crypto import curve, eip712, multisignature, signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold import response, signing
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.errors import (
    RefusedError,
    TooLongError,
    UnreachableError,
)
from blockful_py.ledger.signed import Executor, require_signed
from blockful_py.types import Certificate, Codec, Uri
from tests.committee.service.dealers import Hall, Shelf
from tests.crypto.committee import Ceremony
from tests.fuzzing.ledgers import EPOCH, LateArchive, MemoryArchive, MemoryLive, ViolationError
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
"""Answers checked one by one; shares are checked only once all have arrived."""

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
    """A reviewer that accepts every model unless its digest begins with WRONG_BYTE."""

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
    """A member process's view of the world; EPOCH is the current one."""

    def __init__(self, member: Member, leaders: frozenset[bytes]) -> None:
        self._seat = Seat(member, lambda: 0)
        self._leaders = leaders

    def domain(self) -> eip712.Domain:
        return MESSAGES

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()

    def may_lead(self, address: bytes) -> bool:
        return address in self._leaders

    def is_participant(self, address: bytes) -> bool:
        return False

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
    """The chains, the members and their messages."""

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
        """Number of answers with each pair of nonces."""
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
        return Proposer(self.live, self.archive, self.roster.group_key, EPOCH, self.rng.choice((1, 8)))

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

    def post(self, url: str, data: bytes, seconds: float, limit_of: LimitOf, *more: object) -> bytes:
        """Replaces `client.post`."""
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
        """Whether a certificate is valid; records its subject."""
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
        """Checks all invariants.  Raises ViolationError."""
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
        """Records answers that an honest member must not give."""
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
            pledged = [each.pledge for each in request.pledges]
            digest = attestation_digest(VOTING, request.session.identifier(VOTING), pledged, request.nonces)
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
            digest = attestation_digest(
                VOTING, nonces.session.identifier(VOTING), nonces.pledges, pairs_digest(nonces.sums)
            )
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
    """Sends messages through `world`, which sees every answer with a nonce; waits are skipped.

    Computations that all members share are done once.
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
