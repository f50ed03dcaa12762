# SPDX-License-Identifier: Apache-2.0
"""A redaction that every member would accept; tests spoil it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from blockful_py.committee.proposals import RedactionDraft, Target
from blockful_py.errors import QuorumError, RefusedError
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.coordination.motions import OwnMotions
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import RecordReaders
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request import Request
from blockful_py.record.statement_parts import Claimed
from blockful_py.storage.cid import cid_string
from blockful_py.types import Position
from tests.colluders import Conspiracy, session_for
from tests.federations import store_weights, transactions


@dataclass(frozen=True)
class Plan:
    """The redaction, its deciders and its subject."""

    federation: Federation
    roster: Conspiracy
    places: dict[str, Position]
    nodes: dict[str, ModelNode]

    def reviewer(self) -> ContentReviewer:
        contracts = self.federation.contracts
        store = self.federation.stores.live
        record = RecordReaders.of(contracts.live, contracts.archive, store)
        keyring = self.federation.context.keys.keyring
        sources = ReviewSources(contracts, record, store, keyring, self.federation.setup)
        return ContentReviewer(sources, OwnMotions(contracts), Counter())

    def draft(self, **changed: ModelNode) -> RedactionDraft:
        nodes = {**self.nodes, **changed}
        return self.roster.draft({self.places[name]: node for name, node in nodes.items()})

    def refused(self, draft: RedactionDraft) -> str:
        """Asserts that each member refuses and nothing changes; returns the reason."""
        before = self.state()
        members = self.roster.members(self.reviewer())
        with pytest.raises(RefusedError) as refusal:
            members[0].approve(draft)
        with pytest.raises(QuorumError, match="0 of 4 members agree") as no_quorum:
            self.roster.coordinator(members).certify_redaction(draft)
        assert str(no_quorum.value).count(str(refusal.value)) == 4
        with pytest.raises(RefusedError, match="not approved"):
            members[0].commit(draft, session_for(draft, (1, 2, 3)))
        with pytest.raises(RefusedError, match="not approved"):
            members[0].vote_redaction(draft, ())
        assert self.state() == before
        return str(refusal.value)

    def state(self) -> tuple[object, ...]:
        contracts = self.federation.contracts
        return transactions(self.federation), contracts.archive.length(), contracts.archive.head()

    def redone(self, name: str, request: Request) -> ModelNode:
        """The node of `name` for another request."""
        redaction = self.nodes[name].redaction
        assert redaction is not None
        return self.nodes[name].model_copy(
            update={"redaction": redaction.model_copy(update={"request": request})}
        )

    def request(self, **changes: object) -> Request:
        """The request, altered and signed by the starts' owners."""
        redaction = self.nodes["x"].redaction
        assert redaction is not None
        live = self.federation.contracts.live
        users = {name: node.statement.user for name, node in self.nodes.items()} | {"a": 1, "b": 2, "z": 5}
        request = redaction.request.model_copy(update=changes)
        secrets = [self.roster.identities.user(users[start.name]) for start in request.starts]
        return request.signed(secrets, live.chain_id, live.address)

    def weighted(self, name: str, weights: Weights) -> ModelNode:
        """The node of `name` with other weights, and true claims about them."""
        redaction = self.nodes[name].redaction
        assert redaction is not None
        address = cid_string(store_weights(self.federation, weights))
        left_out = {name: redaction.left_out}
        was = redaction.claims is not None and redaction.claims.before is not None
        old = self.federation.catalogue()[name].node.weights
        before = {name: self.federation.context.weights.read(old)} if was else {}
        setup, classes = self.federation.setup, redaction.request.classes
        claims = measure(setup, {name: weights}, classes, left_out, before)[name]
        altered = redaction.model_copy(update={"weights": address, "claims": claims})
        return self.nodes[name].model_copy(update={"redaction": altered})


def spoiled(draft: RedactionDraft, alter: Callable[[Target], Target]) -> RedactionDraft:
    """The draft with its first target altered."""
    first, *rest = draft.chunks
    targets = (alter(first.targets[0]), *first.targets[1:])
    return replace(draft, chunks=(replace(first, targets=targets), *rest))


def record_measurements(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """Records the models of each later measurement of claims."""
    measured: list[set[str]] = []

    def noted(
        setup: TrainingSetup,
        models: Mapping[str, Weights],
        classes: Sequence[int],
        left_out: Mapping[str, Collection[int]],
        before: Mapping[str, Weights],
    ) -> dict[str, Claimed]:
        measured.append({*models})
        return measure(setup, models, classes, left_out, before)

    monkeypatch.setattr("blockful_py.pipeline.review.content.measure", noted)
    return measured
