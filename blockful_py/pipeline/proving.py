# SPDX-License-Identifier: Apache-2.0
"""Proofs of a run's models, and read-only access to a run's chains for verifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import connect
from blockful_py.chain.quorum import AppointedCommitteeContract
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.record.certificates.verifying import Chains
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.exporting import export_history, export_record
from blockful_py.record.proofs.proof import Proof, Sources, verify_proof
from blockful_py.record.verify import Verifier
from blockful_py.types import Address


def prove(
    federation: Federation,
    names: Sequence[str],
    history: bool = True,
    checkpoint: bytes | None = None,
    progress: Progress | None = None,
) -> Proof:
    """A proof of the named models, which are verified first, weights included.

    Raises UnknownModelError, VerificationError, or RunError for a checkpoint that does not fit.
    """
    contracts, store = federation.contracts, federation.stores.live
    catalogue = federation.catalogue()
    positions = [catalogue[name].position for name in dict.fromkeys(names)]
    verifier = Verifier(contracts.live, contracts.committee, store)
    with (progress or Silent()).stage("verify", len(positions)) as advance:
        for position in positions:
            verifier.verify(position)
            advance(1)
    proof = Proof(
        format="blockful-proof/1",
        record=export_record(contracts.live, contracts.committee, store, positions, checkpoint),
        archive=export_history(contracts.archive) if history else None,
    )
    verify_proof(proof, Anchors(), sources_of(contracts))
    return proof


def sources_of(contracts: Contracts) -> Sources:
    """The chains of a run."""
    return Sources(contracts.live, contracts.committee, contracts.archive)


@contextmanager
def opened_run(directory: Path) -> Iterator[Sources]:
    """Opens the chains of a run read-only; work that a crash left unfinished stays as it is."""
    with OpenedRun.attach(directory) as opened:
        yield sources_of(opened.contracts)


@contextmanager
def opened_chains(directory: Path) -> Iterator[Chains]:
    """Opens the chains of a run read-only, for the verification of certificates."""
    with OpenedRun.attach(directory) as opened:
        yield Chains(opened.contracts.live, opened.contracts.committee, opened.contracts.archive)


@contextmanager
def opened_url(url: str, contract: Address, chain_id: int) -> Iterator[Sources]:
    """Opens the LiveChain contract at an address on a node, and the committee contract that it obeys.

    Raises NodeError when the node is on another chain or has no such contract.
    """
    with ExitStack() as stack:
        node = connect(url, chain_id)
        stack.callback(node.close)
        live = LiveChainContract(node, contract)
        yield Sources(live, AppointedCommitteeContract(node, live.quorum()))
