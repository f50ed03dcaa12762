# SPDX-License-Identifier: Apache-2.0
"""The recipients of recalled versions, as a member's own view of chain and store has them."""

from __future__ import annotations

from collections.abc import Mapping

from blockful_py.errors import EarlyError
from blockful_py.pipeline.review.erasure import Listing
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.run.recipients import recipients_in
from blockful_py.record.recall.listed import RecipientList, listed


def recipients_seen(sources: ReviewSources) -> Listing:
    """A member's list of recipients, to compare with a stated one.

    It leaves out the files that the stated list calls unread, which this member may have.  The list raises
    EarlyError while the member's node lacks the block of the stated one.
    """

    def listing(versions: Mapping[str, int], stated: RecipientList | None) -> RecipientList | None:
        contracts = sources.contracts
        contracts.participants.declarations()
        newest = contracts.participants.mark().block
        block = newest if stated is None else stated.block
        if block > newest:
            raise EarlyError(f"block {block} has not arrived here: the newest is {newest}")
        unread = () if stated is None else stated.unread
        found = recipients_in(contracts, sources.record.catalogue.read(), sources.store, block, unread)
        return listed(found, versions, block)

    return listing
