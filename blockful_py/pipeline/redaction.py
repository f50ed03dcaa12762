# SPDX-License-Identifier: Apache-2.0
"""Replaces models on the record: stores, certifies, archives, redacts, forgets the old bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from blockful_py.committee.certified import CertifiedRedaction
from blockful_py.errors import BlockfulError, RunError
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.catalogue import Catalogue
from blockful_py.pipeline.claims import measure
from blockful_py.pipeline.context import Contracts
from blockful_py.pipeline.execution import ARCHIVE, LIVE, Call, Executed, Job
from blockful_py.pipeline.history import earlier_forgets
from blockful_py.pipeline.model_node import (
    ModelNode,
    PlacedNode,
    Redaction,
    Request,
    parse_node,
    sign_statement,
)
from blockful_py.pipeline.operations import Counter
from blockful_py.pipeline.progress import Stopwatch
from blockful_py.pipeline.proposing import Replacement
from blockful_py.pipeline.sealing import SealedFile
from blockful_py.pipeline.statements import retrained_privacy
from blockful_py.pipeline.workbench import Panel, Workbench
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position, Uri
from blockful_py.unlearning.forget import Forget


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
        self._executor = bench.executor(stopwatch)

    def replace(
        self,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        request: Request,
        signed_by_owner: Collection[str],
    ) -> Replaced:
        """Replaces the models named in `new`, all under one certificate.

        `signed_by_owner`: models whose owners made the new weights and sign a new statement.
        """
        nodes, sealed = {}, {}
        for name, weights in new.items():
            with self._stopwatch("audit"):
                sealed[name] = self._bench.seal(weights)
                nodes[name] = self._node(
                    catalogue[name], new[name], sealed[name], request, name in signed_by_owner
                )
        stored: list[Uri] = []
        try:
            with self._stopwatch("store"):
                replacements = [
                    Replacement(catalogue[name].position, self._store(file, nodes[name], stored))
                    for name, file in sealed.items()
                ]
                for name in new:
                    self._keep_for_auditors(catalogue[name])
                self._bench.give_keys(sealed.values())
            with self._stopwatch("certify"):
                draft = self._panel.proposer.redaction(replacements, self._bench.clock.now())
                certified = self._panel.coordinator.certify_redaction(draft)
                self._counter.certified(draft)
        except BaseException:
            for uri in stored:
                self._bench.live_store.delete(uri)
            with suppress(BlockfulError):
                self._bench.keepers.withdraw(stored)
                self._bench.auditors.destroy_all(stored)
            raise
        forget = erased(catalogue, nodes)
        job = redaction_job(self._bench.contracts, certified, forget, f"unlearn {', '.join(new)}")
        executed = list(self._executor.run(job, partial(self._panel.coordinator.hand_over, certified)))
        with self._stopwatch("store"):
            self.finish(forget)
        return Replaced(nodes, executed)

    def _store(self, sealed: SealedFile, node: ModelNode, stored: list[Uri]) -> Uri:
        """Adds weights and node to the live store, and to `stored` what was not there; the node's URI."""
        uris = [sealed.uri, file_uri(node.to_bytes())]
        stored += [uri for uri in uris if not self._bench.live_store.has(uri)]
        self._bench.live_store.add(sealed.data)
        self._counter.uploaded()
        return self._bench.live_store.add(node.to_bytes())

    def finish(self, forget: Sequence[str]) -> None:
        """Deletes the replaced versions' bytes from the live store, then closes the job."""
        for cid in forget:
            self._bench.live_store.delete(parse_cid(cid))
        self._executor.done()

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
                "privacy": retrained_privacy(statement, request, user, self._earlier(placed, request)),
                "increments": (),
                "created": self._bench.clock.now(),
            }
            live = self._bench.contracts.live
            secret = self._bench.identities.user(statement.user)
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


def standing(catalogue: Catalogue) -> frozenset[str]:
    """CIDs of the nodes, weights and increments that models point to."""
    placed = catalogue.models.values()
    return frozenset(cid_string(uri) for each in placed for uri in (each.uri, *each.node.sealed))


def redaction_job(
    contracts: Contracts, certified: CertifiedRedaction, forget: tuple[str, ...], note: str
) -> Job:
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
    return Job(certified.draft.proposal, tuple(calls), forget, note)
