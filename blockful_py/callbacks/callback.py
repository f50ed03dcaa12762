# SPDX-License-Identifier: Apache-2.0
"""The interface of callbacks."""

from __future__ import annotations

from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)


class Callback:
    """Receives the events of a run; a subclass overrides the methods it needs.

    Methods are called one after another, in the process that did the work and after the work is done; the
    next piece of work waits for them.  Exceptions are logged, and the work continues.  A crash in between may
    repeat a training and lose pending events: the chains are the record.
    """

    def training(self, event: ModelTrained) -> None:
        """A model was trained."""

    def publication(self, event: ModelPublished) -> None:
        """A model was published."""

    def request(self, event: RequestDone) -> None:
        """A request was completed."""

    def audit(self, event: AuditDone) -> None:
        """The archive, or the remaining knowledge of models, was audited."""

    def certificate(self, event: CertificateIssued) -> None:
        """The committee signed an erasure certificate."""
