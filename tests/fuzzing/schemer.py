# SPDX-License-Identifier: Apache-2.0
"""A faulty leader, with all faulty members at its side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random

from blockful_py.committee import wire
from blockful_py.committee.certificates import (
    CastVote,
    CommittedVote,
    Cosigning,
    actions_under,
    attestation_of,
    pair_digest,
)
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication, CertifiedRedaction
from blockful_py.committee.drafting import Replacement
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    Pledge,
    PledgedNonces,
    SignedAttestation,
    SignedPledge,
    attestation_digest,
    pairs_digest,
)
from blockful_py.committee.proposals import (
    PublicationProposal,
    RedactionChunk,
    RedactionDraft,
    opening_tasks,
    with_openings,
)
from blockful_py.committee.service.remote import RemoteMember
from blockful_py.crypto import curve, eip712, merkle, multisignature, signature
from blockful_py.crypto.roster import bits
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine
from blockful_py.errors import (
    BlockfulError,
    ContractError,
)
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.ledger.signed import Executor, digest_of
from blockful_py.types import Certificate, Position
from tests.colluders import summed
from tests.fuzzing.byzantine_world import (
    HOUR,
    MESSAGES,
    NOW,
    VOTING,
    Answer,
    World,
)
from tests.fuzzing.ledgers import EPOCH


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
    """One content that a schemer shows for a proposal, and its honest votes."""

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
        """Shows one proposal in up to two variants, with steps left out, repeated or reordered."""
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
        """Redactions with collisions."""
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
        """Makes two attempts with the nonces of one session and different nonces of the allies."""
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
                    pledge = Pledge(identifier, index, self._next(), pairs_digest(given.pairs))
                    signed = self._allies[index].sign(eip712.digest(VOTING, pledge))
                    pledged[index] = PledgedNonces(given, pledge.generation, signed)
            known = [pledged[index] for index in signers]
            if not all(known):
                return ()
            shown = tuple(each for each in known if each)
            pledges = [each.pledge for each in shown]
            commitments = [each.commitments for each in shown]
            sums = summed(shown)
            if self.rng.random() < 0.3:
                sums = tuple((e, d) for d, e in sums)  # signers cannot tell, and need not
            given_out = [each.pledge for each in pledges]
            digest = attestation_digest(VOTING, identifier, given_out, pairs_digest(sums))
            attested = self._attested(digest, RemoteMember.attest, session, pledges, pairs_digest(sums))
            nonces = AttestedNonces(session, tuple(given_out), sums, self._fewer(attested))
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
        """Asks members for votes: some for several variants, some for none, some repeatedly."""
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
        """Tries to have a variant signed, and writes it to both chains if that succeeds."""
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
        """Shows votes around, including its allies' second ones, and some under another's name."""
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
        """Repeats old questions, to their recipients and to others."""
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
        """A generation, now and then one pledged before."""
        self._generation += self.rng.random() < 0.9
        return 1 << 40 | self._generation
