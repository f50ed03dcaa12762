# SPDX-License-Identifier: Apache-2.0
"""Replays recorded rounds through the strategy, without the nodes to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from flwr.supercore.run import Run
from torch import Tensor

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.flower.messages import arrays_of, reason_of, weights_in, weights_of
from blockful_py.flower.rounds import node_and_round
from blockful_py.learning.trainer import Assignment, require_trained
from blockful_py.learning.weights import Weights


class Replay:
    """A trainer for `retrain_ahead`: nodes retrain their models of a round, then the strategy aggregates.

    It receives the rounds in order, each round's node models before its aggregate.  It receives no models of
    forgotten nodes, which are replaced by the aggregates that they started from.  Nodes see the original
    round numbers; the strategy, whose memory is empty, aggregates its first round as round 1.
    """

    def __init__(
        self, strategy: Strategy, grid: Grid, config: ConfigRecord, nodes: Iterable[int], timeout: float
    ) -> None:
        """Takes a strategy that has not aggregated yet, and the Flower nodes of the record.

        `timeout` is the seconds that nodes have for a round.
        """
        self._strategy = strategy
        self._grid = grid
        self._config = config
        self._shown = ShownGrid(grid, nodes)
        self._timeout = timeout
        self._replies: dict[int, list[Message]] = {}
        self._aggregated = 0

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        """Trains the models.

        Raises UnlearningError if a node does not train again, or the strategy returns no aggregate.
        """
        done: dict[str, Weights] = {}
        by_round: dict[int, dict[int, Assignment]] = {}
        for each in assignments:
            node, number = node_and_round(each.name)
            if node is None:
                done[each.name] = self._aggregate(each, number)
            else:
                by_round.setdefault(number, {})[node] = each
        for number in sorted(by_round):
            done.update(self._round(number, by_round[number]))
        return [done[each.name] for each in assignments]

    def _round(self, number: int, wanted: dict[int, Assignment]) -> Iterator[tuple[str, Weights]]:
        start = arrays_of(next(iter(wanted.values())).start)
        messages = self._messages(number, start, wanted)
        replies = {
            reply.metadata.src_node_id: reply
            for reply in self._grid.send_and_receive(messages, timeout=self._timeout)
        }
        for node, each in wanted.items():
            reply = replies.get(node)
            if reply is None or reply.has_error():
                why = "it does not answer" if reply is None else reason_of(reply)
                raise UnlearningError(
                    f"node {node} did not train round {number} again ({why}); nothing was replaced: "
                    "repeat the request when the node is there."
                )
            weights = weights_in(reply, each.name)
            require_trained(each.name, each.start, weights)
            yield each.name, weights
        self._replies[number] = [replies[node] for node in wanted]

    def _messages(self, number: int, start: ArrayRecord, wanted: Iterable[int]) -> list[Message]:
        """The strategy's own messages, addressed to the recorded nodes if it samples others."""
        made = list(self._strategy.configure_train(number, start, self._config, self._shown))
        if not made:
            raise UnlearningError(
                f"{type(self._strategy).__name__} asks no node to train in round {number}: give the strategy "
                "that trained the models."
            )
        contents: dict[int, RecordDict] = {each.metadata.dst_node_id: each.content for each in made}
        kind = made[0].metadata.message_type
        return [Message(contents.get(node, made[0].content), node, kind) for node in wanted]

    def _aggregate(self, assignment: Assignment, number: int) -> Weights:
        """Aggregates the replies of a round.

        Without replies, the aggregate is the mean that its forgotten models were replaced by.
        """
        replies = self._replies.pop(number, [])
        if not replies:
            return assignment.start
        self._aggregated += 1
        arrays, _ = self._strategy.aggregate_train(self._aggregated, replies)
        if arrays is None:
            raise UnlearningError(
                f"{type(self._strategy).__name__} returned no aggregate of the {len(replies)} remaining "
                f"models of round {number}; nothing was replaced."
            )
        return like(weights_of(arrays, assignment.name), assignment.start)


def like(weights: Weights, start: Weights) -> Weights:
    """The weights in the dtypes of `start`, since strategies average counters in floating point."""
    return {name: _as(tensor, start[name]) if name in start else tensor for name, tensor in weights.items()}


def _as(tensor: Tensor, like: Tensor) -> Tensor:
    whole = tensor.is_floating_point() and not like.is_floating_point()
    return (tensor.round() if whole else tensor).to(like.dtype)


class ShownGrid(Grid):
    """A grid that shows only the recorded node ids, so that strategies do not wait for others."""

    def __init__(self, grid: Grid, nodes: Iterable[int]) -> None:
        self._grid = grid
        self._nodes = tuple(nodes)

    def get_node_ids(self) -> tuple[int, ...]:
        return self._nodes

    def set_run(self, run: Run) -> None:
        self._grid.set_run(run)

    @property
    def run(self) -> Run:
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return self._grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        return self._grid.send_and_receive(messages, timeout=timeout)


class NoNodes:
    """The trainer of a recorded Flower federation outside its ServerApp; it cannot train."""

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        """Fails, since the data is with the Flower nodes.  Raises LearningError."""
        raise LearningError(
            "the models of this run are trained by Flower nodes: call BlockfulStrategy.unlearn in the "
            "ServerApp, where the grid reaches them."
        )


no_nodes = NoNodes()
