# SPDX-License-Identifier: Apache-2.0
"""Replaces models on the record: stores, certifies, archives and redacts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType

from blockful_py.chain.settlement import ARCHIVE, LIVE, Executed, Settlement, SettlementCall
from blockful_py.committee.certified import CertifiedRedaction
from blockful_py.committee.drafting import Replacement
from blockful_py.engine.jobs import Act, PlannedStep
from blockful_py.errors import BlockfulError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedFile
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.journaled_sends import Decided
from blockful_py.pipeline.jobs.statements import retrained_privacy
from blockful_py.pipeline.jobs.unstore import missing_files, unstore
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Progress, Silent, Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import (
    ModelNode,
    PlacedNode,
    Redaction,
    Request,
    sign_statement,
)
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Uri


@dataclass(slots=True)
class RedactionOutcome:
    """The outcome of a redaction: the new nodes by name, and the transactions."""

    nodes: dict[str, ModelNode] = field(default_factory=dict)
    executed: list[Executed] = field(default_factory=list)


class Redactor:
    """Carries out one decision of the committee: one or many models under one certificate."""

    def __init__(self, context: FederationContext, counter: Counter, stopwatch: Stopwatch) -> None:
        self._context = context
        self._session = context.session(counter)
        self._counter = counter
        self._stopwatch = stopwatch
        self._executor = context.executor(stopwatch)

    def replace(
        self,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        request: Request,
        signed_by_owner: Collection[str],
        handed_in: Mapping[str, ModelNode] = MappingProxyType({}),
        progress: Progress | None = None,
    ) -> RedactionOutcome:
        """Replaces the models named in `new`, and those `handed_in`, all under one certificate.

        A job must be open; its journal holds each step.  The replaced versions' files stay until it ends.
        `signed_by_owner`: models whose owners made the new weights and sign a new statement.  `handed_in`:
        nodes that their owners made elsewhere, whose files are in the live store.
        """
        nodes, sealed, shown = dict(handed_in), {}, progress or Silent()
        for name, weights in new.items():
            sealed[name], nodes[name] = self.make(catalogue[name], weights, request, name in signed_by_owner)
        replacements = {
            name: Replacement(catalogue[name].position, file_uri(node.to_bytes()))
            for name, node in nodes.items()
        }
        subject = ", ".join(nodes)
        uris = [*(file.uri for file in sealed.values()), *(each.uri for each in replacements.values())]
        cids = missing_files(self._context.stores.live, uris)
        store, keys = self._context.journal.plan(
            [PlannedStep(Act.STORE, subject, {"cids": cids}), PlannedStep(Act.KEYS, subject)]
        )
        coordinator = self._session.coordinator

        def decide() -> Decided[CertifiedRedaction]:
            draft = self._session.proposer.redaction(list(replacements.values()), self._context.clock.now())
            with shown.stage("review by the committee", coordinator.members, "members") as advance:
                certified = coordinator.certify_redaction(draft, lambda: advance(1))
            self._counter.certified(draft)
            forget, contracts = erased(catalogue, nodes), self._context.contracts
            settlement = redaction_settlement(contracts, certified, forget, f"unlearn {subject}")
            return Decided(certified, settlement, coordinator.excluded.told())

        try:
            with self._stopwatch("store"):
                with self._context.journal.taking(store):
                    self._store(catalogue, sealed, nodes)
                    self._context.hand_out(uris)
                with self._context.journal.taking(keys):
                    self._context.keys.give(sealed.values())
            with self._stopwatch("certify"):
                certified, execution = self._executor.certify(
                    store.decision, subject, coordinator.keepers, decide
                )
        except BaseException:
            with suppress(BlockfulError):  # resuming the job deletes the rest
                unstore(self._context.stores.live, self._context.keys, cids)
            raise
        with shown.stage("replace on both chains", None):
            executed = self._executor.send(
                execution, lambda: coordinator.hand_over(certified), coordinator.release
            )
        return RedactionOutcome(nodes, list(executed))

    def make(
        self, placed: PlacedNode, weights: Weights, request: Request, signed_by_owner: bool
    ) -> tuple[SealedFile, ModelNode]:
        """The sealed new weights of a model, and its node; nothing is stored."""
        with self._stopwatch("audit"):
            sealed = self._context.keys.seal(weights)
            return sealed, self._node(placed, weights, sealed, request, signed_by_owner)

    def _store(
        self, catalogue: Catalogue, sealed: Mapping[str, SealedFile], nodes: Mapping[str, ModelNode]
    ) -> None:
        """Adds weights and nodes to the live store, and the versions to be replaced to the archive's."""
        live, archive = self._context.stores.live, self._context.stores.archive
        live.add_each(
            [*(file.data for file in sealed.values()), *(nodes[name].to_bytes() for name in sealed)]
        )
        for _ in sealed:
            self._counter.uploaded()
        replaced = (uri for name in nodes for uri in _files(catalogue[name]))
        archive.add_each(live.read(uri) for uri in replaced if not archive.has(uri))

    def _node(
        self, placed: PlacedNode, weights: Weights, sealed: SealedFile, request: Request, resigned: bool
    ) -> ModelNode:
        address = cid_string(sealed.uri)
        redaction = Redaction(
            version=placed.version + 1,
            weights=address,
            request=request,
            claims=measure(self._context.setup, weights, request.classes),
        )
        statement, node = placed.node.statement, placed.node
        if resigned:
            user = self._context.setup.user(statement.user)
            own = accuracy(self._context.setup.architecture, weights, user.test)
            changed = {
                "weights": address,
                "accuracy": own,
                "privacy": statement.privacy
                and retrained_privacy(statement, request, user, self._earlier(placed, request)),
                "increments": (),
                "created": self._context.clock.now(),
            }
            live = self._context.contracts.live
            secret = self._context.accounts.secret(statement.user)
            node = sign_statement(statement.model_copy(update=changed), secret, live.chain_id, live.address)
        return node.model_copy(update={"redaction": redaction})

    def _earlier(self, placed: PlacedNode, request: Request) -> tuple[Forget, ...]:
        return self._context.history.earlier_forgets([placed], request)[placed.node.name]


def _files(placed: PlacedNode) -> tuple[Uri, ...]:
    """A version's node, and its weights if it has any."""
    return placed.uri, *placed.node.sealed[:1]


def erased(catalogue: Catalogue, replaced: Mapping[str, ModelNode]) -> tuple[str, ...]:
    """CIDs of the replaced nodes, weights and increments that no model points to afterwards."""
    kept: set[Uri] = set()
    gone: set[Uri] = set()
    for name, placed in catalogue.models.items():
        uris = {placed.uri, *placed.node.sealed}
        if name in replaced:
            gone |= uris
            kept.update(replaced[name].sealed)
        else:
            kept |= uris
    return tuple(sorted(map(cid_string, gone - kept)))


def redaction_settlement(
    contracts: Contracts, certified: CertifiedRedaction, forget: tuple[str, ...], note: str
) -> Settlement:
    """The archive's transactions, then the live chain's."""
    calls = [
        SettlementCall(
            ARCHIVE,
            action.chunk,
            contracts.archive.append_data(chunk.expected_head, chunk.timestamp, chunk.records, action),
        )
        for chunk, action in zip(certified.draft.archive, certified.archive, strict=True)
    ]
    calls += [
        SettlementCall(
            LIVE, action.chunk, contracts.live.redact_data(chunk.updates, chunk.header_updates, action)
        )
        for chunk, action in zip(certified.chunks, certified.live, strict=True)
    ]
    return Settlement(certified.live[0].certificate, tuple(calls), forget, note)
