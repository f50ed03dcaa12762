# SPDX-License-Identifier: Apache-2.0
"""A member's decision whether to admit a filed request, before any work on it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.errors import BlockfulError, FormatError, NodeError, RefusedError, StorageError
from blockful_py.forget import Forget
from blockful_py.pipeline.review.methods import (
    parse_method,
    require_paradigm,
    require_parts,
    require_review,
)
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.sums import require_lines
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.docket import Docket
from blockful_py.record.request import Request
from blockful_py.record.request_state import Filed, RequestStanding
from blockful_py.record.shown import by_waves
from blockful_py.record.waves import longest_wait
from blockful_py.types import Paradigm, RequestState
from blockful_py.unlearning.subtract import require_kind
from blockful_py.unlearning.withdraw import require_origin

UNREAD_BLOCKS = 7200
"""Blocks of the live chain's node after which a member dismisses a request whose file or method it lacks."""


class Ruling(Enum):
    """A member's decision on an undecided request."""

    ADMIT = "admit"
    DISMISS = "dismiss"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """A member's ruling, and the reason if it does not admit the request."""

    ruling: Ruling
    reason: str = ""


class RequestAdmission:
    """A member's review of undecided requests.

    It admits a request that was filed by an owner of a start and signed by the owners of all starts, whose
    method members sign for, and whose duration the federation's rules allow.  An account has one open request
    at a time, and its next one waits.  A signed request is admitted once, also if several of
    its owners file it.  Requests that can never be admitted are dismissed.
    """

    def __init__(
        self,
        participants: ParticipantRegistryContract,
        docket: Docket,
        attested: bool,
        methods: Collection[str],
        model: str,
    ) -> None:
        """Takes `attested` and `methods` as `ReviewSources` does; `model` is the name of the architecture."""
        self._participants = participants
        self._docket = docket
        self._attested = attested
        self._methods = methods
        self._model = model

    @classmethod
    def of(cls, opened: OpenedRun) -> RequestAdmission:
        """The review of a party with this run."""
        settings, methods = opened.settings, opened.run.allowed_code
        attested, model = settings.committee.attested, settings.learning.model
        return cls(opened.contracts.participants, opened.docket, attested, methods, model)

    def review(self, number: int, admitted: bool) -> None:
        """Checks that this member would decide the same about the request.  Raises RefusedError if not."""
        wanted = Ruling.ADMIT if admitted else Ruling.DISMISS
        verdict = self.verdict(number)
        if verdict.ruling is not wanted:
            raise RefusedError(
                f"request {number} is to {verdict.ruling.value}{': ' * bool(verdict.reason)}{verdict.reason}"
            )

    def verdict(self, number: int) -> AdmissionVerdict:
        """This member's ruling on a request.

        Raises RefusedError if the request is decided, RunError if it was never filed, NodeError when the node
        fails, StorageError while its file is missing but may still arrive.
        """
        filed = self._docket.entry(number)
        if filed.state is not RequestState.FILED:
            raise RefusedError(f"request {number} does not wait for a decision")
        verdict = self._alone(filed)
        first = self.first_filed(filed) if verdict.ruling is Ruling.ADMIT else None
        if first is not None:
            return AdmissionVerdict(Ruling.WAIT, f"request {first}, filed before it, is the same")
        return verdict

    def first_filed(self, filed: Filed) -> int | None:
        """The earliest filing of the same file that members would admit now; None if `filed` is that.

        A request may be filed by several of its signers at once.  None of them can hold another's filing up
        by one that has to wait.
        """
        for other in self._docket.filed():
            if other.number == filed.number:
                return None
            is_same = other.uri == filed.uri and other.state is RequestState.FILED
            if is_same and self._alone(other).ruling is Ruling.ADMIT:
                return other.number
        return None

    def _alone(self, filed: Filed) -> AdmissionVerdict:
        """The ruling on an undecided request, regardless of other undecided ones."""
        if not self._participants.participant(filed.by).since:
            return AdmissionVerdict(Ruling.DISMISS, "the account that filed it is no participant any more")
        try:
            status = self._docket.status(filed)
        except NodeError:
            raise
        except BlockfulError as error:
            absent = isinstance(error, StorageError) and not isinstance(error, FormatError)
            if absent and not self._is_late(filed):
                raise
            return AdmissionVerdict(Ruling.DISMISS, str(error))
        code = status.request.method.partition(" ")[0]
        if ":" in code and code not in self._methods and not self._is_late(filed):
            return AdmissionVerdict(
                Ruling.WAIT, f"the operator of this member does not allow the code {code}"
            )
        try:
            self.require_admissible(status)
        except NodeError:
            raise
        except BlockfulError as error:
            return AdmissionVerdict(Ruling.DISMISS, str(error))
        for other in self._docket.admitted():
            if other.filed.by == filed.by and other.stage.is_open:
                return AdmissionVerdict(Ruling.WAIT, f"request {other.number} of the same account is open")
        return AdmissionVerdict(Ruling.ADMIT)

    def _is_late(self, filed: Filed) -> bool:
        """Whether the time to deliver the request's file is over."""
        return self._participants.node.block_number() > filed.block_number + UNREAD_BLOCKS

    def require_admissible(self, status: RequestStanding) -> None:
        """Checks a request.  Raises BlockfulError if it can never be carried out in this form."""
        filed, request, record = status.filed, status.request, status.record
        method = parse_method(request.method, self._methods)
        require_paradigm(method, Paradigm(request.paradigm))
        require_origin(method, False, request.forget)
        require_kind(method, self._model)
        require_review(method, request.forget, Paradigm(request.paradigm), self._attested, True)
        require_parts(request, method, record.graph)
        require_starts(status)
        require_all_models(request, record)
        require_lines(request, record)
        owners = {record[start.name].node.statement.owner for start in request.starts}
        require("0x" + filed.by.hex() in owners, "the account that filed it has not signed it")
        asked = request.typed()  # an owner may sign the same once more, with another nonce
        if any(each.request.typed() == asked for each in self._docket.admitted()):
            raise RefusedError("the same request was admitted before")
        gone = sorted(set(status.affected) - record.with_weights.keys())
        if status.is_parallel:
            require(not gone, f"{', '.join(gone)} is withdrawn and passes no change on")
        require(bool(status.missing), "it reaches no model that has weights")
        most = most_blocks(request, record, status.rules.blocks)
        require(
            filed.blocks <= most, f"it would be open for {filed.blocks} blocks, at most {most} are allowed"
        )


