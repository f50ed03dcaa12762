# SPDX-License-Identifier: Apache-2.0
"""Checks of a member that publications and redactions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import BlockfulError, EarlyError
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.review.times import require_timely
from blockful_py.pipeline.run.clock import newest_time
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.storage.cid import cid_string
from blockful_py.types import ArchiveReason, Uri

GIVEN_UP_SECONDS = 3600
"""Seconds after which reviews no longer wait for a decision that is only on the archive."""


def require_in_time(sources: ReviewSources, archive: Sequence[ArchiveChunk]) -> None:
    """Checks the proposal's times if several members lead, since one of their clocks may be wrong."""
    if sources.docket is not None:
        contracts = sources.contracts
        require_timely(archive, newest_time((sources.contracts.live.node, contracts.archive.node)))


def require_finished(sources: ReviewSources) -> None:
    """Checks, if several members lead, that the last archived decision is also on the live chain.

    A decision left unfinished for GIVEN_UP_SECONDS does not block the others.
    """
    records = sources.record.archive.read() if sources.docket is not None else ()
    if not records:
        return
    newest = records[-1]
    models = sources.record.catalogue.read().models.values()
    versions = {placed.position: placed.version for placed in models}
    least = newest.record.version + (newest.record.reason is ArchiveReason.SUPERSEDED)
    finished = versions.get(newest.record.position, -1) >= least
    now = newest_time((sources.contracts.live.node, sources.contracts.archive.node))
    over = now > newest.timestamp + GIVEN_UP_SECONDS
    if not (finished or over):
        raise EarlyError("the decision before is on the archive, and not yet on the live chain")


def require_unnamed(sources: ReviewSources, nodes: Sequence[ModelNode]) -> None:
    """Checks, among machines, that no other model names the sealed files.

    The key of a file that two models name would be destroyed with the wrong version, or outlive its own.
    """
    if sources.docket is None:
        return
    models = sources.record.catalogue.read().models
    owners = {uri: name for name, placed in models.items() for uri in placed.node.sealed}
    for node in nodes:
        for uri in node.sealed:
            other = owners.setdefault(uri, node.name)
            require(other == node.name, f"model {node.name} names {cid_string(uri)}, a file of {other}")


def find_keys(sources: ReviewSources, uris: Sequence[Uri]) -> None:
    """Has the keyring fetch all missing keys at once; a key still missing is refused on use."""
    with suppress(BlockfulError):
        sources.keyring.find(uris)


def read_node(sources: ReviewSources, uri: Uri) -> ModelNode:
    with refusing("a model node cannot be read"):
        return parse_node(sources.store.read(uri, MAX_NODE_BYTES))
