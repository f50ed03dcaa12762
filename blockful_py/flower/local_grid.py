# SPDX-License-Identifier: Apache-2.0
"""A Flower federation in one process: a grid that calls each node's ClientApp in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import count

from flwr.app import Context, Error, Message, RecordDict, UserConfigValue
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from blockful_py.errors import LearningError
from blockful_py.flower.messages import SERVER, answered

RUN, TASK = 1, 1
"""Ids of the only run and of its server's task."""

RAISED = 2
"""Flower's error code for a ClientApp that raised."""


class LocalGrid(Grid):
    """Nodes 2, 3, ... on partitions 0, 1, ...; needs neither a SuperLink nor Ray.

    Each node keeps its context, with its state, as long as the grid lives, as in a Flower run.
    """

    def __init__(
        self,
        app: ClientApp,
        nodes: int,
        run_config: Mapping[str, UserConfigValue] | None = None,
        absent: Iterable[int] = (),
    ) -> None:
        """Creates `nodes` nodes that run `app` with `run_config`, the app's `[tool.flwr.app.config]`.

        `absent` lists ids of nodes that are not connected.
        """
        self._app = app
        self._contexts = {
            SERVER + 1 + partition: Context(
                RUN,
                SERVER + 1 + partition,
                {"partition-id": partition, "num-partitions": nodes},
                RecordDict(),
                dict(run_config or {}),
            )
            for partition in range(nodes)
        }
        for node in absent:
            del self._contexts[node]
        self._run = Run.create_empty(RUN)
        self._replies: dict[str, Message] = {}
        self._numbers = count(1)
        # Messages carry the identity of the writing process, which Flower's runtimes set.
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = RUN, SERVER, TASK

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> list[int]:
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        """Has each node answer at once; an absent node never answers."""
        numbers = []
        for message in messages:
            number = str(next(self._numbers))
            context = self._contexts.get(message.metadata.dst_node_id)
            if context is not None:
                self._replies[number] = self._reply(message, context)
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self._replies.pop(number) for number in message_ids if number in self._replies]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        return self.pull_messages(self.push_messages(messages))

    def _reply(self, message: Message, context: Context) -> Message:
        """The node's reply; it works on a copy, as after a transfer."""
        try:
            return answered(self._app, deepcopy(message), context, f"node {context.node_id}")
        except LearningError as error:
            return Message(Error(RAISED, str(error)), reply_to=message)
