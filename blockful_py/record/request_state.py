# SPDX-License-Identifier: Apache-2.0
"""A filed request as a state machine, computed from the record alone: models reached, due parts, end.

filed -> open -> partly carried out -> carried out
  |        `-----------`------------> lapsed
  `-> dismissed

docs/explanation/requests.md explains the transitions and their deadlines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol

from blockful_py.forget import Level
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.commitments import first_commitment, is_commitment
from blockful_py.record.parts import announced, is_replaced
from blockful_py.record.request import Request
from blockful_py.record.shown import STARTS_ONLY, by_waves, is_exact, is_passing
from blockful_py.record.waves import PartHandedIn, Waves, waves_of
from blockful_py.types import Address, Paradigm, Position, RequestState, Uri

MOST_UNUSED = 4
"""Number of unused parts of a model by whose nodes members find the keys to destroy with a request."""


class Filed(Protocol):
    """A request on the chain; block numbers count blocks of the live chain's node."""

    @property
    def number(self) -> int: ...

    @property
    def by(self) -> bytes: ...

    @property
    def uri(self) -> Uri: ...

    @property
    def blocks(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def block_number(self) -> int: ...

    @property
    def state(self) -> RequestState: ...

    @property
    def decided(self) -> int: ...

    @property
    def deadline(self) -> int: ...


class RequestStage(StrEnum):
    """The stage of a request."""

    FILED = "filed"
    """The committee has not decided whether it admits it."""
    OPEN = "open"
    """Admitted; no model was replaced for it."""
    PARTLY = "partly carried out"
    """Some models were replaced for it, others wait."""
    CARRIED_OUT = "carried out"
    """Every model that it reaches was replaced, withdrawn, or left alone by passing."""
    LAPSED = "lapsed"
    """Its time is over; models not replaced by then stay unchanged."""
    DISMISSED = "dismissed"
    """The committee has refused it, or could not read it."""

    @property
    def is_open(self) -> bool:
        """Whether work on it goes on."""
        return self in (RequestStage.OPEN, RequestStage.PARTLY)


@dataclass(frozen=True, slots=True)
class Rules:
    """The federation's rules for requests.

    Attributes:
        blocks: number of blocks of the live chain's node in which an owner does its part for one model.
        withdraws: whether members withdraw a model whose owner has not done its part by then.
        attested: whether members take owners' word for clients and samples.
    """

    blocks: int
    withdraws: bool
    attested: bool = False


@dataclass(frozen=True, eq=False)
class RequestStanding:
    """A filed request with the current record, and its state computed from both.

    It reaches only models that were published before it was filed; `record` holds only those.

    Attributes:
        record: the current versions of models up to the height at which the request was filed.
        earlier: requests that were admitted before it and may reach the same models.
        handed_in: parts and commitments that were handed in for it, oldest first.
        now: number of the newest block of the live chain's node.
    """

    filed: Filed
    request: Request
    record: Catalogue
    earlier: tuple[Request, ...]
    handed_in: Sequence[PartHandedIn]
    now: int
    rules: Rules

    @property
    def number(self) -> int:
        return self.filed.number

    @property
    def is_parallel(self) -> bool:
        return self.request.paradigm == Paradigm.PARALLEL

    @cached_property
    def affected(self) -> tuple[str, ...]:
        """The starts and their descendants, in topological order."""
        starts = [start.name for start in self.request.starts]
        wanted = {*starts, *self.record.graph.descendants(starts)}
        return tuple(name for name in self.record.graph.topological_order() if name in wanted)

    @property
    def is_by_waves(self) -> bool:
        """Whether owners need the clean models of their references, affected or not, for their parts."""
        return by_waves(self.request)

    @cached_property
    def auxiliary(self) -> tuple[str, ...]:
        """The unaffected ancestors whose owners hand in clean models, in topological order.

        These are never published: they serve the parts below them, and are destroyed with the request.  None
        for clients and samples, whose owners' models are all starts: the data has reached no ancestor.  The
        owner of a stored clean model is asked if it can show its training to owners of parts below it.
        """
        if not self.is_by_waves or self.request.forget.owners():
            return ()
        graph, with_parts = self.record.graph, {*self.affected}
        ancestors = [name for name in graph.ancestors(self.affected) if name in self.record.with_weights]
        for name in reversed(ancestors):
            shows = self._is_checkable(name) and not with_parts.isdisjoint(graph.heirs(name))
            if shows or name not in self.settled:
                with_parts.add(name)
        return tuple(name for name in ancestors if name in with_parts)

    def _is_checkable(self, name: str) -> bool:
        """Whether the training of a settled model's clean model can be shown."""
        entry = self.record[name].node.increment(self.request.classes[0]) if name in self.settled else None
        return entry is not None and entry.checkable

    def has_committed(self, name: str) -> bool:
        """Whether the owner of an auxiliary model committed to a training before its part, or in its time."""
        timely = (each for each in self.before_part(name) if each.block_number <= self.due_until(name))
        return first_commitment(self.record, name, timely) is not None

    @cached_property
    def settled(self) -> frozenset[str]:
        """The models whose stored clean models serve the request, without a part of their owners.

        Empty if affected models must forget more than one class: a stored model leaves out that one alone.
        """
        answers = (each for name in self.affected for each in self.record[name].answers)
        is_one_class = self.is_by_waves and len(self.request.classes) == 1
        if not is_one_class or any(each.request != self.request for each in answers):
            return frozenset()
        return self.record.settled(self.request.classes[0])

    @cached_property
    def with_parts(self) -> frozenset[str]:
        """The models whose owners do a part of the request."""
        if is_exact(self.request) or self.request.method.partition(" ")[0] in STARTS_ONLY:
            return announced(self.request, self.record)
        return frozenset((*self.affected, *self.auxiliary))

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """The affected models that the request has yet to replace, in topological order.

        Withdrawn models are left out, since they have no weights.
        """
        if self._is_passed_on:
            return ()
        return tuple(
            name
            for name in self.affected
            if name in self.record.with_weights
            and not self._has_answered(name)
            and name not in self.decided_without
        )

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The models that it has yet to replace and the clean ones that it lacks, in topological order."""
        names = {*self.missing, *self._unanswered}
        return tuple(name for name in self.record.graph.topological_order() if name in names)

    @property
    def withdrawn(self) -> tuple[str, ...]:
        """The models that the request has withdrawn, unless their owners have published them again."""
        return tuple(
            name
            for name in self.affected
            if name not in self.record.with_weights and is_replaced(self.record[name], self.request)
        )

    @cached_property
    def stage(self) -> RequestStage:
        """The stage of the request."""
        match self.filed.state:
            case RequestState.DISMISSED:
                return RequestStage.DISMISSED
            case RequestState.ADMITTED:
                if not self.missing:
                    return RequestStage.CARRIED_OUT
                if self._is_over:
                    return RequestStage.LAPSED
                begun = any(self._has_answered(name) for name in self.affected)
                return RequestStage.PARTLY if begun else RequestStage.OPEN
            case _:
                return RequestStage.FILED

    @property
    def is_complete(self) -> bool:
        """Whether every part of a parallel request has been handed in or carried out."""
        return set(self.missing) & self.with_parts == self.newest_parts.keys()

    @property
    def ready(self) -> tuple[str, ...]:
        """The models that a member can have replaced while the request is open, in topological order.

        In parallel all, once their parts are there.  In sequence, by an exact method, the models that need no
        part, once their references are replaced.
        """
        if self.is_parallel:
            return self.missing if self.is_complete else ()
        if not is_exact(self.request):
            return ()
        return tuple(name for name in self.after_references(self.missing) if name not in self.with_parts)

    @property
    def awaited(self) -> frozenset[str]:
        """The models that the request is about to replace; no new model may build on them until then.

        Empty before its first part is there, so that an unanswered request blocks no training.
        """
        begun = self.stage is RequestStage.PARTLY or (self.stage is RequestStage.OPEN and bool(self.ready))
        return frozenset(self.missing) if begun else frozenset()

    def due(self, account: Address) -> tuple[str, ...]:
        """The models of an account whose parts can be done now; withdrawn ones can come back."""
        if self.is_parallel:
            taken = self.stage.is_open and self.now < self.filed.deadline
            return self.after_references(self.owed(account)) if taken else ()
        if self.stage in (RequestStage.FILED, RequestStage.LAPSED, RequestStage.DISMISSED):
            return ()
        back = self._owned((name for name in self.withdrawn if name not in self.emptied), account)
        return self.after_references((*self.owed(account), *back))

    def owed(self, account: Address) -> tuple[str, ...]:
        """The models of an account whose parts the request waits for, now or later."""
        if not self.stage.is_open:
            return ()
        wanted = (name for name in self._unanswered if name in self.with_parts and name not in self.emptied)
        return self._owned(wanted, account)

    @cached_property
    def emptied(self) -> frozenset[str]:
        """The models of which nothing would be left: they inherit from no model with weights any more.

        Their owners are leaving clients, or can show no training, so that they could only start anew and
        would end no better than chance.  Empty where members withdraw no model.
        """
        if not self.withdraws:
            return frozenset()
        gone = set[str]()
        for name in self.affected:
            left = set(self.record.graph.references(name)) & self.record.with_weights.keys() - gone
            if not left and not self._can_train(name):
                gone.add(name)
        return frozenset(gone)

    def _can_train(self, name: str) -> bool:
        """Whether the owner of a model may hand in a training for this request."""
        statement, forget = self.record[name].node.statement, self.request.forget
        is_shown = forget.level is Level.CLASS or self.rules.attested or statement.samples is not None
        return is_shown and statement.user not in forget.clients

    def unanswered(self) -> tuple[str, ...]:
        """The models to be withdrawn: emptied ones, and the last resort, ones whose owners' time is over.

        Empty in the parallel paradigm unless by waves, since only signers of the request hand in.
        """
        if not self.withdraws or not self.stage.is_open:
            return ()
        late = self.after_references(self._unanswered)
        return tuple(
            name
            for name in late
            if name in self.missing and (name in self.emptied or self.now > self.due_until(name))
        )

    def after_references(self, names: Iterable[str]) -> tuple[str, ...]:
        """The models whose references the request does not wait for."""
        waiting = set(self._unanswered) if self.is_by_waves or not self.is_parallel else set[str]()
        return tuple(name for name in names if not waiting.intersection(self.record.graph.references(name)))

    def presses(self, names: Iterable[str]) -> bool:
        """Whether the owner of one of these models has less than half of its time left for its part."""
        left = [self.due_until(name) - self.now for name in names if name in self._unanswered]
        return bool(left) and 2 * min(left) < self.rules.blocks

    def due_until(self, name: str) -> int:
        """Last block in which the owner of a model can do its part."""
        if self.is_parallel and not self.is_by_waves:
            return self.filed.deadline
        return self.due_since(name) + self.rules.blocks

    def due_since(self, name: str) -> int:
        """Block since which the owner of a model has been able to do its part.

        The references' parts come first, unless another request has withdrawn them.  An owner does one part
        after another, so its time counts from its last part for this request or an earlier one.
        """
        if self.is_by_waves:
            return self._waves.since[name]
        affected = [self.record[each] for each in self.record.graph.references(name) if each in self._reached]
        answers = ((placed, placed.answer_to(self.request)) for placed in affected)
        settled = [placed.since if answer is None else answer.block_number for placed, answer in answers]
        own = self._last_answers.get(self.record[name].node.statement.owner, 0)
        return max([self.filed.decided, own, *settled])

    @cached_property
    def newest_parts(self) -> dict[str, Uri]:
        """The latest handed-in node of each model that the request has not replaced yet.

        Empty for a sequential request.  Ignores parts handed in before another request replaced the model,
        since their version is gone.
        """
        left = set(self.missing) & self.with_parts if self.is_parallel else ()
        if self.is_by_waves:
            return {name: part.uri for name, part in self._waves.parts.items() if name in left}
        return {name: parts[-1].uri for name, parts in self._handed_in(left).items()}

    @property
    def parts(self) -> dict[str, Uri]:
        """The handed-in nodes of affected and auxiliary models."""
        return {**self.newest_parts, **self.auxiliary_parts}

    @property
    def unused_parts(self) -> tuple[Uri, ...]:
        """Parts of auxiliary models that do not count, as late or further ones; MOST_UNUSED of each."""
        counted, parts = self.auxiliary_parts, self._handed_in(self.auxiliary)
        newest = ((name, each.uri) for name, listed in parts.items() for each in listed[-MOST_UNUSED:])
        return tuple(uri for name, uri in newest if uri != counted.get(name))

    def parts_above(self, account: Address) -> dict[Position, Uri]:
        """The handed-in nodes, by position, that the parts owed by an account start from."""
        if not self.is_by_waves:
            return {}
        above = {each for name in self.owed(account) for each in self.record.graph.references(name)}
        return {self.record[name].position: uri for name, uri in self.parts.items() if name in above}

    @cached_property
    def auxiliary_parts(self) -> dict[str, Uri]:
        """The first part of each auxiliary model: its published node if the data has not reached it."""
        return {name: part.uri for name, part in self._waves.parts.items() if name in self.auxiliary}

    def hands_in(self, name: str) -> bool:
        """Whether the owner of a model hands its part in, rather than have its model replaced itself."""
        return self.is_parallel or name in self.auxiliary

    def before_part(self, name: str) -> Sequence[PartHandedIn]:
        """The hand-ins before the one that counts as a model's part by waves; all of them without one."""
        part = self._waves.parts.get(name)
        return self.handed_in if part is None else self.handed_in[: self.handed_in.index(part)]

    @cached_property
    def decided_without(self) -> frozenset[str]:
        """The models that other requests had withdrawn when a parallel request was decided.

        The decision is final: a model that comes back later does not reopen the request.
        """
        answers = [self.record[name].answer_to(self.request) for name in self.affected]
        decisions = [each.block_number for each in answers if each is not None and not each.is_withdrawal]
        decided = min(decisions, default=None)
        if not self.is_parallel or decided is None:
            return frozenset()
        before = {
            name: [each for each in self.record[name].answers if each.block_number <= decided]
            for name in self.affected
        }
        return frozenset(name for name, known in before.items() if known and known[-1].is_withdrawal)

    @cached_property
    def _reached(self) -> frozenset[str]:
        return frozenset(self.affected)

    @cached_property
    def _last_answers(self) -> dict[str, int]:
        """By owner, the block of its last own new weights for this request or an earlier one."""
        ours, last = {self.request, *self.earlier}, dict[str, int]()
        for placed in self.record.models.values():
            owner = placed.node.statement.owner
            for answer in placed.answers:
                if not answer.is_withdrawal and answer.request in ours:
                    last[owner] = max(last.get(owner, 0), answer.block_number)
        return last

    @cached_property
    def _waves(self) -> Waves[PartHandedIn]:
        """Parts and times if the request goes by waves; no parts otherwise."""
        names = self.with_parts if self.is_by_waves else frozenset[str]()
        handing_in = [name for name in names if self.hands_in(name)]
        owners = {name: self.record[name].node.statement.owner for name in names}
        last = self._last_answers
        answers = {name: self.record[name].answer_to(self.request) for name in self.affected}
        gone = {name: self.record[name].since for name in names - self.record.with_weights.keys()}
        answered = {name: each.block_number for name, each in answers.items() if each is not None}
        return waves_of(
            self.record.graph,
            owners,
            {owner: max(self.filed.decided, last.get(owner, 0)) for owner in owners.values()},
            gone | answered,
            self._handed_in(handing_in),
            self.auxiliary,
            self.rules.blocks,
        )

    def _handed_in(self, names: Iterable[str]) -> dict[str, list[PartHandedIn]]:
        """The parts of models, by their owners, since another request replaced the model; oldest first."""
        wanted = {
            (self.record[name].position, self.record[name].node.statement.owner): name for name in names
        }
        parts: dict[str, list[PartHandedIn]] = {}
        for each in self.handed_in:
            name = None if is_commitment(each) else wanted.get((each.position, "0x" + each.by.hex()))
            if name is not None and each.block_number > self.record[name].since:
                parts.setdefault(name, []).append(each)
        return parts

    @property
    def withdraws(self) -> bool:
        """Whether members withdraw models whose owners miss their time for a part.

        The owners whose parts an exact method needs are its signers, so it waits for them.
        """
        by_owners = not (self.is_parallel or is_exact(self.request))
        return self.rules.withdraws and (self.is_by_waves or by_owners)

    @cached_property
    def _unanswered(self) -> tuple[str, ...]:
        """The models with parts that are not there, in topological order."""
        late = (name for name in self.auxiliary if self.now > self.due_until(name))
        there = {*self.parts, *late}
        wanted = {*self.missing, *self.auxiliary} - there
        if self.is_parallel:
            wanted &= self.with_parts
        return tuple(name for name in self.record.graph.topological_order() if name in wanted)

    @property
    def _is_over(self) -> bool:
        """Whether the request's time has passed.

        A request has its deadline for parts, and the same time again for decisions that members can make.  A
        sequential one has no end if members withdraw the missing models.
        """
        if self.withdraws and not self.is_parallel:
            return False
        waits = bool(self.ready) or self.withdraws
        return self.now > self.filed.deadline + self.filed.blocks * waits

    @property
    def _is_passed_on(self) -> bool:
        """Whether the starts' changes have been passed to all descendants that the request reaches.

        Members recompute such a request and decide on it once.  The decision replaces every start, and leaves
        a descendant alone whose update is at most epsilon.
        """
        if not is_passing(self.request):
            return False
        decided = all(self._has_answered(start.name) for start in self.request.starts)
        models = [self.record[name] for name in self.affected]
        return decided and all(placed.settled for placed in models if is_replaced(placed, self.request))

    def _has_answered(self, name: str) -> bool:
        placed = self.record[name]
        return is_replaced(placed, self.request) or placed.answer_to(self.request) is not None

    def _owned(self, names: Iterable[str], account: Address) -> tuple[str, ...]:
        owner = "0x" + account.hex()
        return tuple(name for name in names if self.record[name].node.statement.owner == owner)
