# SPDX-License-Identifier: Apache-2.0
"""State dicts in Flower messages, and calls of a ClientApp without a SuperLink."""

from __future__ import annotations

import time
from typing import Any

import torch  # ArrayRecord reads and writes state dicts only where torch is loaded
from flwr.app import DEFAULT_TTL, ArrayRecord, Context, Message, MessageType, Metadata, RecordDict
from flwr.clientapp import ClientApp

from blockful_py.errors import LearningError
from blockful_py.learning.weights import Weights

ARRAYS, CONFIG = "arrays", "config"
"""Default record names of Flower's strategies."""

SERVER = 1
"""Node id of the sender of instructions."""


def arrays_of(weights: Weights) -> ArrayRecord:
    """A state dict as an ArrayRecord, in its order."""
    return ArrayRecord(dict(weights))


def weights_of(arrays: ArrayRecord, whose: str) -> dict[str, torch.Tensor]:
    """An ArrayRecord as a state dict on the CPU, in its order.

    Raises LearningError for arrays that are not tensors.
    """
    try:
        return dict(arrays.to_torch_state_dict())
    except (TypeError, ValueError, RuntimeError) as error:
        raise LearningError(
            f"{whose}'s arrays are not a state dict ({error}): reply with ArrayRecord(model.state_dict())."
        ) from None


def weights_in(reply: Message, whose: str) -> dict[str, torch.Tensor]:
    """The state dict in a training reply.

    Raises LearningError for a reply with an error, or without exactly one ArrayRecord of tensors.
    """
    if reply.has_error():
        raise LearningError(f"{whose} was not trained: its ClientApp failed: {reason_of(reply)}")
    records = list(reply.content.array_records.values())
    if len(records) != 1:
        raise LearningError(
            f"the reply of {whose} has {len(records)} ArrayRecords: reply with one, the trained state dict."
        )
    return weights_of(records[0], whose)


def reason_of(reply: Message) -> str:
    """The last line of the error in a reply."""
    lines = (reply.error.reason or "").strip().splitlines()
    return lines[-1] if lines else f"error {reply.error.code}"


def instruction(content: RecordDict, node: int, round_number: int) -> Message:
    """A message that asks a node to train, in the form that a SuperLink delivers."""
    metadata = Metadata(
        run_id=1,
        message_id=f"{round_number}-{node}",
        src_node_id=SERVER,
        dst_node_id=node,
        reply_to_message_id="",
        group_id=str(round_number),
        created_at=time.time(),
        ttl=DEFAULT_TTL,
        message_type=MessageType.TRAIN,
    )
    message: Message = Message(content, metadata=metadata)  # type: ignore[call-overload]
    return message


def answered(app: ClientApp, message: Message, context: Context, whose: str) -> Message:
    """The app's reply.  Raises LearningError if the app raises or does not reply with a Message."""
    try:
        reply: Any = app(message, context)
    except Exception as error:  # an app may raise anything
        raise LearningError(
            f"{whose} was not trained: its ClientApp raised {type(error).__name__}: {error}"
        ) from error
    if not isinstance(reply, Message):
        raise LearningError(f"the ClientApp of {whose} returned a {type(reply).__name__}, not a Message.")
    return reply
