# SPDX-License-Identifier: Apache-2.0
"""Flower's strategies train on a `LocalGrid` as on a SuperLink's grid."""

from __future__ import annotations

from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from blockful_py.flower import LocalGrid
from tests.flower.toy import app_of, honest, raising, reply, start, trained


def asked(grid: LocalGrid, *nodes: int) -> list[Message]:
    content = RecordDict({"arrays": start(), "config": ConfigRecord({"lr": 0.1})})
    return [grid.create_message(content, "train", node, "1") for node in nodes]


def test_a_strategy_trains_on_it() -> None:
    result = FedAvg().start(LocalGrid(honest(), 3), start(), 2, train_config=ConfigRecord({"lr": 0.1}))
    assert list(result.train_metrics_clientapp) == [1, 2]
    assert result.arrays.to_torch_state_dict()["batches"] == 2


def test_each_node_answers_for_its_own_partition() -> None:
    grid = LocalGrid(honest(), 3)
    assert grid.get_node_ids() == [2, 3, 4]
    replies = grid.send_and_receive(asked(grid, 4, 2))
    assert [each.metadata.src_node_id for each in replies] == [4, 2]
    assert [each.content["metrics"]["num-examples"] for each in replies] == [15, 13]


def test_a_node_that_is_absent_does_not_answer_and_one_that_raises_answers_with_an_error() -> None:
    assert LocalGrid(honest(), 3, absent=[3]).get_node_ids() == [2, 4]
    grid = LocalGrid(raising(), 3, absent=[3])
    (answer,) = grid.send_and_receive(asked(grid, 2, 3))
    assert answer.has_error()
    assert "RuntimeError: out of memory" in answer.error.reason


def test_a_node_keeps_its_state_and_cannot_change_what_others_are_sent() -> None:
    def train(message: Message, context: Context) -> Message:
        record = context.state.setdefault("mine", MetricRecord({"times": 0}))
        record["times"] += 1
        message.content["config"]["lr"] = 0.0 if record["times"] > 1 else message.content["config"]["lr"]
        return reply(message, trained(message, context), record["times"])

    grid = LocalGrid(app_of(train), 2)
    messages = asked(grid, 2, 2, 3)
    replies = grid.send_and_receive(messages)
    assert [each.content["metrics"]["num-examples"] for each in replies] == [1, 2, 1]
    assert messages[1].content["config"]["lr"] == 0.1
