# SPDX-License-Identifier: Apache-2.0
"""Verifies a run's chains, whole or from a checkpoint on, and writes the next checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.contract import Contract
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.logs import SettledBlock
from blockful_py.errors import RunError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.ahead import Ahead
from blockful_py.record.checkpoint import KeptBlock, read_checkpoint, taken, write_checkpoint
from blockful_py.record.decryption import Decryptor
from blockful_py.record.events import BEGINNING, Begun, CheckedHistory
from blockful_py.record.fields import octets, of_octets
from blockful_py.record.history import check_promises
from blockful_py.record.known import NOTHING_KNOWN, Known
from blockful_py.record.verify import Verification, Verifier
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.interface import FileStore
from blockful_py.storage.store import ContentStore
from blockful_py.types import Position


@dataclass(frozen=True, slots=True)
class ChainsToVerify:
    """The parts of both chains that are to be verified.

    Attributes:
        live, archive: with the events to compare.
        begun: state of the chains before those events.
        known: earlier verification results.
    """

    live: LiveChainContract
    archive: ArchiveRegistryContract
    begun: Begun = BEGINNING
    known: Known = NOTHING_KNOWN

    def verifier(self, contracts: Contracts, store: FileStore, decryptor: Decryptor | None) -> Verifier:
        return Verifier(self.live, contracts.committee, store, decryptor, self.known)

    def history(self) -> CheckedHistory:
        return check_promises(self.live, self.archive, unfinished=True, begun=self.begun)


def to_verify(contracts: Contracts, since: Path | None) -> ChainsToVerify:
    """Both chains, whole or from the checkpoint in the file `since` on.

    Raises ReorganisedError if a chain has changed since it was read; RunError or FormatError if the file is
    no checkpoint of these contracts.
    """
    if since is None:
        contracts.require_unchanged()
        return ChainsToVerify(contracts.live, contracts.archive)
    kept = read_checkpoint(since, contracts.live, contracts.archive)
    live = contracts.live.after(_mark(kept.live))
    archive = contracts.archive.continuing(_mark(kept.archive), octets(kept.head))
    return ChainsToVerify(live, archive, kept.begun(), kept.known())


def verified(
    chains: ChainsToVerify,
    verifier: Verifier,
    positions: Sequence[Position] | None,
    checkpoint: Path | None,
    progress: Callable[[int], None],
    store: FileStore,
) -> Verification:
    """Verifies both chains, and writes the file `checkpoint` if all checks pass.

    Spreads many models over the cores, if they are in a folder of this machine.

    Raises RunError, and writes no file, if a decision is unfinished or the chains grew meanwhile.
    """
    live, archive = chains.live.mark(), chains.archive.mark()
    own = store.own if isinstance(store, FederatedStore) else store
    spread = verifier.changed() if positions is None and isinstance(own, ContentStore) else ()
    with Ahead(verifier, own, spread) as ahead:
        outcome = verifier.verify_all(chains.history(), positions, progress, ahead.verified)
    if checkpoint is None or not outcome.passed:
        return outcome
    length, head = chains.archive.length(), chains.archive.head()
    found = taken(verifier.view, _kept(chains.live, live), _kept(chains.archive, archive), length, head)
    if (chains.live.mark().events, chains.archive.mark().events) != (live.events, archive.events):
        raise RunError(
            f"everything verifies, and {checkpoint} was not written: the chains grew meanwhile. Run the "
            "command again."
        )
    if outcome.pending:
        raise RunError(
            f"everything verifies, and {checkpoint} was not written: {len(outcome.pending)} decision(s) are "
            "in the archive and not yet on the live chain. Run the command again when they are; `blockful "
            "resume` finishes them if no leader is at work."
        )
    write_checkpoint(checkpoint, found)
    return outcome


def _kept(contract: Contract, mark: SettledBlock) -> KeptBlock:
    address = of_octets(contract.address)
    return KeptBlock(
        chain_id=contract.chain_id, contract=address, block=mark.block, hash=mark.hash, events=mark.events
    )


def _mark(kept: KeptBlock) -> SettledBlock:
    return SettledBlock(kept.block, kept.hash, kept.events)
