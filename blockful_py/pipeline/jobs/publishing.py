# SPDX-License-Identifier: Apache-2.0
"""Publishes trained models: signed nodes into the stores, blocks onto the chains, archive first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.chain.settlement import ARCHIVE, LIVE, Call, Executed, Settlement
from blockful_py.committee.certified import CertifiedPublication
from blockful_py.committee.drafting import NewModel
from blockful_py.committee.packaging import Packager
from blockful_py.committee.proposals import PublicationProposal
from blockful_py.engine.jobs import Act, Plan
from blockful_py.keys.sealing import SealedFile
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.jobs.context import Panel, Workbench
from blockful_py.pipeline.jobs.increments import Stored, seal_increments
from blockful_py.pipeline.jobs.statements import recorded_privacy, recorded_training
from blockful_py.pipeline.jobs.unstore import absent
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.model_node import Reference, Statement, sign_statement
from blockful_py.record.statement_parts import Increment
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position


class Publisher:
    """Turns trained models into transactions."""

    def __init__(self, bench: Workbench, panel: Panel) -> None:
        chain = bench.run.settings.chain
        self._bench = bench
        self._panel = panel
        self._settler = bench.settler(Stopwatch())
        self._packager = Packager(chain.packaging_interval, chain.block_size, bench.clock)

    def publish(
        self, models: Sequence[TrainedModel], placed: Mapping[str, Position], stored: Stored | None = None
    ) -> tuple[dict[str, Position], tuple[Executed, ...]]:
        """Publishes models whose references are all in `placed`; returns where they stand.

        `stored`: increments to be kept beside them.  A job is open, and each step is in its journal.
        """
        journal, live, archive = self._bench.journal, self._bench.live_store, self._bench.archive_store
        sealed = [self._bench.seal(model.weights) for model in models]
        increments = seal_increments(self._bench, stored or {})
        nodes = [
            self._node(model, file, increments.statements.get(model.name, ()), placed)
            for model, file in zip(models, sealed, strict=True)
        ]
        wave = ", ".join(model.name for model in models)
        uris = [*(file.uri for file in (*sealed, *increments.files)), *map(file_uri, nodes)]
        store, keys = journal.plan(
            [Plan(Act.STORE, wave, {"cids": absent(live, uris)}), Plan(Act.KEYS, wave)]
        )
        with journal.taking(store):
            for data in (*(file.data for file in sealed), *nodes):
                live.add(data)
                archive.add(data)
            for file in increments.files:
                live.add(file.data)
        with journal.taking(keys):
            self._bench.give_keys(sealed)
            increments.deliver(self._bench.keepers)
        waiting = [self._new(model, node, placed) for model, node in zip(models, nodes, strict=True)]
        positions: dict[str, Position] = {}
        executed: list[Executed] = []
        for due, block in self._packager.blocks(waiting):
            executed += self._settle(store.decision, self._panel.proposer.publication(block, due), block)
            height = self._bench.contracts.live.height()
            positions.update({model.name: Position(height, index) for index, model in enumerate(block)})
        return positions, tuple(executed)

    def _settle(
        self, decision: int, proposal: PublicationProposal, block: Sequence[NewModel]
    ) -> tuple[Executed, ...]:
        coordinator = self._panel.coordinator
        names = ", ".join(model.name for model in block)
        decided: list[CertifiedPublication] = []

        def decide() -> Settlement:
            decided.append(coordinator.certify_publication(proposal))
            return publication_settlement(self._bench.contracts, decided[0], f"publish {names}")

        given = self._settler.certify(decision, names, coordinator.keepers, decide)
        return self._settler.send(given, lambda: coordinator.hand_over(decided[0]))

    def _node(
        self,
        model: TrainedModel,
        sealed: SealedFile,
        increments: tuple[Increment, ...],
        placed: Mapping[str, Position],
    ) -> bytes:
        secret = self._bench.accounts.secret(model.user)
        owner = address_of(secret)
        statement = Statement(
            name=model.name,
            user=model.user,
            round=model.round,
            owner="0x" + owner.hex(),
            weights=cid_string(sealed.uri),
            references=tuple(
                Reference(name=r.name, position=str(placed[r.name]), accuracy=r.accuracy)
                for r in model.references
            ),
            accuracy=model.accuracy,
            training=recorded_training(model.training),
            privacy=recorded_privacy(model.privacy),
            increments=increments,
            created=self._bench.clock.now(),
        )
        chain = self._bench.contracts.live
        return sign_statement(statement, secret, chain.chain_id, chain.address).to_bytes()

    def _new(self, model: TrainedModel, node: bytes, placed: Mapping[str, Position]) -> NewModel:
        owner = address_of(self._bench.accounts.secret(model.user))
        references = tuple(sorted(placed[r.name] for r in model.references))
        return NewModel(model.name, file_uri(node), owner, references)


def publication_settlement(contracts: Contracts, certified: CertifiedPublication, note: str) -> Settlement:
    """The archive's transactions, then the live chain's."""
    proposal = certified.proposal
    calls = [
        Call(
            ARCHIVE,
            action.chunk,
            contracts.archive.append_data(chunk.expected_head, chunk.timestamp, chunk.records, action),
        )
        for chunk, action in zip(proposal.archive, certified.archive, strict=True)
    ]
    calls.append(Call(LIVE, 0, contracts.live.append_data(proposal.block, certified.live)))
    return Settlement(proposal.proposal, tuple(calls), note=note)
