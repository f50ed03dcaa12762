# SPDX-License-Identifier: Apache-2.0
"""The common state of an undisturbed and a resumed job, and the invariants in between."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.pipeline.federation import Federation
from blockful_py.record.history import check_promises
from blockful_py.types import ArchiveReason
from tests.federations import weights
from tests.limits import ANY_SIZE


@dataclass(frozen=True)
class State:
    """Chains, stores and keys after a job, bit for bit."""

    models: dict[str, tuple[int, str, str]]
    chameleon_hashes: tuple[bytes, ...]
    headers: tuple[tuple[object, ...], ...]
    archive: tuple[object, ...]
    live_files: frozenset[object]
    archive_files: frozenset[object]
    keys: dict[bytes, frozenset[bytes]]
    verified: bool
    audited: bool
    promises_kept: bool

    @classmethod
    def of(cls, federation: Federation) -> State:
        live, archive = federation.contracts.live, federation.contracts.archive
        placed = federation.catalogue().models
        transactions = live.transactions([each.position for each in placed.values()])
        headers = live.headers(range(1, live.height() + 1))
        return cls(
            {
                name: (each.version, each.uri.digest.hex(), weights(federation)[name])
                for name, each in placed.items()
            },
            tuple(transaction.ch for transaction in transactions),
            tuple((h.parent_hash, h.merkle_root, h.timestamp, h.version) for h in headers),
            tuple(stored.record for stored in archive.records(0, archive.length())),
            frozenset(federation.stores.live),
            frozenset(federation.stores.archive),
            {address: vault.versions() for address, vault in federation.context.keys.keyring._vaults.items()},
            federation.verify().passed,
            federation.audit().passed,
            check_promises(live, archive, unfinished=False).kept,
        )


def assert_archived_before_replaced(federation: Federation) -> None:
    """Invariant 3: each replaced version has its record; the reverse need not hold."""
    archive = federation.contracts.archive
    records = [stored.record for stored in archive.records(0, archive.length())]
    superseded = {(r.position, r.version) for r in records if r.reason is ArchiveReason.SUPERSEDED}
    for placed in federation.catalogue().models.values():
        for version in range(placed.version):
            assert (placed.position, version) in superseded
    assert all(federation.stores.archive.read(record.uri, ANY_SIZE) for record in records)