def require_starts(status: RequestStanding) -> None:
    """Checks that the starts are recorded, and their owners own the data.  Raises RefusedError if not."""
    request, record = status.request, status.record
    for start in request.starts:
        placed = record.models.get(start.name)
        require(
            placed is not None and placed.position == start.place(),
            f"there was no start {start.name} at {start.position} when the request was filed",
        )
    owners = {record[start.name].node.statement.user for start in request.starts}
    strangers = sorted(set(request.forget.owners()) - owners)
    require(not strangers, f"user {', '.join(map(str, strangers))} owns no start of the request")


def require_all_models(request: Request, record: Catalogue) -> None:
    """Checks that a request for a client or for samples starts at all models trained on them.

    Raises RefusedError if not.
    """
    starts = {start.name for start in request.starts}
    left = sorted(set(models_of(request.forget, record)) - starts)
    require(not left, f"{', '.join(left)} was trained on this data too: name all models of its owner")


def models_of(forget: Forget, record: Catalogue) -> tuple[str, ...]:
    """The models of the owners of clients' data or samples, in order of publication, that have weights."""
    owners = set(forget.owners())
    return tuple(
        name
        for name, placed in record.models.items()
        if placed.node.statement.user in owners and not placed.node.is_withdrawn
    )


def most_blocks(request: Request, record: Catalogue, blocks: int) -> int:
    """Maximum number of blocks in which a request accepts hand-ins.

    `blocks`: an owner's time for one part.  Times that pass one after the other add up: along the longest
    path from a start; by waves, along the longest path of references and of one owner's models.  In the
    parallel paradigm the starts' owners otherwise work at the same time.
    """
    starts = [start.name for start in request.starts]
    if by_waves(request):
        names = {*starts, *record.graph.descendants(starts), *record.graph.ancestors(starts)}
        names.update(record.graph.ancestors(names))
        return blocks * longest_wait(
            record.graph, {name: record[name].node.statement.owner for name in names}
        )
    if request.paradigm == Paradigm.PARALLEL:
        return blocks
    return blocks * (1 + max(depth.longest for depth in record.graph.depth(starts).values()))
