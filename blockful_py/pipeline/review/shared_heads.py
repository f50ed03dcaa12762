# SPDX-License-Identifier: Apache-2.0
"""A member's side of opening a head: what may be opened, and the run with the other members."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from blockful_py.committee import codec, wire
from blockful_py.committee.service.messages import HeadAnswer, HeadRequest
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.rounds import Protocol, Sent, side_by_side
from blockful_py.errors import CheaterError, MessageError, RefusedError, RefutedError
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.shared_files import FIELD, DealtPart, PartComplaint, threshold_of
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD, head_weights
from blockful_py.learning.models.ridge import Head
from blockful_py.learning.shared_parts import require_rest
from blockful_py.learning.shared_sums import SharedSums
from blockful_py.learning.weights import to_bytes
from blockful_py.pipeline.coordination.sharers import Sharers
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.share_reader import (
    DEALT,
    ShareReader,
    agreed,
    owner_of,
    packed_names,
    same_members,
)
from blockful_py.pipeline.review.share_runs import ShareRuns
from blockful_py.pipeline.review.shared_pools import (
    SharedPool,
    pool_after,
    pool_at_publication,
    require_losses,
    samples_of,
)
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.record.fields import first_error
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.record.parts import announced
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SharedPart
from blockful_py.types import Address, Bytes32, Position

OLD = "/"
"""Before a model's name: its old part.  No name has it."""


@dataclass(frozen=True)
class _AskedHead:
    """A head that may be opened.

    Attributes:
        new: its model's part, if it is to be checked.
        old: the part that `new` is to follow, by a request that names these `rows`; None at publication.
    """

    pool: SharedPool
    version: int
    new: SharedPart | None = None
    old: SharedPart | None = None
    rows: frozenset[int] = frozenset()

    def parts(self) -> dict[str, SharedPart]:
        """The parts of which it needs shares, by model; the old one under a name that no model has."""
        old = {} if self.old is None else {_old(self.pool.name): self.old}
        return {name: part for name, part in {**self.pool.parts, **old}.items() if part.classes}


