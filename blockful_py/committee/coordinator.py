# SPDX-License-Identifier: Apache-2.0
"""Leads a committee through a proposal: review, collisions, votes.

The coordinator has no secret and need not be trusted: members check each of its messages, and the contracts
check every certificate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from blockful_py.committee.certificates import (
    CastVote,
    CommittedVote,
    actions_under,
    certify,
    committed_vote,
    recommitted,
    signed_vote,
)
from blockful_py.committee.certified import (
    CertifiedProposal,
    CertifiedPublication,
    CertifiedRedaction,
    DecisionKeeper,
    split_actions,
)
from blockful_py.committee.disputes import Exclusions, Trials, settle
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    PledgedNonces,
    SignedAttestation,
    SignedPledge,
    attestation_digest,
    pairs_digest,
)
from blockful_py.committee.polling import Poll, Refusal, in_turn
from blockful_py.committee.proposals import (
    PublicationProposal,
    RedactionDraft,
    opening_tasks,
    with_openings,
)
from blockful_py.committee.protocols import Voter
from blockful_py.crypto import eip712, merkle
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster, bits
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import aggregate, combine
from blockful_py.errors import CheaterError, QuorumError
from blockful_py.ledger.erasure import Endorsement, erasure_digest
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.ledger.protocols import ArchiveLedger, LiveLedger
from blockful_py.ledger.signed import Executor, unsigned
from blockful_py.types import Action, Address, Bytes32, Certificate, Opening, Point

Answer = TypeVar("Answer")

PAUSES = (1.0, 2.0, 4.0)
"""Seconds between requests for the live chain's certificate, while members' nodes follow the archive."""


class Coordinator:
    """Certifies proposals with `members`; a decision takes `quorum` votes, a collision `threshold` shares.

    `excluded` lists the members excluded from decisions, with reasons.
    """

    def __init__(
        self,
        members: Sequence[Voter],
        key: CommitteeKey,
        roster: Roster,
        domain: eip712.Domain,
        live: LiveLedger,
        archive: ArchiveLedger,
        poll: Poll = in_turn,
        salt: bytes = b"",
        keepers: Sequence[DecisionKeeper] = (),
        leader: Address = bytes(20),
    ) -> None:
        """Leads `members` of the epoch of `roster`; `domain` is the EIP-712 domain of votes.

        `poll` asks the members.  `salt` distinguishes this coordinator's rounds from others on the same
        draft.  `keepers` are members that outlive this process.  `leader` is the address that signs the
        questions to members in other processes.
        """
        self._members = tuple(members)
        self._key = key
        self._roster = roster
        self._quorum = roster.quorum
        self._domain = domain
        self._live = live
        self._archive = archive
        self._poll = poll
        self._salt = salt
        self._keepers = tuple(keepers)
        self._leader = leader
        self.excluded = Exclusions({member.index: member.address for member in members})

    @property
    def group_key(self) -> Point:
        return self._key.group_key

    @property
    def members(self) -> int:
        """Number of members that are asked."""
        return len(self._members)

    @property
    def keepers(self) -> int:
        """Number of members that receive decisions from `hand_over`."""
        return len(self._keepers)

    def certify_publication(self, proposal: PublicationProposal) -> CertifiedPublication:
        """Collects votes on a block and the archive's certificate.

        Raises QuorumError with the members' reasons.
        """
        archive = archive_leaves(self._archive, proposal.archive)
        contents = (archive, (self._live.append_leaf(proposal.block, 0, 1),))
        certificate = self._decide(
            unsigned(proposal.epoch, proposal.proposal, _content(contents)),
            self._archive_executor,
            lambda member: member.vote_publication(proposal),
        )
        actions = split_actions(certificate, contents)
        return CertifiedPublication(proposal, actions[:-1], actions[-1])

    def certify_redaction(
        self, draft: RedactionDraft, reviewed: Callable[[], None] = lambda: None
    ) -> CertifiedRedaction:
        """Has a draft reviewed, makes its collisions, and collects votes and the archive's certificate.

        `reviewed` is called after each approval, from several threads.

        Raises QuorumError with the members' reasons when too few approve.
        """
        needed = max(self._quorum, self._key.threshold)

        def approve(member: Voter) -> None:
            member.approve(draft)
            reviewed()

        approving = self._ask(approve, needed)
        willing = [member for member in self._members if member.index in approving]
        openings = self._collide(draft, willing)
        chunks = with_openings(draft, openings)
        archive = archive_leaves(self._archive, draft.archive)
        contents = (archive, redaction_leaves(self._live, chunks))

        def decide(members: Sequence[Voter]) -> Certificate:
            return self._decide(
                unsigned(draft.epoch, draft.proposal, _content(contents)),
                self._archive_executor,
                lambda each: each.vote_redaction(draft, chunks),
                members,
            )

        try:
            certificate = decide(willing)
        except QuorumError:
            late = self._late(draft, willing)
            if not late:
                raise
            certificate = decide([*willing, *late])
        actions = split_actions(certificate, contents)
        return CertifiedRedaction(draft, chunks, actions[: len(archive)], actions[len(archive) :])

    def endorse_erasure(self, epoch: int, statement: bytes) -> Endorsement:
        """Collects a quorum's signatures on a statement, which each member checks against the chains.

        Raises QuorumError with the members' reasons when too few sign.
        """
        digest = erasure_digest(self._domain, epoch, statement)
        replies = self._ask(
            lambda member: signed_vote(member, member.vote_erasure(epoch, statement), digest), self._quorum
        )
        return Endorsement(epoch, {index: replies[index] for index in sorted(replies)[: self._quorum]})

    def certify_motion(self, motion: Motion, leaf: bytes, executor: Executor) -> Action:
        """Collects votes on a motion that allows the call of `leaf`.  Raises QuorumError with reasons."""
        certificate = self._decide(
            unsigned(motion.epoch, motion.proposal, merkle.root((leaf,))),
            executor,
            lambda member: member.vote_motion(motion),
        )
        (action,) = actions_under(certificate, ((leaf,),))
        return action

    def release(self, certificate: Certificate) -> Certificate:
        """Obtains the live chain's certificate for a decision that the archive holds completely.

        Each member asks its own node, which may be behind the leader's, so members are asked again a few
        times after a refusal.  Raises QuorumError with the members' reasons.
        """
        executor = Executor(self._live.chain_id, self._live.address)
        pauses = iter(PAUSES)
        while True:
            try:
                votes = recommitted(
                    certificate, self._domain, self._members, self._poll, self._quorum, self.excluded.note
                )
                return self._certify(certificate, executor, votes)
            except QuorumError:
                pause = next(pauses, None)
                if pause is None:
                    raise
                time.sleep(pause)

    def hand_over(self, certified: CertifiedProposal) -> None:
        """Sends a decision to the members that finish it if the leader does not."""
        self._poll(self._keepers, lambda keeper: keeper.keep(certified), self._quorum)

    def _late(self, draft: RedactionDraft, willing: Sequence[Voter]) -> list[Voter]:
        """Members that approve now but did not when first asked."""
        known = {member.index for member in willing}
        others = [member for member in self._members if member.index not in known]
        replies = self._poll(others, lambda member: member.approve(draft), 1)
        return [member for member in others if not isinstance(replies[member.index], Refusal)]

    def _collide(self, draft: RedactionDraft, willing: list[Voter]) -> tuple[Opening, ...]:
        """Makes the collisions with t members and nonces that a quorum attests.

        A member that cheats is excluded and the rounds are repeated.  When too few remain, members that
        approve late join `willing`.
        """
        tasks = opening_tasks(draft, self._live.chain_id, self._live.address)
        honest = list(willing)
        trials, doubted = Trials(), frozenset[int]()
        attempt = 0
        while True:
            if len(honest) < self._key.threshold:
                late = self._late(draft, willing)
                willing += late
                honest += late
            if len(honest) < self._key.threshold:
                raise QuorumError(
                    f"{len(honest)} members remain, {self._key.threshold} are needed for a collision; "
                    "nothing was changed. " + "; ".join(self.excluded.told())
                )
            able = [member for member in honest if member.index not in doubted]
            signers = sorted(able[: self._key.threshold], key=lambda member: member.index)
            session = CollisionSession(
                draft.epoch,
                draft.proposal,
                draft.digest(),
                self._leader,
                bits(member.index for member in signers),
                keccak(attempt.to_bytes(4, "big") + self._salt),
            )
            try:
                return self._rounds(draft, tasks, signers, session)
            except CheaterError as error:
                attempt += 1
                self.excluded.note(error.members, f"{error.what} does not check out")
                honest = [member for member in honest if member.index not in error.members]
            except QuorumError as error:
                attempt += 1
                doubted = trials.after(error)

    def _rounds(
        self,
        draft: RedactionDraft,
        tasks: Sequence[Task],
        signers: Sequence[Voter],
        session: CollisionSession,
    ) -> tuple[Opening, ...]:
        """Runs both rounds of a collision session.

        Raises CheaterError with the members that refuse, answer for another session, or answer wrongly.
        """
        batch = (session.identifier(self._domain), len(tasks))

        def pledged(member: Voter, answer: PledgedNonces) -> bool:
            given = answer.commitments
            belongs = (given.signer, given.session, len(given.pairs)) == (member.index, *batch)
            return belongs and answer.pledge.is_by(member.address, self._domain)

        committed = self._round(signers, lambda member: member.commit(draft, session), pledged)
        commitments = [each.commitments for each in committed]
        nonces = aggregate(self._key, commitments)
        pledges = [each.pledge for each in committed]
        attestations = self._attestations(session, pledges, pairs_digest(nonces.pairs))
        shown = tuple(each.pledge for each in pledges)
        attested = AttestedNonces(session, shown, nonces.pairs, attestations)
        shares = self._round(
            signers,
            lambda member: member.sign(draft, attested),
            lambda member, answer: (
                (answer.signer, answer.session, len(answer.values)) == (member.index, *batch)
            ),
        )
        return combine(self._key, tasks, commitments, nonces, shares)

    def _attestations(
        self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: Bytes32
    ) -> tuple[SignedAttestation, ...]:
        """Attestations by a quorum that each generation of nonces is pledged once.

        Raises CheaterError with the signers that more members accuse than can be faulty.  Otherwise, raises
        QuorumError with the members' reasons when too few attest.
        """
        identifier = session.identifier(self._domain)
        digest = attestation_digest(self._domain, identifier, [each.pledge for each in pledges], nonces)
        replies = self._poll(
            self._members,
            lambda member: signed_vote(member, member.attest(session, pledges, nonces), digest),
            self._quorum,
        )
        self.excluded.note_cheats(replies)
        attesting = {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
        if len(attesting) >= self._quorum:
            return tuple(SignedAttestation(i, attesting[i]) for i in sorted(attesting)[: self._quorum])
        raise settle(
            replies,
            session.indices,
            self._key.size - self._quorum,
            f"{len(attesting)} of {len(self._members)} members agree, {self._quorum} are needed; nothing was "
            "changed. ",
        )

    def _round(
        self,
        signers: Sequence[Voter],
        question: Callable[[Voter], Answer],
        belongs: Callable[[Voter, Answer], bool],
    ) -> list[Answer]:
        """Collects every signer's answer.

        Raises CheaterError with the signers that refuse or whose answer does not belong to the question.
        """
        replies = self._poll(signers, question, len(signers))
        answers = []
        failed = []
        for member in signers:
            answer = replies[member.index]
            if isinstance(answer, Refusal):
                failed.append(member.index)
                self.excluded.note([member.index], f"failed in a round of collisions: {answer.reason}")
            elif not belongs(member, answer):
                failed.append(member.index)
            else:
                answers.append(answer)
        if failed:
            raise CheaterError(failed, "the answer in a round of collisions")
        return answers

    @property
    def _archive_executor(self) -> Executor:
        return Executor(self._archive.chain_id, self._archive.address)

    def _certify(
        self, certificate: Certificate, executor: Executor, votes: Mapping[int, CommittedVote]
    ) -> Certificate:
        place = (certificate, executor, self._roster, self._domain)
        return certify(*place, self._members, votes, self._poll, self.excluded.note)

    def _decide(
        self,
        certificate: Certificate,
        executor: Executor,
        question: Callable[[Voter], CommittedVote],
        members: Sequence[Voter] | None = None,
    ) -> Certificate:
        """Collects votes on an unsigned certificate and has it signed.

        With fewer votes than a quorum, the votes still go to the members, so that they detect equivocation.
        """
        epoch, proposal, content = certificate.epoch, certificate.proposal, certificate.content_hash
        digest = eip712.decision_digest(self._domain, epoch, proposal, content)
        asked = self._members if members is None else members
        replies = self._poll(
            asked, lambda member: committed_vote(member, question(member), digest, self._domain), self._quorum
        )
        self.excluded.note_cheats(replies)
        votes = {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
        if len(votes) < self._quorum:
            ballots = [CastVote(index, content, each.vote) for index, each in votes.items()]
            self._poll(self._keepers, lambda keeper: keeper.witness(epoch, proposal, ballots), self._quorum)
            raise self._refused(replies, self._quorum)
        return self._certify(certificate, executor, votes)

    def _ask(self, question: Callable[[Voter], Answer], needed: int) -> dict[int, Answer]:
        replies = self._poll(self._members, question, needed)
        self.excluded.note_cheats(replies)
        answers = {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
        if len(answers) < needed:
            raise self._refused(replies, needed)
        return answers

    def _refused(self, replies: Mapping[int, object], needed: int) -> QuorumError:
        reasons = [f"member {i}: {each.reason}" for i, each in replies.items() if isinstance(each, Refusal)]
        return QuorumError(
            f"{len(replies) - len(reasons)} of {len(self._members)} members agree, {needed} are needed; "
            "nothing was changed. " + "; ".join(reasons)
        )


def _content(contents: Sequence[Sequence[bytes]]) -> bytes:
    return merkle.root([leaf for leaves in contents for leaf in leaves])
