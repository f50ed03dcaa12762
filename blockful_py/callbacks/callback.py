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
    """Is told what happens in a run; a subclass overrides what it wants to know.

    Methods are called in the process that did the work, once it is done, one after the other: the next piece
    of work waits for them.  What they raise is logged, and the work goes on.  A crash in between may repeat a
    training, and loses what was not told yet: the chains are the record.
    """

    def training(self, event: ModelTrained) -> None:
        """A model was trained."""

    def publication(self, event: ModelPublished) -> None:
        """A model was published."""

    def request(self, event: RequestDone) -> None:
        """A request was carried out."""

    def audit(self, event: AuditDone) -> None:
        """The archive, or what models still know, was audited."""

    def certificate(self, event: CertificateIssued) -> None:
        """The committee signed an erasure certificate."""
