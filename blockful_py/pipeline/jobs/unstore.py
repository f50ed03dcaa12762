# SPDX-License-Identifier: Apache-2.0
"""Deletes the files and keys that were stored for an abandoned decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress

from blockful_py.errors import BlockfulError
from blockful_py.keys.weight_keys import WeightKeys
from blockful_py.record.catalogue import Catalogue
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.interface import FileStore
from blockful_py.types import Uri


def missing_files(store: FileStore, uris: Iterable[Uri]) -> list[str]:
    """CIDs of the files that a store lacks, in order."""
    return [cid_string(uri) for uri in dict.fromkeys(uris) if not store.has(uri)]


def current_files(catalogue: Catalogue) -> frozenset[str]:
    """CIDs of the nodes, weights and increments that models point to."""
    placed = catalogue.models.values()
    return frozenset(cid_string(uri) for each in placed for uri in (each.uri, *each.node.sealed))


def unstore(store: FileStore, keys: WeightKeys, cids: Collection[str]) -> None:
    """Deletes files from the live store, and withdraws their keys if members can be reached."""
    if not cids:
        return
    uris = [parse_cid(cid) for cid in cids]
    store.delete(*uris)
    with suppress(BlockfulError):
        keys.withdraw(uris)
