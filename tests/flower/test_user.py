# SPDX-License-Identifier: Apache-2.0
"""A `FlowerUser` trains participants with a ClientApp, and reports a failure in one error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from blockful_py.errors import LearningError, SettingsError
from blockful_py.flower import FlowerUser
from blockful_py.learning.models import Architecture
from blockful_py.learning.trainer import Assignment, train_by
from blockful_py.learning.weights import Weights, equal
from tests.flower.toy import (
    CLASSES,
    app_of,
    changing,
    empty,
    honest,
    poisoned,
    raising,
    refusing,
    reply,
    start,
    trained,
)

TOY = Architecture(
    "blockful_py.flower.network:network", (1, 2, 2), CLASSES, options=(("of", "tests.flower.toy:Toy"),)
)


def assignment(user: int = 2, number: int = 3) -> Assignment:
    return Assignment("r7", user, number, start().to_torch_state_dict(), seed=0)


def taught(app: ClientApp, *asked: Assignment) -> tuple[Weights, ...]:
    user = FlowerUser(app, partitions=3, train_config={"lr": 0.1})
    return train_by(user, TOY, asked or (assignment(),))


def test_the_app_gets_what_its_server_would_send() -> None:
    seen: list[tuple[Message, Context]] = []

    def train(message: Message, context: Context) -> Message:
        seen.append((message, context))
        return reply(message, trained(message, context))

    user = FlowerUser(app_of(train), 3, {"batch-size": 32}, {"lr": 0.1})
    (weights,) = user.train([assignment(user=2, number=5)])
    ((message, context),) = seen
    assert message.content["config"] == {"lr": 0.1, "server-round": 5}
    assert context.node_config == {"partition-id": 1, "num-partitions": 3}
    assert context.run_config == {"batch-size": 32}
    assert list(message.content["arrays"]) == list(start())
    assert not equal(weights, start().to_torch_state_dict())
    assert weights["batches"] == 1


def test_each_training_begins_with_an_empty_state() -> None:
    states: list[int] = []

    def train(message: Message, context: Context) -> Message:
        states.append(len(context.state))
        context.state["mine"] = MetricRecord({"seen": 1})
        return reply(message, trained(message, context))

    taught(app_of(train), assignment(), assignment())
    assert states == [0, 0]


def noisy() -> ClientApp:
    """Draws from torch's global generator, as a shuffling data loader does."""
    return changing(lambda weights: weights + torch.randn(weights.shape).to(weights.dtype))


def test_the_same_training_gives_the_same_bits_and_another_gives_others() -> None:
    before = torch.get_rng_state()
    first, again, later = taught(noisy(), assignment(), assignment(), assignment(number=4))
    assert equal(first, again)
    assert not equal(first, later)
    assert torch.equal(torch.get_rng_state(), before), "torch's own generator is where it was"


def echo(arrays: int) -> Callable[[Message, Context], Message]:
    def train(message: Message, context: Context) -> Message:
        records = {f"arrays-{i}": message.content["arrays"] for i in range(arrays)}
        return Message(RecordDict(records), reply_to=message)

    return train


def other_form(message: Message, context: Context) -> Message:
    return reply(message, {"layer.weight": torch.zeros(3, 4)})


@pytest.mark.parametrize(
    ("app", "error"),
    [
        (raising(), "r7 was not trained: its ClientApp raised RuntimeError: out of memory"),
        (refusing(), "r7 was not trained: its ClientApp failed: no data today"),
        (empty(), "the reply of r7 has 0 ArrayRecords: reply with one"),
        (app_of(echo(2)), "the reply of r7 has 2 ArrayRecords: reply with one"),
        (app_of(other_form), "the start of r7' and 'r7' have different architectures"),
        (changing(lambda w: w.flatten()), "the start of r7' and 'r7' have different architectures"),
        (poisoned(), "model r7 has NaN or infinite values in 'layer"),
        (app_of(lambda message, context: None), "the ClientApp of r7 returned a NoneType, not a Message"),
        (ClientApp(), "ClientApp raised ValueError: No train function registered"),
    ],
    ids=["raises", "error", "empty", "two", "tensors", "shapes", "nan", "none", "no train"],
)
def test_an_unusable_reply_is_one_error(app: ClientApp, error: str) -> None:
    with pytest.raises(LearningError, match=error):
        taught(app)


def test_arrays_that_are_no_numbers_are_refused() -> None:
    def train(message: Message, context: Context) -> Message:
        arrays = ArrayRecord(dict(message.content["arrays"]))
        arrays["layer.bias"].stype = "trees"
        return Message(RecordDict({"arrays": arrays}), reply_to=message)

    with pytest.raises(LearningError, match="r7's arrays are not a state dict"):
        taught(app_of(train))


def test_a_user_without_a_partition_is_refused() -> None:
    with pytest.raises(SettingsError, match="user 4 has no partition: FlowerUser was given 3"):
        taught(honest(), assignment(user=4))


def test_what_is_no_client_app_is_refused() -> None:
    with pytest.raises(SettingsError, match="takes a flwr ClientApp, not a function"):
        FlowerUser(taught, partitions=3)
