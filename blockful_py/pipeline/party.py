# SPDX-License-Identifier: Apache-2.0
"""Operations of one party of a federation of machines, with its own data and keys."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from blockful_py.chain.settlement import Executed
from blockful_py.closable import Closable
from blockful_py.engine.jobs import JobState, Kind
from blockful_py.errors import ContractError, QuorumError, RefusedError, RunError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.curve_file import keep_curves
from blockful_py.learning.federation import Wave
from blockful_py.learning.scenario import ModelSpec, next_of
from blockful_py.pipeline.coordination.motions import decide_request
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.certificate import issue
from blockful_py.pipeline.jobs.cosigning import AskedOfOwner, asked_of
from blockful_py.pipeline.jobs.increments import Stored
from blockful_py.pipeline.jobs.lifecycle import JobLifecycle
from blockful_py.pipeline.jobs.parts import OwnParts, PartCollector
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.shared import SharedTrainer
from blockful_py.pipeline.jobs.spot_check import samples_commitment
from blockful_py.pipeline.jobs.training import train_next
from blockful_py.pipeline.jobs.unlearning import replaced_for
from blockful_py.pipeline.review.admission import RequestAdmission, models_of
from blockful_py.pipeline.run.catching_up import catch_up
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.lease import KINDS, training_text
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.model_node import ModelNode
from blockful_py.record.parts import request_to_bytes
from blockful_py.record.request import Request
from blockful_py.record.request_file import RequestFile
from blockful_py.record.request_state import RequestStage
from blockful_py.record.statement_parts import SharedPart
from blockful_py.types import Paradigm, RequestState

ATTEMPTS = 40
"""Attempts to propose one model while other leaders' decisions come first."""
MOST_SECONDS = 3.0
"""Longest wait before the next attempt; random, so that leaders get out of step."""
LOOK_SECONDS = 1.0
"""Seconds between two looks at a request in progress."""
OVERTAKEN = frozenset({"HeadMismatch", "ParentMismatch"})
"""Contract errors of a proposal drafted before another leader's decision."""

Answer = TypeVar("Answer")


def in_turn(attempt: Callable[[], Answer]) -> Answer:
    """Calls `attempt` until no other leader's decision precedes it.  Raises its last refusal."""
    for left in reversed(range(ATTEMPTS)):
        try:
            return attempt()
        except (ContractError, QuorumError) as error:
            overtaken = isinstance(error, QuorumError) or error.name in OVERTAKEN
            if not overtaken or not left:
                raise
        time.sleep(random.uniform(0, MOST_SECONDS))
    raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True, slots=True)
class _Trained:
    """A participant's new model, the increments stored with it, and its references' versions."""

    wave: Wave
    stored: Stored
    versions: Mapping[str, int]
    parts: Mapping[str, SharedPart] = field(default_factory=dict)

    def is_of(self, catalogue: Catalogue) -> bool:
        """Whether the references still have the versions used in training."""
        return all(catalogue[name].version == version for name, version in self.versions.items())


