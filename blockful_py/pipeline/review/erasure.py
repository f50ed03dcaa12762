# SPDX-License-Identifier: Apache-2.0
"""Reviews an erasure statement in full, on the member's own view of chains and store."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from blockful_py.errors import ContractError, RefusedError, StorageError, VerificationError
from blockful_py.keys.sealing import Keyring
from blockful_py.ledger.protocols import Store
from blockful_py.pipeline.review.refusing import require
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.checking import CheckedStatement, check_statement
from blockful_py.record.certificates.document import parse_statement
from blockful_py.record.certificates.verifying import Chains, check_on_chains
from blockful_py.record.proofs.anchors import (
    anchors_in_archive,
    anchors_of_blocks,
    check_anchors,
    check_archive_anchor,
)
from blockful_py.record.recall.listed import RecipientList
from blockful_py.record.request import Request
from blockful_py.storage.cid import parse_cid

Listing = Callable[[Mapping[str, int], RecipientList | None], RecipientList | None]
"""The recipients of versions before these, by position, up to the block of a stated list."""


def review_erasure(
    data: bytes,
    chains: Chains,
    reachable: Callable[[Request], Catalogue],
    store: Store,
    keyring: Keyring,
    listing: Listing,
) -> None:
    """Checks all claims of the statement.  Raises RefusedError for the first that does not hold.

    Besides the public checks of a certificate: the new versions are current; replaced and left-alone models
    together are all descendants of the starts; the recipients are all that the chain has; the live store has
    no file listed as deleted; this member has no key listed as destroyed.

    `reachable`: returns the current models that a request can reach.  `listing`: this member's own list of
    recipients.
    """
    try:
        checked = check_statement(parse_statement(data))
        superseded = check_on_chains(checked, chains)
        anchors = anchors_of_blocks(checked.record, chains.live, chains.committee)
        anchors |= anchors_in_archive(checked.statement.archive, checked.heads, chains.archive)
        check_anchors(checked.record, anchors)
        check_archive_anchor(checked.heads, anchors)
    except (VerificationError, StorageError, ContractError) as error:
        raise RefusedError(str(error)) from None
    require(not superseded, f"{', '.join(sorted(superseded))} was replaced again since")
    _check_affected(checked, reachable(checked.statement.request))
    _check_recipients(checked, listing)
    _check_deleted(checked, store)
    _check_keys(checked, keyring)


def _check_recipients(checked: CheckedStatement, listing: Listing) -> None:
    stated = checked.statement.recipients
    own = listing({each.position: each.version_after for each in checked.statement.replaced}, stated)
    require(own == stated, "its recipients of replaced versions, or their answers, differ from the chain's")


def _check_affected(checked: CheckedStatement, catalogue: Catalogue) -> None:
    statement = checked.statement
    starts = tuple(start.name for start in statement.request.starts)
    for start in statement.request.starts:
        placed = catalogue.models.get(start.name)
        require(
            placed is not None and placed.position == start.place(),
            f"there is no start {start.name} at {start.position}",
        )
    affected = {*starts, *catalogue.graph.descendants(starts)}
    replaced = {each.name for each in statement.replaced}
    expected = tuple(sorted(affected - replaced))
    require(replaced <= affected, f"{', '.join(sorted(replaced - affected))} descends from no start")
    require(
        statement.left_alone == expected,
        f"left alone are {', '.join(expected) or 'none'}, not {', '.join(statement.left_alone) or 'none'}",
    )


def _check_deleted(checked: CheckedStatement, store: Store) -> None:
    there = [cid for cid in checked.statement.erasure.deleted if store.has(parse_cid(cid))]
    require(not there, f"the live store still has {', '.join(there)}")


def _check_keys(checked: CheckedStatement, keyring: Keyring) -> None:
    kept = [cid for cid in checked.statement.erasure.keys_destroyed if keyring.holds(parse_cid(cid))]
    require(
        not kept,
        f"this member still has the keys of {', '.join(kept)}: ask again when the request is finished",
    )
