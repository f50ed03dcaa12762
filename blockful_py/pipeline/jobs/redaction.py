# SPDX-License-Identifier: Apache-2.0
"""Replaces models on the record: stores, certifies, archives, redacts, forgets the old bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from blockful_py.chain.settlement import ARCHIVE, LIVE, Call, Executed, Settlement
from blockful_py.committee.certified import CertifiedRedaction
from blockful_py.committee.drafting import Replacement
from blockful_py.engine.jobs import Act, Plan
from blockful_py.errors import BlockfulError, RunError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedFile
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.context import Panel, Workbench
from blockful_py.pipeline.jobs.history import earlier_forgets
from blockful_py.pipeline.jobs.statements import retrained_privacy
from blockful_py.pipeline.jobs.unstore import absent, withdraw
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import (
    ModelNode,
    PlacedNode,
    Redaction,
    Request,
    parse_node,
    sign_statement,
)
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position, Uri


@dataclass(slots=True)
class Replaced:
    """What a redaction did: the new nodes by name, and the transactions."""

    nodes: dict[str, ModelNode] = field(default_factory=dict)
    executed: list[Executed] = field(default_factory=list)


class Redactor:
    """Carries one decision of the committee through: one or many models, one certificate."""

    def __init__(self, bench: Workbench, panel: Panel, counter: Counter, stopwatch: Stopwatch) -> None:
        self._bench = bench
        self._panel = panel
        self._counter = counter
        self._stopwatch = stopwatch
        self._settler = bench.settler(stopwatch)

    def replace(
        self,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        request: Request,
        signed_by_owner: Collection[str],
    ) -> Replaced:
        """Replaces the models named in `new`, all under one certificate.

        A job is open, and each step is in its journal.  The replaced versions' bytes stay until the job ends.
        `signed_by_owner`: models whose owners made the new weights and sign a new statement.
        """
        nodes, sealed = {}, {}
        for name, weights in new.items():
            with self._stopwatch("audit"):
                sealed[name] = self._bench.seal(weights)
                nodes[name] = self._node(
                    catalogue[name], new[name], sealed[name], request, name in signed_by_owner
                )
        replacements = {
            name: Replacement(catalogue[name].position, file_uri(node.to_bytes()))
            for name, node in nodes.items()
        }
        subject = ", ".join(new)
        uris = [*(file.uri for file in sealed.values()), *(each.uri for each in replacements.values())]
        cids = absent(self._bench.live_store, uris)
        store, keys = self._bench.journal.plan(
            [Plan(Act.STORE, subject, {"cids": cids}), Plan(Act.KEYS, subject)]
        )
        coordinator = self._panel.coordinator
        decided: list[CertifiedRedaction] = []

        def decide() -> Settlement:
            draft = self._panel.proposer.redaction(list(replacements.values()), self._bench.clock.now())
            decided.append(coordinator.certify_redaction(draft))
            self._counter.certified(draft)
            forget = erased(catalogue, nodes)
            return redaction_settlement(self._bench.contracts, decided[0], forget, f"unlearn {subject}")

        try:
            with self._stopwatch("store"):
                with self._bench.journal.taking(store):
                    self._store(catalogue, sealed, nodes)
                with self._bench.journal.taking(keys):
                    self._bench.give_keys(sealed.values())
            with self._stopwatch("certify"):
                given = self._settler.certify(store.decision, subject, coordinator.keepers, decide)
        except BaseException:
            with suppress(BlockfulError):  # whoever goes on with the job takes it back
                withdraw(self._bench, cids)
            raise
        executed = self._settler.send(given, lambda: coordinator.hand_over(decided[0]))
        return Replaced(nodes, list(executed))

    def _store(
        self, catalogue: Catalogue, sealed: Mapping[str, SealedFile], nodes: Mapping[str, ModelNode]
    ) -> None:
        """Adds weights and nodes to the live store; keeps the versions to be replaced for auditors."""
        for name, file in sealed.items():
            self._bench.live_store.add(file.data)
            self._counter.uploaded()
            self._bench.live_store.add(nodes[name].to_bytes())
        for name in sealed:
            self._keep_for_auditors(catalogue[name])

    def catalogue(self) -> Catalogue:
        """The models as they stand."""
        return self._bench.catalogue.read()

    def archived(self, position: Position, version: int) -> ModelNode:
        """An archived version of the model at `position`. Raises RunError when there is none."""
        for stored in self._bench.archive.read():
            record = stored.record
            if (record.position, record.version) == (position, version):
                return parse_node(self._bench.archive_store.read(record.uri))
        raise RunError(f"version {version} of the model at {position} is not in the archive.")

    def _node(
        self, placed: PlacedNode, weights: Weights, sealed: SealedFile, request: Request, resigned: bool
    ) -> ModelNode:
        address = cid_string(sealed.uri)
        redaction = Redaction(
            version=placed.version + 1,
            weights=address,
            request=request,
            claims=measure(self._bench.laboratory, weights, request.classes),
        )
        statement, node = placed.node.statement, placed.node
        if resigned:
            user = self._bench.laboratory.users[statement.user - 1]
            own = accuracy(self._bench.laboratory.architecture, weights, user.test)
            changed = {
                "weights": address,
                "accuracy": own,
                "privacy": statement.privacy
                and retrained_privacy(statement, request, user, self._earlier(placed, request)),
                "increments": (),
                "created": self._bench.clock.now(),
            }
            live = self._bench.contracts.live
            secret = self._bench.accounts.secret(statement.user)
            node = sign_statement(statement.model_copy(update=changed), secret, live.chain_id, live.address)
        return node.model_copy(update={"redaction": redaction})

    def _earlier(self, placed: PlacedNode, request: Request) -> tuple[Forget, ...]:
        return earlier_forgets(self._bench, [placed], request)[placed.node.name]

    def _keep_for_auditors(self, placed: PlacedNode) -> None:
        """The version to be replaced, into the archive's store (there already after publication)."""
        for uri in (placed.uri, placed.node.weights):
            if not self._bench.archive_store.has(uri):
                self._bench.archive_store.add(self._bench.live_store.read(uri))


def erased(catalogue: Catalogue, replaced: Mapping[str, ModelNode]) -> tuple[str, ...]:
    """CIDs of the replaced nodes, weights and increments that no model points to afterwards."""
    kept: set[Uri] = set()
    gone: set[Uri] = set()
    for name, placed in catalogue.models.items():
        uris = {placed.uri, *placed.node.sealed}
        if name in replaced:
            gone |= uris
            kept.add(replaced[name].weights)
        else:
            kept |= uris
    return tuple(sorted(map(cid_string, gone - kept)))


def redaction_settlement(
    contracts: Contracts, certified: CertifiedRedaction, forget: tuple[str, ...], note: str
) -> Settlement:
    """The archive's transactions, then the live chain's."""
    calls = [
        Call(
            ARCHIVE,
            action.chunk,
            contracts.archive.append_data(chunk.expected_head, chunk.timestamp, chunk.records, action),
        )
        for chunk, action in zip(certified.draft.archive, certified.archive, strict=True)
    ]
    calls += [
        Call(LIVE, action.chunk, contracts.live.redact_data(chunk.updates, chunk.header_updates, action))
        for chunk, action in zip(certified.chunks, certified.live, strict=True)
    ]
    return Settlement(certified.draft.proposal, tuple(calls), forget, note)