class PartyRun(Closable):
    """A participant's or a member's run.

    Attributes:
        federation: the same run with the operations of a laboratory.
    """

    def __init__(self, federation: Federation) -> None:
        self.federation = federation

    @classmethod
    def of_participant(cls, directory: Path, nodes: Nodes, keys: ReaderKeys) -> PartyRun:
        """Opens a participant's run with the file on chain.  Raises as `Federation.open` and `catch_up`."""
        return cls._up_to_date(lambda: Federation.open(directory, nodes=nodes, participant=keys))

    @classmethod
    def of_member(cls, directory: Path, nodes: Nodes, secret: int) -> PartyRun:
        """Opens a member's run; `secret`: its voting secret.  Otherwise as `of_participant`."""
        return cls._up_to_date(lambda: Federation.open(directory, nodes=nodes, secret=secret))

    @classmethod
    def _up_to_date(cls, opened: Callable[[], Federation]) -> PartyRun:
        federation = opened()
        try:
            store = federation.stores.live
            if catch_up(federation.run, federation.contracts, store, federation.nodes) is None:
                return cls(federation)
        except BaseException:
            federation.close()
            raise
        federation.close()
        return cls(opened())

    def close(self) -> None:
        self.federation.close()

    def train_next(self) -> tuple[Executed, ...]:
        """Trains and publishes the participant's next model; returns the transactions.

        If another leader's block comes first, the model is proposed again, and trained again only if one of
        its references was replaced meanwhile.

        Raises RunError if no model is left to train, otherwise as `Federation.train`.
        """
        trained: list[_Trained] = []

        def publish() -> tuple[Executed, ...]:
            with self.federation.publishing(Kind.TRAIN, training_text(None)):
                catalogue = self.federation.catalogue()
                if not (trained and trained[-1].is_of(catalogue)):
                    trained.append(self._trained(catalogue))
                wave, stored, versions = trained[-1].wave, trained[-1].stored, trained[-1].versions
                parts = trained[-1].parts
                placed = {name: node.position for name, node in catalogue.models.items()}
                publisher = Publisher(self.federation.context)
                executed = publisher.publish(wave, placed, stored, versions, parts)[1]
            self.federation.events.published([model.name for model in wave])
            return executed

        with self._leading() as ended:
            if ended and self._next() is None:
                return ()  # completed a publication that a crash had interrupted
            return in_turn(publish)

    def _next(self) -> ModelSpec | None:
        """The participant's next unpublished model."""
        (user,) = self.federation.setup.users
        plan = self.federation.setup.federation.plan()
        return next_of(user.index, plan, self.federation.catalogue().models)

    def _trained(self, catalogue: Catalogue) -> _Trained:
        federation, context = self.federation, self.federation.context
        (user,) = federation.setup.users
        setup, opted_out, parts = federation.setup, federation.opted_out(), dict[str, SharedPart]()
        if setup.architecture.is_shared:
            trainer = SharedTrainer(context, user, opted_out.get(user.index, ()), parts)
            setup = setup.trained_by(trainer)
        wave, stored = train_next(
            setup,
            opted_out,
            catalogue,
            federation.weights,
            context.docket.awaited(),
            samples_commitment(context, user.index),
        )
        keep_curves(federation.run.curves, wave)
        self.federation.events.trained(wave)
        references = {each.name for model in wave for each in model.references}
        return _Trained(wave, stored, {name: catalogue[name].version for name in references}, parts)

    def request(self, starts: tuple[str, ...], forget: Forget, paradigm: Paradigm, method: str | None) -> int:
        """Signs and files a request whose starts are the participant's own models; returns its number.

        Raises as `draft` and `file`, and UnlearningError when another participant owns a start.
        """
        asked = self.draft(starts, forget, paradigm, method)
        if others := asked.others:
            raise UnlearningError(
                f"the request needs the signature of {', '.join(others)}, too: add --draft FILE, to write it "
                "for all owners to sign."
            )
        return self.file(self.sign(asked))

    def usual_paradigm(self, forget: Forget) -> Paradigm:
        """The paradigm of a request that names none: parallel where owners do not wait for each other."""
        together = forget.level is Level.CLASS or self.federation.setup.architecture.is_sums
        return Paradigm.PARALLEL if together else Paradigm.SEQUENTIAL

    def draft(
        self, starts: tuple[str, ...], forget: Forget, paradigm: Paradigm, method: str | None
    ) -> AskedOfOwner:
        """A new request, unsigned, for the owners of its starts, of whom the participant is one.

        Without starts, one for clients or samples starts at all models of their owners.

        Raises as `Federation.draft_request` and `asked`.
        """
        starts = starts or models_of(forget, self.federation.catalogue())
        return self.asked(self.federation.draft_request(starts, forget, paradigm, method))

    def asked(self, file: RequestFile) -> AskedOfOwner:
        """Checks a request file that the participant may sign; returns its part.  Raises as `asked_of`."""
        (user,) = self.federation.setup.users
        return asked_of(self.federation.context, file, user.index)

    def sign(self, asked: AskedOfOwner) -> RequestFile:
        """The checked file with the participant's signature."""
        return asked.signed(self.federation.context.accounts.secret(asked.user))

    def file(self, file: RequestFile) -> int:
        """Files a request signed by its starts' owners and has the committee admit it; returns its number.

        If too few members answer, the request stays filed and they decide on their own later.

        Raises InvalidSignatureError, naming the owners, while signatures are missing; RefusedError if the
        request waits for its admission already; otherwise as `asked`.
        """
        asked, context = self.asked(file), self.federation.context
        asked.require_signed()
        filed, registry = asked.standing.filed, context.contracts.participants
        uri = context.stores.live.add(request_to_bytes(asked.standing.request))
        own = (
            each.number
            for each in registry.filed_requests()
            if (each.uri, each.by, each.state) == (filed.uri, filed.by, RequestState.FILED)
        )
        first = next(own, None) or RequestAdmission.of(context.opened).first_filed(filed)
        if first is not None:
            raise RefusedError(f"the same request waits for its admission already, as request {first}.")
        context.hand_out([uri])
        registry.file(uri, filed.blocks)
        registry.node.await_settled()
        number = max(
            each.number for each in registry.filed_requests() if (each.uri, each.by) == (uri, filed.by)
        )
        with suppress(QuorumError):
            self._decide(number, admitted=True)
        return number

    def _decide(self, number: int, admitted: bool) -> None:
        context = self.federation.context
        decide_request(context.contracts, context.session(Counter()).coordinator, number, admitted)

    def filed(self, number: int) -> Request:
        """A filed request.  Raises as `Docket`."""
        return self.federation.context.docket[number].request

    def stage(self, number: int) -> RequestStage:
        """The stage of a filed request.  Raises as `Docket`."""
        return self.federation.context.docket[number].stage

    def take_part(self, number: int) -> tuple[ModelNode, ...]:
        """Does the parts of a filed request that this participant can do now; returns its new nodes.

        A part whose training an auditor is to replay has no node until the auditor has answered.
        """
        context = self.federation.context
        with self._leading():
            status, parts = context.docket[number], OwnParts(context)
            names = parts.due(status)
            if not names:
                return ()
            with self._job(status.request):
                taken = [parts.take(status, name) for name in names]
            nodes = tuple(node for node in taken if node is not None)
            if nodes:
                self.federation.events.carried_out(status.request, nodes)
            return nodes

    def lead(self, number: int) -> None:
        """Does a leader's work on a filed request.

        Completes a parallel request once all its parts are handed in.  In a sequential one, replaces the
        models that need no part, and withdraws the models whose owners did not answer in time.

        Raises RunError while no work is left to a leader, otherwise as `Federation.unlearn`.
        """
        context = self.federation.context
        with self._leading():
            status, collector = context.docket[number], PartCollector(context)
            with self._job(status.request) as lifecycle:
                if status.unanswered() or not (status.is_parallel or status.ready):
                    collector.withdraw(status)
                    return
                collector.replace(status)
                while (status := context.docket[number]).ready and not status.is_parallel:
                    collector.replace(status)
                lifecycle.forget()
                nodes = replaced_for(self.federation.catalogue(), status.request)
                lifecycle.erase(lambda: self.federation.erase_replaced(nodes))

    def certificate(self, number: int, seconds: float = 0.0) -> ErasureCertificate:
        """Has the committee certify a request.

        Waits until members have destroyed the replaced keys and deleted the replaced files.

        `seconds`: longest wait for the request to be carried out.  Raises RunError if it is not carried out
        by then, otherwise as `issue`.
        """
        context = self.federation.context
        deadline = time.monotonic() + seconds
        while (status := context.docket[number]).stage is not RequestStage.CARRIED_OUT:
            over = status.stage in (RequestStage.LAPSED, RequestStage.DISMISSED)
            if over or time.monotonic() >= deadline:
                waits = f", and waits for {', '.join(status.waits_for)}" if not over else ""
                raise RunError(
                    f"request {number} is {status.stage}{waits}: repeat once `blockful participant status` "
                    "says that it is carried out, or wait for it with --wait SECONDS."
                )
            time.sleep(LOOK_SECONDS)
        request = status.request
        self.federation.erase_replaced(replaced_for(self.federation.catalogue(), request))
        certificate = in_turn(lambda: issue(context, request))
        self.federation.events.certified(certificate, None)
        return certificate

    def end_broken_off(self) -> None:
        """Closes a job that a crash left open; the chains show the remaining work."""
        with self._leading():
            pass

    @contextmanager
    def _leading(self) -> Iterator[bool]:
        """Holds the lease, with all decisions settled and no job open; yields whether a job was open.

        Closes a job that a crash left open, since the chains show the remaining work.  Gas estimates on a
        development chain use the time of its newest block, and contracts refuse times far from it, so the
        clocks are advanced first.
        """
        tick(self.federation.nodes.live)
        tick(self.federation.nodes.archive)
        with self.federation.leading():
            context = self.federation.context
            is_open = context.journal.open_job() is not None
            if is_open:
                lifecycle = JobLifecycle(context)
                lifecycle.withdraw()
                lifecycle.confirm()
                context.journal.close_job(JobState.DONE, "broken off; its decisions are on the chains")
            yield is_open

    @contextmanager
    def _job(self, request: Request) -> Iterator[JobLifecycle]:
        """Runs a job of a request.  The caller holds the lease."""
        lifecycle, kind = JobLifecycle(self.federation.context), KINDS[Paradigm(request.paradigm)]
        with lifecycle.job(
            kind, request.model_dump_json(), lambda: bool(replaced_for(self.federation.catalogue(), request))
        ):
            yield lifecycle
            lifecycle.confirm()
