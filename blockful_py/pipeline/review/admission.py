# SPDX-License-Identifier: Apache-2.0
"""Whether a member admits a filed request: its first look, before anybody works for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.errors import BlockfulError, FormatError, NodeError, RefusedError, StorageError
from blockful_py.pipeline.review.methods import (
    parse_method,
    require_paradigm,
    require_parts,
    require_review,
)
from blockful_py.record.docket import Docket
from blockful_py.record.request_state import Filed, RequestStanding
from blockful_py.types import Paradigm, RequestState

UNREAD_BLOCKS = 7200
"""Blocks of the live chain's node after which a request is dismissed whose file or method a member lacks."""


class Ruling(Enum):
    """What a member says of a request that is not decided."""

    ADMIT = "admit"
    DISMISS = "dismiss"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """A member's ruling, and the reason where it does not admit the request."""

    ruling: Ruling
    reason: str = ""


class RequestAdmission:
    """A member's look at requests that are not decided.

    It admits a request that the owners of its starts have signed, one of whom filed it, whose method members
    sign for, and that takes no longer than the federation's rules allow.  An account has one open request at
    a time, and the next one waits.  What can never be admitted is dismissed.
    """

    def __init__(
        self,
        participants: ParticipantRegistryContract,
        docket: Docket,
        attested: bool,
        methods: Collection[str],
    ) -> None:
        """`attested`, `methods`: as for `ReviewSources`."""
        self._participants = participants
        self._docket = docket
        self._attested = attested
        self._methods = methods

    def review(self, number: int, admitted: bool) -> None:
        """Raises RefusedError unless this member, too, would admit the request, or dismiss it."""
        wanted = Ruling.ADMIT if admitted else Ruling.DISMISS
        verdict = self.verdict(number)
        if verdict.ruling is not wanted:
            raise RefusedError(
                f"request {number} is to {verdict.ruling.value}{': ' * bool(verdict.reason)}{verdict.reason}"
            )

    def verdict(self, number: int) -> AdmissionVerdict:
        """This member's ruling on a request.

        Raises RefusedError where it is decided, RunError where nobody filed it, NodeError when the node
        fails, StorageError while its file cannot be had, and may come.
        """
        filed = self._docket.entry(number)
        if filed.state is not RequestState.FILED:
            raise RefusedError(f"request {number} does not wait for a decision")
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
            self._require_admissible(status)
        except NodeError:
            raise
        except BlockfulError as error:
            return AdmissionVerdict(Ruling.DISMISS, str(error))
        for other in self._docket.admitted():
            if other.filed.by == filed.by and other.stage.is_open:
                return AdmissionVerdict(Ruling.WAIT, f"request {other.number} of the same account is open")
        return AdmissionVerdict(Ruling.ADMIT)

    def _is_late(self, filed: Filed) -> bool:
        """Whether whoever filed it has had the time to have it read."""
        return self._participants.node.block_number() > filed.block_number + UNREAD_BLOCKS

    def _require_admissible(self, status: RequestStanding) -> None:
        """Raises BlockfulError for a request that can never be carried out as it is."""
        filed, request, record = status.filed, status.request, status.record
        method = parse_method(request.method, self._methods)
        require_paradigm(method, Paradigm(request.paradigm))
        require_review(method, request.forget, Paradigm(request.paradigm), self._attested)
        require_parts(request, method, record.graph)
        require_starts(status)
        owners = {record[start.name].node.statement.owner for start in request.starts}
        _require("0x" + filed.by.hex() in owners, "it was filed by nobody who signed it")
        if any(each.request == request for each in self._docket.admitted()):
            raise RefusedError("the same request was admitted before")
        gone = sorted(set(status.affected) - record.with_weights.keys())
        if status.is_parallel:
            _require(not gone, f"{', '.join(gone)} is withdrawn and passes no change on")
        _require(bool(status.missing), "it reaches no model that has weights")
        most = most_blocks(status)
        _require(
            filed.blocks <= most, f"it would be open for {filed.blocks} blocks, at most {most} are allowed"
        )


def require_starts(status: RequestStanding) -> None:
    """Raises RefusedError unless the starts are models of the record whose owners own what is forgotten."""
    request, record = status.request, status.record
    for start in request.starts:
        placed = record.models.get(start.name)
        _require(
            placed is not None and placed.position == start.place(),
            f"there was no start {start.name} at {start.position} when the request was filed",
        )
    owners = {record[start.name].node.statement.user for start in request.starts}
    strangers = sorted(set(request.forget.owners()) - owners)
    _require(not strangers, f"user {', '.join(map(str, strangers))} owns no start of the request")


def most_blocks(status: RequestStanding) -> int:
    """Longest time that a request may take hand-ins: an owner's for each edge of the longest path, or its
    starts' owners' alone where others hand in nothing."""
    blocks = status.rules.blocks
    if status.is_parallel:
        return blocks
    depths = status.record.graph.depth([start.name for start in status.request.starts])
    return blocks * (1 + max(depth.longest for depth in depths.values()))


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise RefusedError(reason)
