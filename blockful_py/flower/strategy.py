# SPDX-License-Identifier: Apache-2.0
"""A Flower strategy that records every round of another strategy, and can forget clients."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from blockful_py.closable import Closable
from blockful_py.errors import LearningError, SettingsError
from blockful_py.flower.messages import arrays_of, weights_in, weights_of
from blockful_py.flower.replay import Replay, like
from blockful_py.flower.rounds import BegunRound, FlowerRounds, aggregate_name, model_name
from blockful_py.forget import Forget
from blockful_py.learning.trainer import require_trained
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.training import load_model
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.report.runs.certificate_page import keep
from blockful_py.settings import Settings
from blockful_py.types import Paradigm
from blockful_py.unlearning.retrain_ahead import RetrainAhead

SECONDS = 3600.0
"""Seconds that nodes have for a round, as in `Strategy.start`."""

NO_NODES = "blockful_py.flower.replay:no_nodes"


@dataclass(frozen=True, slots=True)
class ForgottenClient:
    """The outcome of `BlockfulStrategy.unlearn`.

    Attributes:
        arrays: the newest aggregate without the client, from which the ServerApp continues.
        certificate: path of the erasure certificate (JSON), with its page beside it.
        unlearned: the replaced models.
    """

    arrays: ArrayRecord
    certificate: Path
    unlearned: Unlearned


class BlockfulStrategy(Strategy, Closable):
    """Delegates to a strategy, and publishes each round's models before the next round.

    Used as a context manager, it stops the chains that it started.

    Attributes:
        federation: the federation that has the record.
    """

    def __init__(
        self, strategy: Strategy, run: str | Path, settings: str | Path | Settings | None = None
    ) -> None:
        """Opens the record in the folder `run`, or creates it there with `settings` (TOML file).

        Raises SettingsError for settings that do not fit a Flower federation; otherwise as
        `Federation.create` and `Federation.open`.
        """
        self._strategy = strategy
        self._unused = deepcopy(strategy)
        self._begun: BegunRound | None = None
        self._config = ConfigRecord()
        if settings is None or (Path(run) / "run.json").exists():
            self.federation = Federation.open(run)
        else:
            loaded = settings if isinstance(settings, Settings) else Settings.load(settings)
            self.federation = Federation.create(_fitting(loaded), run)
        kind = type(strategy)
        self._rounds = FlowerRounds(self.federation, f"{kind.__module__}:{kind.__qualname__}")

    def close(self) -> None:
        self.federation.close()

    def arrays(self) -> ArrayRecord:
        """The newest aggregate of the record, to start from.  Raises LearningError before the first."""
        catalogue = self.federation.catalogue()
        newest = self._rounds.newest(catalogue)
        if newest is None:
            raise LearningError("the record has no model to start from: give `start` arrays of your own.")
        weights = load_model(catalogue[newest], self.federation.weights).weights
        return arrays_of(self.federation.setup.architecture.ordered(weights))

    def unlearn(
        self,
        grid: Grid,
        node_id: int,
        train_config: ConfigRecord | None = None,
        timeout: float = SECONDS,
    ) -> ForgottenClient:
        """Forgets a node: repeats every round since its first one without it.

        All other nodes of those rounds train again, from aggregates without the node, with a copy of the
        strategy as it was passed in.  The node's own models are replaced by the aggregates that they started
        from.  One certificate covers all replacements, and the node is never asked again.

        Args:
            train_config: as given to `start`; defaults to the one of this process's rounds.
            timeout: seconds that nodes have for a round.

        Raises:
            UnlearningError, LearningError: no such node, or a node fails to train; no model is replaced.
            QuorumError: the committee refused.
        """
        federation, catalogue = self.federation, self.federation.catalogue()
        nodes = self._rounds.nodes(catalogue)
        starts = self._rounds.first_models(catalogue, node_id)
        config = deepcopy(self._config if train_config is None else train_config)
        federation.train_by(Replay(deepcopy(self._unused), grid, config, nodes, timeout))
        forget, method = Forget.of_clients([nodes[node_id]]), RetrainAhead.name
        request = federation.drafted(starts, forget, Paradigm.PARALLEL, method)
        done = federation.completed(request)
        unlearned = done[1] if done else federation.unlearn(request=request)
        certificate = federation.certify_erasure(unlearned.request)
        return ForgottenClient(self.arrays(), keep(certificate, federation.run.certificates), unlearned)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The strategy's messages, except messages to forgotten nodes."""
        self._begun = self._rounds.begin(weights_of(arrays, "the global model"))
        self._config = deepcopy(config)
        return self._kept(self._strategy.configure_train(server_round, arrays, config, grid))

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The strategy's aggregate, after the round is recorded.

        Raises LearningError if a reply's weights are not finite or do not have the form of the round's start.
        The strategy handles replies with errors.
        """
        if self._begun is None:
            raise LearningError("aggregate_train was called before configure_train: call `start`.")
        begun, listed = self._begun, list(replies)
        models = {}
        for reply in listed:
            if not reply.has_error():
                node = reply.metadata.src_node_id
                name = model_name(node, begun.number)
                models[node] = weights_in(reply, name)
                require_trained(name, begun.weights, models[node])
        arrays, metrics = self._strategy.aggregate_train(server_round, listed)
        aggregate = None
        if arrays is not None:
            name = aggregate_name(begun.number)
            aggregate = like(weights_of(arrays, name), begun.weights)
            require_trained(name, begun.weights, aggregate)
        self._rounds.record(begun, models, aggregate)
        return (None if aggregate is None else arrays_of(aggregate)), metrics

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The strategy's messages, except messages to forgotten nodes."""
        return self._kept(self._strategy.configure_evaluate(server_round, arrays, config, grid))

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return self._strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        self._strategy.summary()

    def _kept(self, messages: Iterable[Message]) -> list[Message]:
        forgotten = self._rounds.opted_out(self.federation.catalogue())
        return [message for message in messages if message.metadata.dst_node_id not in forgotten]


def _fitting(settings: Settings) -> Settings:
    """Adapts settings to a record whose users train elsewhere.

    Raises SettingsError if members would refuse.
    """
    if not settings.committee.attested:
        raise SettingsError(
            "members never see a client's data, so they cannot check that it was forgotten: set "
            "committee.attested=true to have them accept the ServerApp's attestation."
        )
    federation = replace(settings.federation, scenario="organic", graph=None, rounds=1)
    return replace(
        settings,
        federation=federation,
        learning=replace(settings.learning, trainer=NO_NODES),
        unlearning=replace(settings.unlearning, starts=("r1",)),
    )
