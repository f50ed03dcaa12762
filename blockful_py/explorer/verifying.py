# SPDX-License-Identifier: Apache-2.0
"""Verifies a model live: reports each check as soon as it passes or fails."""

from __future__ import annotations

from collections.abc import Callable

from blockful_py.errors import VerificationError
from blockful_py.explorer.lists import Document, hexed, without_paths
from blockful_py.explorer.watched import Watched
from blockful_py.record.events import PROMISES
from blockful_py.record.history import check_promises
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.exporting import export_history, export_record
from blockful_py.record.proofs.proof import Proof, Sources, verify_proof
from blockful_py.record.verify import Verifier
from blockful_py.types import Position

Tell = Callable[[Document], object]


def verify_now(watched: Watched, position: Position, tell: Tell) -> None:
    """Runs the checks of `record.verify` on one model, then the checks of both chains' histories.

    Calls `tell` with {"check", "holds", "detail"} for each, and with {"done", "passed"} at the end.  After a
    failure, skips the model's remaining checks, which depend on it.  Raises NodeError.
    """
    contracts = watched.contracts
    contracts.require_unchanged()
    failed: list[str] = []
    try:
        Verifier(contracts.live, contracts.committee, watched.stores.live).verify(
            position, lambda check: tell({"check": check, "holds": True, "detail": ""})
        )
    except VerificationError as error:
        failed.append(error.check)
        tell({"check": error.check, "holds": False, "detail": without_paths(error.detail)})
    history = check_promises(contracts.live, contracts.archive, unfinished=True)
    about = {None, position, Position.of_header(position.height)}
    broken = {each.promise: each for each in reversed(history.violations) if each.position in about}
    for promise in PROMISES:
        violation = broken.get(promise)
        failed += [promise] if violation else []
        detail = f"{violation.subject}: {violation.detail}" if violation else ""
        tell({"check": promise, "holds": violation is None, "detail": detail})
    tell({"done": True, "passed": not failed, "pending": [hexed(each) for each in history.pending]})


def proof_of(watched: Watched, position: Position) -> Proof:
    """A proof of a model, verified before it is returned (docs/reference/proofs.md).

    Raises VerificationError and NodeError.
    """
    contracts, store = watched.contracts, watched.stores.live
    Verifier(contracts.live, contracts.committee, store).verify(position)
    proof = Proof(
        format="blockful-proof/1",
        record=export_record(contracts.live, contracts.committee, store, [position]),
        archive=export_history(contracts.archive),
    )
    verify_proof(proof, Anchors(), Sources(contracts.live, contracts.committee, contracts.archive))
    return proof
