# SPDX-License-Identifier: Apache-2.0
"""Participants of a BlockFUL federation that train with a Flower ClientApp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from flwr.app import ConfigRecord, ConfigRecordValues, Context, RecordDict, UserConfigValue
from flwr.clientapp import ClientApp

from blockful_py.errors import SettingsError
from blockful_py.flower.messages import ARRAYS, CONFIG, answered, arrays_of, instruction, weights_in
from blockful_py.learning.streams import generator
from blockful_py.learning.trainer import Assignment
from blockful_py.learning.weights import Weights


class FlowerUser:
    """Trains user i by one call of a ClientApp's train function, on the app's partition i - 1.

    A trainer for `learning.trainer`.  Each call gets its own context with an empty state, so the app keeps
    nothing of a model to be forgotten. torch's global generator is seeded by (seed, user, round) for the call
    and restored after it.
    """

    def __init__(
        self,
        app: ClientApp,
        partitions: int,
        run_config: Mapping[str, UserConfigValue] | None = None,
        train_config: Mapping[str, ConfigRecordValues] | None = None,
    ) -> None:
        """Takes an app as `flwr run` would.

        Args:
            partitions: the app's `num-partitions`; at least the number of users.
            run_config: the app's `[tool.flwr.app.config]`.
            train_config: settings that its ServerApp sends with the arrays, such as {"lr": 0.1}.

        Raises SettingsError for an object that is not a ClientApp.
        """
        if not isinstance(app, ClientApp):
            raise SettingsError(f"FlowerUser takes a flwr ClientApp, not a {type(app).__name__}.")
        self._app = app
        self._partitions = partitions
        self._run_config = dict(run_config or {})
        self._train_config = dict(train_config or {})

    def train(self, assignments: Sequence[Assignment]) -> Sequence[Weights]:
        """The state dicts in the app's replies.

        Raises SettingsError for a user without a partition, and LearningError if the app fails or sends an
        invalid reply.
        """
        return [self._trained(assignment) for assignment in assignments]

    def _trained(self, assignment: Assignment) -> Weights:
        user, number = assignment.user, assignment.round
        if user > self._partitions:
            raise SettingsError(
                f"user {user} has no partition: FlowerUser was given {self._partitions} partitions, but the "
                "federation has more users; give it federation.users."
            )
        config = ConfigRecord({**self._train_config, "server-round": number})
        content = RecordDict({ARRAYS: arrays_of(assignment.start), CONFIG: config})
        place: dict[str, UserConfigValue] = {"partition-id": user - 1, "num-partitions": self._partitions}
        context = Context(1, user, place, RecordDict(), dict(self._run_config))
        seed = generator(assignment.seed, "flower", user, number).initial_seed()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            reply = answered(self._app, instruction(content, user, number), context, assignment.name)
        return weights_in(reply, assignment.name)
