# SPDX-License-Identifier: Apache-2.0
"""Publishes events of a run's jobs to its callbacks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from numbers import Real

from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    NewVersion,
    RequestDone,
)
from blockful_py.callbacks.told import Callbacks
from blockful_py.errors import BlockfulError
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.review.statements import recorded_training
from blockful_py.record.audit import Audit
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request import Request, request_key
from blockful_py.verdicts.figures import ModelFigures
from blockful_py.verdicts.outcome import AuditOutcome

_log = logging.getLogger(__name__)


class EventPublisher:
    """Creates a run's events, if it has callbacks."""

    def __init__(self, context: FederationContext, callbacks: Callbacks) -> None:
        self._context = context
        self._callbacks = callbacks
        self._run = context.run.identity

    def trained(self, models: Iterable[TrainedModel]) -> None:
        settings = self._context.run.settings.learning
        names = {"model": settings.model}
        if self._context.run.party is None:
            names["dataset"] = settings.dataset
        for model in models if self._callbacks else ():
            self._callbacks.tell(
                ModelTrained(
                    run=self._run,
                    model=model.name,
                    user=model.user,
                    round=model.round,
                    references=tuple(each.name for each in model.references),
                    accuracy=model.accuracy,
                    settings={**names, **recorded_training(model.training)},
                )
            )

    def published(self, names: Sequence[str]) -> None:
        """Publishes that models are on the chains."""
        if not self._callbacks:
            return
        try:
            catalogue = self._context.record.catalogue.read()
        except BlockfulError as error:  # the next step meets and reports it
            _log.warning("callbacks are not told of %s: %s", ", ".join(names), error)
            return
        for placed in (catalogue[name] for name in names):
            statement = placed.node.statement
            self._callbacks.tell(
                ModelPublished(
                    run=self._run,
                    model=statement.name,
                    user=statement.user,
                    round=statement.round,
                    references=tuple(each.name for each in statement.in_use),
                    accuracy=statement.accuracy if statement.adopted is None else None,
                    position=str(placed.position),
                    weights=statement.weights,
                )
            )

    def carried_out(
        self, request: Request, nodes: Iterable[ModelNode], seconds: Mapping[str, float] | None = None
    ) -> None:
        """Publishes that a request was carried out; `nodes`: the new ones."""
        if not self._callbacks:
            return
        self._callbacks.tell(
            RequestDone(
                run=self._run,
                key=request_key(request).hex(),
                forget=str(request.forget),
                starts=tuple(start.name for start in request.starts),
                paradigm=request.paradigm,
                method=request.method,
                versions=tuple(each for node in nodes if (each := _version(node)) is not None),
                seconds=dict(seconds or {}),
            )
        )

    def archive_audited(self, audit: Audit) -> None:
        self._callbacks.tell(
            AuditDone(
                run=self._run,
                request=None,
                passed=audit.passed,
                problems=tuple(audit.problems),
                digest=audit.head.hex(),
                figures={"records": len(audit.entries), "problems": len(audit.problems)},
            )
        )

    def certified(self, certificate: ErasureCertificate, audit: AuditOutcome | None) -> None:
        """Publishes a certificate; `audit`: the audit attached to it."""
        statement = certificate.statement
        key = request_key(statement.request).hex()
        if audit is not None:
            self._callbacks.tell(_models_audited(self._run, key, audit))
        models = tuple(each.name for each in statement.replaced)
        self._callbacks.tell(CertificateIssued(self._run, key, models, certificate.to_bytes()))


def _version(node: ModelNode) -> NewVersion | None:
    redaction = node.redaction
    if redaction is None:
        return None
    claims = redaction.claims
    return NewVersion(
        model=node.name,
        version=redaction.version,
        weights=redaction.weights,
        ad_f=None if claims is None else claims.ad_f,
        ad_r=None if claims is None else claims.ad_r,
    )


def _models_audited(run: str, key: str, audit: AuditOutcome) -> AuditDone:
    verdict = audit.verdict()
    return AuditDone(
        run=run,
        request=key,
        passed=verdict.forgotten,
        problems=tuple(verdict.reasons),
        digest=audit.digest().hex(),
        figures={"models": len(audit.row.models)},
        models={each.model: _numbers(each) for each in audit.row.models},
    )


def _numbers(figures: ModelFigures) -> dict[str, float]:
    """The numeric figures, booleans included."""
    return {name: float(value) for name, value in asdict(figures).items() if isinstance(value, Real)}
