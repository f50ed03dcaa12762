# SPDX-License-Identifier: Apache-2.0
"""Publishes trained models: signed nodes into the stores, blocks onto the chains, archive first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from blockful_py.chain.settlement import Executed
from blockful_py.committee.certified import CertifiedPublication
from blockful_py.committee.drafting import NewModel, Packager
from blockful_py.committee.proposals import PublicationProposal
from blockful_py.engine.jobs import Act, PlannedStep
from blockful_py.keys.sealing import SealedFile
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.increments import Stored, seal_increments
from blockful_py.pipeline.jobs.journaled_sends import Decided, settlement_of
from blockful_py.pipeline.jobs.spot_check import samples_commitment
from blockful_py.pipeline.jobs.unstore import missing_files
from blockful_py.pipeline.review.statements import recorded_privacy, recorded_training
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.adopted import Adopted
from blockful_py.record.model_node import sign_statement
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Increment, SharedPart
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Position


class Publisher:
    """Turns trained models into transactions."""

    def __init__(self, context: FederationContext) -> None:
        chain = context.run.settings.chain
        self._context = context
        self._session = context.session(Counter())
        self._executor = context.executor(Stopwatch())
        self._packager = Packager(chain.packaging_interval, chain.block_size, context.clock)

    def publish(
        self,
        models: Sequence[TrainedModel],
        placed: Mapping[str, Position],
        stored: Stored | None = None,
        versions: Mapping[str, int] = MappingProxyType({}),
        parts: Mapping[str, SharedPart] = MappingProxyType({}),
        adopted: Mapping[str, Adopted] = MappingProxyType({}),
    ) -> tuple[dict[str, Position], tuple[Executed, ...]]:
        """Publishes models whose references are all in `placed`; returns their positions and transactions.

        A job must be open; its journal holds each step.  `stored`: increments to store with them.
        `versions`: the references' versions during training; 0 if not named.  `parts`: of shared sums.
        `adopted`: their adopter's statement on models made elsewhere.

        Raises UnusableWeightsError, before storing, for weights that members would refuse.
        """
        context = self._context
        form = context.setup.form
        for model in models:
            form.require(model.weights, f"model {model.name}")
        for label, by_model in (stored or {}).items():
            for name, increment in by_model.items():
                form.require(increment.weights, f"the increment of {name} for class {label}")
        journal, live, archive = context.journal, context.stores.live, context.stores.archive
        sealed = [context.keys.seal(model.weights) for model in models]
        increments = seal_increments(context.keys, stored or {}, context.setup)
        nodes = [
            self._node(
                model, file, increments.statements.get(model.name, ()), placed, versions, parts, adopted
            )
            for model, file in zip(models, sealed, strict=True)
        ]
        wave = ", ".join(model.name for model in models)
        uris = [*(file.uri for file in (*sealed, *increments.files)), *map(file_uri, nodes)]
        store, keys = journal.plan(
            [PlannedStep(Act.STORE, wave, {"cids": missing_files(live, uris)}), PlannedStep(Act.KEYS, wave)]
        )
        with journal.taking(store):
            own = [(node,) for node in nodes]
            archive.add_each(chain((file.pieces() for file in sealed), own))
            live.add_each(chain((file.pieces() for file in (*sealed, *increments.files)), own))
            context.hand_out(uris)
        with journal.taking(keys):
            context.keys.give({file.uri: file.key for file in sealed})
            increments.deliver(context.keys.keyring)
        waiting = [self._new(model, node, placed) for model, node in zip(models, nodes, strict=True)]
        positions: dict[str, Position] = {}
        executed: list[Executed] = []
        for due, block in self._packager.blocks(waiting):
            executed += self._settle(store.decision, self._session.proposer.publication(block, due), block)
            height = self._context.contracts.live.height()
            positions.update({model.name: Position(height, index) for index, model in enumerate(block)})
        return positions, tuple(executed)

    def _settle(
        self, decision: int, proposal: PublicationProposal, block: Sequence[NewModel]
    ) -> tuple[Executed, ...]:
        coordinator = self._session.coordinator
        names = ", ".join(model.name for model in block)

        def decide() -> Decided[CertifiedPublication]:
            certified = coordinator.certify_publication(proposal)
            settlement = settlement_of(self._context.contracts, certified, f"publish {names}")
            return Decided(certified, settlement, coordinator.excluded.told())

        certified, execution = self._executor.certify(decision, names, coordinator.keepers, decide)
        return self._executor.send(execution, lambda: coordinator.hand_over(certified), coordinator.release)

    def _node(
        self,
        model: TrainedModel,
        sealed: SealedFile,
        increments: tuple[Increment, ...],
        placed: Mapping[str, Position],
        versions: Mapping[str, int],
        parts: Mapping[str, SharedPart],
        adopted: Mapping[str, Adopted],
    ) -> bytes:
        secret = self._context.accounts.secret(model.user)
        owner = address_of(secret)
        statement = Statement(
            name=model.name,
            user=model.user,
            round=model.round,
            owner="0x" + owner.hex(),
            weights=cid_string(sealed.uri),
            references=tuple(
                Reference(
                    name=r.name,
                    position=str(placed[r.name]),
                    accuracy=r.accuracy,
                    version=versions.get(r.name, 0),
                )
                for r in model.references
            ),
            accuracy=model.accuracy,
            training={} if model.name in adopted else recorded_training(model.training),
            privacy=recorded_privacy(model.privacy),
            increments=increments,
            samples=None if model.name in adopted else samples_commitment(self._context, model.user),
            auditors=() if self._context.run.party is None else self._context.run.party.auditors,
            shared=parts.get(model.name),
            adopted=adopted.get(model.name),
            created=self._context.clock.now(),
        )
        chain = self._context.contracts.live
        return sign_statement(statement, secret, chain.chain_id, chain.address).to_bytes()

    def _new(self, model: TrainedModel, node: bytes, placed: Mapping[str, Position]) -> NewModel:
        owner = address_of(self._context.accounts.secret(model.user))
        references = tuple(sorted(placed[r.name] for r in model.references))
        return NewModel(model.name, file_uri(node), owner, references)
