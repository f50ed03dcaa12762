# SPDX-License-Identifier: Apache-2.0
"""Publishes trained models: signed nodes into the stores, blocks onto the chains, archive first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from blockful_py.committee.certified import CertifiedPublication
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.context import Contracts
from blockful_py.pipeline.execution import ARCHIVE, LIVE, Call, Executed, Job
from blockful_py.pipeline.identities import address_of
from blockful_py.pipeline.increments import Stored, keep_increments
from blockful_py.pipeline.model_node import Reference, Statement, sign_statement
from blockful_py.pipeline.packaging import Packager
from blockful_py.pipeline.progress import Stopwatch
from blockful_py.pipeline.proposing import NewModel
from blockful_py.pipeline.sealing import SealedFile
from blockful_py.pipeline.statement_parts import Increment
from blockful_py.pipeline.statements import recorded_privacy, recorded_training
from blockful_py.pipeline.workbench import Panel, Workbench
from blockful_py.storage.cid import cid_string
from blockful_py.types import Position


class Publisher:
    """Turns trained models into transactions."""

    def __init__(self, bench: Workbench, panel: Panel) -> None:
        chain = bench.run.settings.chain
        self._bench = bench
        self._panel = panel
        self._executor = bench.executor(Stopwatch())
        self._packager = Packager(chain.packaging_interval, chain.block_size, bench.clock)

    def publish(
        self, models: Sequence[TrainedModel], placed: Mapping[str, Position], stored: Stored | None = None
    ) -> tuple[dict[str, Position], tuple[Executed, ...]]:
        """Publishes models whose references are all in `placed`; returns where they stand.

        `stored`: increments to be kept beside them.
        """
        sealed = [self._bench.seal(model.weights) for model in models]
        increments = keep_increments(self._bench, stored or {})
        waiting = [
            self._store(model, file, increments.get(model.name, ()), placed)
            for model, file in zip(models, sealed, strict=True)
        ]
        self._bench.give_keys(sealed)
        positions: dict[str, Position] = {}
        executed: list[Executed] = []
        for due, block in self._packager.blocks(waiting):
            proposal = self._panel.proposer.publication(block, due)
            certified = self._panel.coordinator.certify_publication(proposal)
            names = ", ".join(model.name for model in block)
            job = publication_job(self._bench.contracts, certified, f"publish {names}")
            executed += self._executor.run(job, partial(self._panel.coordinator.hand_over, certified))
            self._executor.done()
            height = self._bench.contracts.live.height()
            positions.update({model.name: Position(height, index) for index, model in enumerate(block)})
        return positions, tuple(executed)

    def _store(
        self,
        model: TrainedModel,
        sealed: SealedFile,
        increments: tuple[Increment, ...],
        placed: Mapping[str, Position],
    ) -> NewModel:
        secret = self._bench.identities.user(model.user)
        owner = address_of(secret)
        live, archive = self._bench.live_store, self._bench.archive_store
        live.add(sealed.data)
        statement = Statement(
            name=model.name,
            user=model.user,
            round=model.round,
            owner="0x" + owner.hex(),
            weights=cid_string(archive.add(sealed.data)),
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
        node = sign_statement(statement, secret, chain.chain_id, chain.address).to_bytes()
        live.add(node)
        references = tuple(sorted(placed[r.name] for r in model.references))
        return NewModel(model.name, archive.add(node), owner, references)


def publication_job(contracts: Contracts, certified: CertifiedPublication, note: str) -> Job:
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
    return Job(proposal.proposal, tuple(calls), note=note)
