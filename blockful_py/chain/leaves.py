# SPDX-License-Identifier: Apache-2.0
"""Leaves of certificates and identifiers of rosters, computed without a node."""

from __future__ import annotations

from blockful_py.chain import abi
from blockful_py.chain.interface import interface_of
from blockful_py.crypto.merkle import action_leaf
from blockful_py.crypto.roster import Roster
from blockful_py.types import Address, ArchiveCall, RedactCall


def redact_leaf(chain_id: int, contract: Address, call: RedactCall) -> bytes:
    """Leaf of `LiveChain.redact` in a certificate's content."""
    selector = interface_of("LiveChain").selector("redact")
    digest = abi.redaction_digest(call.updates, call.header_updates)
    return action_leaf(chain_id, contract, selector, call.action.chunk, call.action.chunks, digest)


def archive_leaf(chain_id: int, contract: Address, call: ArchiveCall) -> bytes:
    """Leaf of `ArchiveRegistry.append` in a certificate's content."""
    selector = interface_of("ArchiveRegistry").selector("append")
    digest = abi.archive_digest(call.expected_head, call.timestamp, call.records)
    return action_leaf(chain_id, contract, selector, call.action.chunk, call.action.chunks, digest)


def roster_id(epoch: int, roster: Roster) -> bytes:
    """Identifier of a roster, 32 bytes; covers its epoch, members, threshold, rule and group key.

    It equals the digest of the mirror's `advance` (IQuorumMirror).
    """
    return abi.roster_digest(epoch, roster)