@dataclass(frozen=True)
class HeadOpener:
    """Opens heads for one member; `handed` are the shares that others handed on to it."""

    sources: ReviewSources
    runs: ShareRuns
    members: Sharers
    handed: HandedShares

    def open(self, asking: wire.Message, asked: HeadRequest) -> HeadAnswer:
        """The heads asked for, opened with the other members, and kept for the review of their versions.

        Raises RefusedError for a head that the sender may not have opened, or shares that do not fit; and as
        `SharedRounds.run`.
        """
        found = self._asked(asking.sender, asked)
        for each in found:
            self.sources.heads.require_few(each.pool, each.version)
        features, classes = initial_weights(self.sources.setup.federation)[HEAD].shape
        runs = [each for each in found if each.new or each.pool.suffices(features)]
        heads = self._run(asking, runs, features) if runs else []
        by_name = {each.pool.name: head for each, head in zip(runs, heads, strict=True)}
        answer = []
        for each in found:
            weights = head_weights(by_name.get(each.pool.name), features, classes)
            self.sources.heads.keep(each.pool, each.version, weights)
            answer.append(to_bytes(weights))
        return HeadAnswer(tuple(answer))

    def _asked(self, sender: Address, asked: HeadRequest) -> list[_AskedHead]:
        if len({*asked.names}) != len(asked.names) or not asked.names:
            raise RefusedError("heads are asked for by model, each once")
        if not asked.part:
            require(sender in self.members.addresses, "only members ask for heads without their owner's part")
            status = self._status(asked)
            return [self._for_request(status, name, {}) for name in asked.names]
        require(len(asked.names) == 1, "a part is of one model")
        (name,), part = asked.names, parse_part(asked.part)
        self._require_owner(sender, name)
        require(
            part.epoch == self.members.epoch, f"the part of {name} is dealt to members of an epoch before"
        )
        known = self.sources.setup.architecture.class_count
        strange = sorted(label for label in samples_of(part) if label >= known)
        require(not strange, f"the part of {name} has unknown classes {', '.join(map(str, strange))}")
        require(bool(part.classes), f"the part of {name} has no samples")
        if asked.request:
            return [self._for_request(self._status(asked), name, {name: part})]
        return [self._new(name, asked.references, part)]

    def _new(self, name: str, at: tuple[Position, ...], part: SharedPart) -> _AskedHead:
        """A model that its owner is about to publish, with references at these places."""
        sources = self.sources
        catalogue = sources.record.catalogue.read()
        require(name not in catalogue.models, f"model {name} is published")
        require(part.proof is not None and not part.struck, f"model {name} comes without a proof of its part")
        places = {placed.position: each for each, placed in catalogue.with_weights.items()}
        strangers = [str(each) for each in at if each not in places]
        require(not strangers, f"there is no model with weights at {', '.join(strangers)}")
        references = tuple(places[each] for each in at)
        awaited = sources.docket.awaited() if sources.docket else frozenset[str]()
        waiting = sorted(awaited.intersection(references))
        require(not waiting, f"a request is about to replace {', '.join(waiting)}: ask once that is done")
        return _AskedHead(pool_at_publication(name, references, part, catalogue), 0, part)

    def _status(self, asked: HeadRequest) -> RequestStanding:
        """The open request that heads are asked for."""
        if self.sources.docket is None:
            raise RefusedError("there are no requests in a laboratory")
        status = self.sources.docket[asked.request]
        require(status.stage.is_open, f"request {asked.request} is {status.stage}")
        return status

    def _for_request(self, status: RequestStanding, name: str, new: Mapping[str, SharedPart]) -> _AskedHead:
        """A version for an open request; of a start whose owner deals anew, from its `new` part."""
        require(name in status.missing, f"request {status.number} does not wait for a version of {name}")
        by_owners = announced(status.request, status.record)
        require(by_owners.issuperset(new), f"the owner of {name} has nothing to deal for this request")
        dealt = {**self._handed_in(status, by_owners), **new}
        require_losses(status.request, dealt, status.record)
        placed, pool = status.record[name], pool_after(name, status.request, status.record, dealt)
        version = placed.version + 1
        if name not in new:
            return _AskedHead(pool, version)
        rows = frozenset(status.request.forget.rows(placed.node.statement.user))
        return _AskedHead(pool, version, new[name], placed.node.shared, rows)

    def _handed_in(self, status: RequestStanding, by_owners: Collection[str]) -> dict[str, SharedPart]:
        store, found = self.sources.store, dict[str, SharedPart]()
        for name, uri in status.newest_parts.items():
            node = parse_node(store.read(uri, MAX_NODE_BYTES))
            if name in by_owners and node.shared is not None:
                found[name] = node.shared
        return found

    def _require_owner(self, sender: Address, name: str) -> None:
        entry = self.sources.contracts.participants.participant(sender)
        user = owner_of(self.sources.setup, name)
        require(entry.since > 0 and entry.number == user, f"model {name} belongs to another participant")

    def _run(self, asking: wire.Message, asked: Sequence[_AskedHead], features: int) -> list[Head | None]:
        """Runs the protocols of all heads with the other members that are there and have the same shares."""
        members, reader = self.members, ShareReader(self.sources, self.handed, self.runs.secret, features)
        new = {each.pool.name for each in asked if each.new is not None}
        parts = {name: part for each in asked for name, part in each.parts().items()}
        first = min((part.epoch for part in parts.values()), default=members.epoch)
        epochs = same_members(self.sources.contracts.committee, members.epoch, first)
        own = {name: reader.names(part, epochs) for name, part in parts.items()}
        lacking = sorted({name.removeprefix(OLD) for name, each in own.items() if not each})
        require(
            not lacking,
            f"this member has no shares of the sums of {', '.join(lacking)}: they were dealt to members of "
            "earlier epochs, who have not handed them on to it yet",
        )
        index = members.addresses.index(self.runs.address) + 1
        for name, part in parts.items():
            if name not in new and DEALT in own[name]:
                self._require_fitting(name.removeprefix(OLD), part, index, reader)
        subject = keccak(asking.subject + asking.sender + b"".join(each.pool.digest() for each in asked))
        with self.runs.begin(members.epoch, subject, members.keys, members.clients) as rounds:
            left_out = self.runs.left_out.among(rounds.parties)
            words = rounds.call_roll(left_out, members.most_absent, packed_names(own))
            chosen, there = agreed(parts, {j: word for j, (word,) in words.items()})
            everybody = range(1, len(members.keys) + 1)
            absent = frozenset(everybody) - there
            self.runs.go_on_without(rounds, absent, everybody, members.most_absent)
            size = len(members.keys)
            holder = Shareholder(index, threshold_of(size), size, FIELD, reader.context, system_rng, absent)
            protocols = [self._protocol(holder, chosen, each, reader, subject.hex()) for each in asked]
            return rounds.run(side_by_side(protocols))

    def _require_fitting(self, name: str, part: SharedPart, index: int, reader: ShareReader) -> None:
        """Checks a part that was dealt while this member was absent."""
        if part.proof is None or part.proof in self.sources.heads.checked:
            return
        dealt = reader.dealt(name, part, self.members.keys)
        require(
            dealt.complaint(index, self.runs.secret) is None,
            f"the owner of {name} dealt this member wrong shares while it was absent: it takes no part in "
            "heads that follow from them",
        )
        self.sources.heads.checked.add(part.proof)

    def _protocol(
        self,
        holder: Shareholder,
        chosen: Mapping[str, Bytes32],
        asked: _AskedHead,
        reader: ShareReader,
        use: str,
    ) -> Protocol[Head | None]:
        """Checks a new part, and opens the head if the pool suffices."""
        pool, features = asked.pool, reader.features
        if asked.new is not None:
            dealt = reader.dealt(pool.name, asked.new, self.members.keys)
            yield from self._settled(holder.index, dealt, asked.new.proof or "")
        if asked.new is not None and asked.old is not None:
            before = reader.samples(pool.name, asked.old, chosen[_old(pool.name)], holder.index)
            after = reader.samples(pool.name, asked.new, DEALT, holder.index)
            try:
                yield from require_rest(holder, before, after, asked.rows, dealt.dealing_proof().commitments)
            except RefutedError as error:
                raise RefutedError(
                    f"the owner of {pool.name} dealt a part that is not the rest: {error}"
                ) from None
        if not pool.suffices(features):
            return None
        self.sources.heads.begin(pool, asked.version)
        classes = self.sources.setup.architecture.class_count
        sums = SharedSums(holder, pool.graph, classes, features * (features + 1) // 2)
        for name, part in pool.parts.items():
            of = chosen.get(name, DEALT)
            sums.take(name, reader.share(name, part, of, holder.index, classes))
            sums.struck[name] = frozenset(part.struck)
        return (yield from sums.head(pool.name, use))

    def _settled(self, index: int, part: DealtPart, proof: str) -> Protocol[None]:
        """Checks a new part with the others.

        Raises RefutedError if a member proves that its shares are wrong, CheaterError of members that
        complain of right ones: all members come to the same.
        """
        own = part.complaint(index, self.runs.secret)
        told = yield Sent(None if own is None else codec.encode(own))
        complaints = {j: each for j, each in told.public.items() if each is not None}
        right = sorted(j for j, each in complaints.items() if _is_right(part, j, each))
        if right:
            raise RefutedError(
                f"the owner of {part.place.name} dealt member(s) {', '.join(map(str, right))} wrong shares, "
                "which they proved: it is to deal anew"
            )
        if complaints:
            raise CheaterError(sorted(complaints), "a complaint about right shares")
        self.sources.heads.checked.add(proof)


def _old(name: str) -> str:
    return OLD + name


def _is_right(part: DealtPart, member: int, complaint: object) -> bool:
    try:
        return isinstance(complaint, bytes) and part.is_right(member, codec.decode(PartComplaint, complaint))
    except MessageError:
        return False


def parse_part(data: bytes) -> SharedPart:
    """The part in canonical JSON.  Raises RefusedError."""
    try:
        return SharedPart.model_validate_json(data)
    except ValidationError as error:
        raise RefusedError(f"a shared part is malformed: {first_error(error)}") from None
