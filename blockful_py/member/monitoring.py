# SPDX-License-Identifier: Apache-2.0
"""Monitoring of a member: its seat, stake and trust, whether it is ready, its questions and answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from blockful_py.chain.committee import CommitteeContract
from blockful_py.committee import codec, wire
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.messages import Refused
from blockful_py.committee.service.request_handler import Admitted, RequestHandler
from blockful_py.errors import MessageError, TooLongError
from blockful_py.member.office import MemberOffice
from blockful_py.member.view import MemberView
from blockful_py.monitoring.health import Health, writable
from blockful_py.pipeline.run.chain_looks import ChainLooks

WEI_OF_ETHER = 10**18
MILLION = 1_000_000


class MonitorDuty:
    """Reads the chains for the metrics and the health of a member."""

    name = "monitor"

    def __init__(self, office: MemberOffice, folder: MemberFolder, registry: CollectorRegistry) -> None:
        self._office = office
        self._folder = folder
        self._looks = ChainLooks(registry)
        self._is_seated = False
        self._rules = "its run cannot be opened yet"
        self._seated = Gauge(
            "blockful_member_seated", "1 for a member of the current committee.", registry=registry
        )
        self._stake = Gauge("blockful_member_stake_ether", "Stake of the member.", registry=registry)
        self._trust = Gauge("blockful_member_trust_ratio", "Trust in the member, 0 to 1.", registry=registry)
        self.health = Health(
            {
                "chains": self._looks.reached,
                "clock": self._looks.clock_is_right,
                "store": writable(folder.path),
                "rules": lambda: self._rules or None,
            },
            lambda: {"epoch": self._looks.epoch, "seated": self._is_seated},
        )

    def step(self) -> None:
        """Updates metrics and health.  Raises NodeError when a chain does not answer."""
        if not self._looks.is_due:
            return
        view = self._office.view_if_any()
        if view is None:
            return
        self._looks.look(view.contracts)
        self._is_seated = self._folder.address in self._office.current_roster()
        self._seated.set(self._is_seated)
        self._rules = "" if view.is_standing() else "it lacks the federation file that the chain names"
        self._weigh(view)

    def _weigh(self, view: MemberView) -> None:
        """Updates stake and trust, which appointed members lack."""
        committee = view.contracts.committee
        if isinstance(committee, CommitteeContract):
            account = self._folder.keys.account
            self._stake.set(committee.candidate(account).stake / WEI_OF_ETHER)
            self._trust.set(committee.trust(account) / MILLION)


REFUSALS: Mapping[type[Exception], str] = {TooLongError: "too long", MessageError: "not accepted"}
"""Reasons for questions that are not even read; other refusals are counted by the names of their errors."""

_log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


class MemberMetrics:
    """Metrics of a member since its start."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.reviews = Counter(
            "blockful_member_reviews", "Proposals reviewed.", ["kind", "outcome"], registry=registry
        )
        self.review_seconds = Histogram(
            "blockful_member_review_seconds",
            "Seconds of a review.",
            ["kind"],
            registry=registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300),
        )
        self.votes = Counter("blockful_member_votes", "Votes signed.", ["kind"], registry=registry)
        self.refused = Counter(
            "blockful_member_refused_requests", "Questions refused.", ["reason"], registry=registry
        )


class MeasuredHandler:
    """A member's `RequestHandler` with metrics and logs; a `Service` of the server."""

    def __init__(self, handler: RequestHandler, metrics: MemberMetrics) -> None:
        self._handler = handler
        self._metrics = metrics

    def admit(self, line: bytes, size: int) -> Admitted:
        return self._counted(lambda: self._handler.admit(line, size))

    def fetcher(self, line: bytes) -> bytes:
        return self._counted(lambda: self._handler.fetcher(line))

    def answer(self, admitted: Admitted, body: bytes) -> bytes:
        begun = time.perf_counter()
        answer = self._counted(lambda: self._handler.answer(admitted, body))
        seconds, refusal = time.perf_counter() - begun, _refusal(answer)
        kind, metrics = admitted.kind, self._metrics
        if refusal is not None:
            metrics.refused.labels(refusal.kind).inc()
        elif kind.label.startswith("vote-"):
            metrics.votes.labels(kind.label).inc()
        if kind.row.is_reviewed:
            metrics.reviews.labels(kind.label, "accepted" if refusal is None else "refused").inc()
            metrics.review_seconds.labels(kind.label).observe(seconds)
        _tell(admitted, seconds, refusal)
        return answer

    def _counted(self, call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        except MessageError as error:
            self._metrics.refused.labels(REFUSALS.get(type(error), REFUSALS[MessageError])).inc()
            _log.debug("not accepted: %s", error)
            raise


def _refusal(answer: bytes) -> Refused | None:
    """The refusal in an answer of this member; None for other answers."""
    line = wire.first_line(answer)
    if codec.decode(wire.FirstLine, line.removesuffix(b"\n")).header.kind != wire.REFUSED:
        return None
    return codec.decode(Refused, answer[len(line) :])


def _tell(admitted: Admitted, seconds: float, refusal: Refused | None) -> None:
    """Logs decisions; frequent questions only at the debug level."""
    header = admitted.question.header
    fields = {
        "kind": admitted.kind.label,
        **({"proposal": header.subject} if any(header.subject) else {}),
        "epoch": header.epoch,
        "sender": header.sender,
        "seconds": round(seconds, 3),
    }
    level = logging.INFO if not admitted.kind.row.is_concurrent else logging.DEBUG
    if refusal is None:
        _log.log(level, "answered: %s", admitted.kind.label, extra=fields)
    else:
        _log.log(level, "refused: %s: %s", admitted.kind.label, refusal.reason, extra=fields)
