# SPDX-License-Identifier: Apache-2.0
"""Rounds of a Flower federation as models of the inheritance graph.

The ServerApp owns the initial arrays (`round-0`) and the aggregate of each round (`round-3`).  A node owns
its replies (`node-17-round-3`).  A node's model references the aggregate from which it started; an aggregate
references the models that it averages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockful_py.engine.jobs import Kind
from blockful_py.errors import LearningError, RunError, SettingsError, UnlearningError
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.weights import Weights, equal, require_finite
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.training import load_model
from blockful_py.record.catalogue import Catalogue
from blockful_py.settings import TrainingSettings

NAME = re.compile(r"(?:node-(?P<node>\d+)-)?round-(?P<round>\d+)")


def aggregate_name(number: int) -> str:
    return f"round-{number}"


def model_name(node: int, number: int) -> str:
    return f"node-{node}-round-{number}"


def node_and_round(name: str) -> tuple[int | None, int]:
    """The Flower node (None for the ServerApp) and the round of a model.

    Raises RunError for a model that no Flower federation recorded.
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise RunError(
            f"model {name} does not belong to a Flower federation: record this one in a folder of its own."
        )
    node = match["node"]
    return (None if node is None else int(node)), int(match["round"])


@dataclass(frozen=True, slots=True, eq=False)
class BegunRound:
    """A round whose nodes are training.

    Attributes:
        start: the recorded aggregate from which they start.
        weights: its state dict.
    """

    number: int
    start: ScoredModel
    weights: Weights


class FlowerRounds:
    """Publishes the models of rounds, and queries the record for them.

    Attributes:
        federation: the open federation that has the record.
        training: recorded as the training settings of the models.
    """

    def __init__(self, federation: Federation, strategy: str) -> None:
        self.federation = federation
        self.training = TrainingSettings(trainer=strategy)

    @property
    def server(self) -> int:
        """User number of the ServerApp: the last."""
        return self.federation.settings.federation.users

    def nodes(self, catalogue: Catalogue) -> dict[int, int]:
        """Users by Flower node, in the order of their first models."""
        placed = sorted(catalogue.models.values(), key=lambda each: each.position)
        found: dict[int, int] = {}
        for each in placed:
            node, _ = node_and_round(each.node.name)
            if node is not None:
                found[node] = each.node.statement.user
        return found

    def first_models(self, catalogue: Catalogue, node: int) -> list[str]:
        """Start models of a request that forgets a node.

        These are the node's first models and the other models aggregated together with them, which the
        strategy needs again.  Raises UnlearningError for a node without models.
        """
        graph = catalogue.graph
        own = {name for name in graph.names if node_and_round(name)[0] == node}
        if not own:
            known = ", ".join(map(str, sorted(self.nodes(catalogue)))) or "none"
            raise UnlearningError(f"the record has no model of a node {node}; nodes with models: {known}.")
        first = own - set(graph.descendants(own))
        for references in catalogue.references().values():
            if first.intersection(references):
                first = first.union(references)
        return [name for name in graph.names if name in first]

    def opted_out(self, catalogue: Catalogue) -> frozenset[int]:
        """Flower nodes that were forgotten."""
        asked = self.federation.opted_out().values()
        users = {user for forgets in asked for forget in forgets for user in forget.clients}
        return frozenset(node for node, user in self.nodes(catalogue).items() if user in users)

    def newest(self, catalogue: Catalogue) -> str | None:
        """The newest aggregate; None before the first."""
        own = [name for name in catalogue.models if node_and_round(name)[0] is None]
        return max(own, key=lambda name: node_and_round(name)[1], default=None)

    def next_round(self, catalogue: Catalogue) -> int:
        """The number after the last recorded round, even if that round has no aggregate."""
        return max((node_and_round(name)[1] for name in catalogue.models), default=0) + 1

    def begin(self, arrays: Weights) -> BegunRound:
        """The round that starts from `arrays`; publishes them as `round-0` if the record is empty.

        Raises LearningError if the network of the settings does not accept the arrays, or if the record has a
        newest aggregate that differs from them.
        """
        catalogue = self.federation.catalogue()
        newest = self.newest(catalogue)
        if newest is None:
            require_finite(arrays, "the initial model")
            first = self._model(aggregate_name(0), self.server, 1, (), arrays)
            self._publish([first])
            return BegunRound(1, ScoredModel(first.name, first.accuracy), arrays)
        model = load_model(catalogue[newest], self.federation.weights)
        if not equal(model.weights, arrays):
            raise LearningError(
                f"the record of {self.federation.run.path} ends with {newest}, but these arrays differ: "
                "start from BlockfulStrategy.arrays(), or record in another folder."
            )
        return BegunRound(self.next_round(catalogue), ScoredModel(newest, model.accuracy), arrays)

    def record(self, begun: BegunRound, replies: Mapping[int, Weights], aggregate: Weights | None) -> None:
        """Publishes the models of a round (checked state dicts by node) and their aggregate, if any.

        Raises SettingsError if there are more nodes than users in the settings.
        """
        users = self._users(self.federation.catalogue(), replies)
        number = begun.number
        models = [
            self._model(model_name(node, number), users[node], number, (begun.start,), weights)
            for node, weights in replies.items()
        ]
        waves = [models] if models else []
        if aggregate is not None:
            made_of = tuple(ScoredModel(model.name, model.accuracy) for model in models)
            name = aggregate_name(number)
            waves.append([self._model(name, self.server, number + 1, made_of, aggregate)])
        self._publish(*waves)

    def _users(self, catalogue: Catalogue, replies: Mapping[int, Weights]) -> dict[int, int]:
        """Users of all nodes: recorded ones, and nodes that replied for the first time."""
        users = self.nodes(catalogue)
        for node in sorted(replies.keys() - users.keys()):
            users[node] = len(users) + 1
        if len(users) >= self.server:
            raise SettingsError(
                f"{len(users)} nodes have taken part, but the record has room for {self.server - 1}: raise "
                "federation.users, which counts the ServerApp too, and record in a new folder."
            )
        return users

    def _model(
        self, name: str, user: int, number: int, references: tuple[ScoredModel, ...], weights: Weights
    ) -> TrainedModel:
        setup = self.federation.setup
        measured = accuracy(setup.architecture, weights, setup.dataset.test)
        return TrainedModel(name, user, number, references, weights, measured, self.training)

    def _publish(self, *waves: Sequence[TrainedModel]) -> None:
        federation = self.federation
        with federation.leading(), federation.publishing(Kind.ADOPT), federation.stopwatch("publish"):
            placed = {name: node.position for name, node in federation.catalogue().models.items()}
            publisher = Publisher(federation.context)
            for wave in waves:
                positions, _ = publisher.publish(wave, placed)
                placed.update(positions)
