# SPDX-License-Identifier: Apache-2.0
"""Counts and logs a member's questions and answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram

from blockful_py.committee import codec, wire
from blockful_py.committee.service.messages import Refused
from blockful_py.committee.service.request_handler import Admitted, RequestHandler
from blockful_py.errors import MessageError, TooLongError

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
