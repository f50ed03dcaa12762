# SPDX-License-Identifier: Apache-2.0
"""The recipients of a request's recalled versions, as a certificate lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field

from blockful_py.crypto import eip712
from blockful_py.record.checks import require
from blockful_py.record.fields import Address, Cid, Hash, Part, Place, Seconds, Small
from blockful_py.record.recall.documents import Did, SignedAnswer
from blockful_py.record.recall.recipients import Delivered, Recipients, RecordedModel, signer_of
from blockful_py.types import Position

MAX_LISTED = 4096
"""Maximum number of listed recipients, which keeps certificates far below their 16 MiB."""


class ListedRecipient(Part):
    """A recipient of a recalled version, and the answer that stands, or null.

    Without `account`, the model's owner vouches that the recipient signed the answer.
    """

    position: Place
    version: Small
    recipient: Hash
    account: Address | None
    answer: SignedAnswer | None

    @classmethod
    def of(cls, delivered: Delivered) -> ListedRecipient:
        given = delivered.answered
        return cls(
            position=delivered.position,
            version=delivered.version,
            recipient=delivered.recipient,
            account=delivered.account,
            answer=None if given is None else given.answer,
        )


class RecipientList(Part):
    """Recipients up to a block of the live chain's node.

    Attributes:
        recipients: the open ones first, then by model, version and recipient; at most MAX_LISTED.
        more: number of further recipients.
        unread: declared files that count and could not be read.
    """

    block: Seconds
    recipients: Annotated[tuple[ListedRecipient, ...], Field(max_length=MAX_LISTED)]
    more: Small
    unread: tuple[Cid, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of listed recipients by their word (`Did`), and of recipients without an answer (`open`)."""
        found = Counter("open" if each.answer is None else each.answer.did.value for each in self.recipients)
        return {name: found[name] for name in (*Did, "open") if found[name]}

    def __str__(self) -> str:
        parts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        parts += f", {self.more} more" if self.more else ""
        unread = f"; {len(self.unread)} declared files could not be read" if self.unread else ""
        return (
            f"Recipients of the versions before, up to block {self.block}: {parts or 'none'}{unread}. "
            "Answers are the recipients' own signed words, which nobody can check."
        )


def listed(found: Recipients, versions: Mapping[str, int], block: int) -> RecipientList | None:
    """The recipients of versions that a request replaced by `versions`, by position; None without any."""
    recalled = [each for each in found.delivered if each.version < versions.get(each.position, 0)]
    recalled.sort(key=lambda each: not each.is_open)  # stable
    unread = sorted(cid for cid, place in found.unread.items() if place in versions)
    if not recalled and not unread:
        return None
    return RecipientList(
        block=block,
        recipients=tuple(map(ListedRecipient.of, recalled[:MAX_LISTED])),
        more=max(0, len(recalled) - MAX_LISTED),
        unread=tuple(unread),
    )


def check_listed(
    stated: RecipientList, models: Mapping[Position, RecordedModel], domain: eip712.Domain
) -> None:
    """Checks that recipients are of recalled versions, and signed their answers.

    That they are all, only the chain tells.  Raises VerificationError (`recipients`).
    """
    by_place = {str(place): model for place, model in models.items()}
    keys = [(each.position, each.version, each.recipient) for each in stated.recipients]
    require("recipients", "the certificate", len(keys) == len(set(keys)), "it lists a recipient twice")
    for each in stated.recipients:
        model = by_place.get(each.position)
        subject = f"the recipient {each.recipient}"
        must = partial(require, "recipients", subject)
        must(
            model is not None and each.version < model.version,
            f"version {each.version} at {each.position} was not replaced for this request",
        )
        if model is None or each.answer is None:
            continue
        answer = each.answer
        must(
            (answer.position, answer.version, answer.recipient)
            == (each.position, each.version, each.recipient),
            "its answer is another's, or on another version",
        )
        signer_of(answer, each.account, model, domain)
