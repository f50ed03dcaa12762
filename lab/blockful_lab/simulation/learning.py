# SPDX-License-Identifier: Apache-2.0
"""Seconds of learning work: sample passes, changes passed to descendants, claims measured."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.settings import SimulationSettings
from blockful_py.errors import SettingsError

FORWARD = 1 / 3
"""Sample passes of a forward pass (unlearning/cost.py)."""
FLOAT = 4
"""Bytes of a parameter."""


@dataclass(frozen=True, slots=True)
class LearningWork:
    """Work on one model, in seconds of a core.

    Attributes:
        parameters: |S|.
        retrain, unlearn: retraining a model; unlearning a start in the parallel paradigm.
        passing: adding the changes of a start to a descendant (eq. 7).
        measuring: the claims of a new model, forward passes.
    """

    parameters: float
    retrain: float
    unlearn: float
    passing: float
    measuring: float

    @classmethod
    def of(cls, settings: SimulationSettings, constants: Constants) -> LearningWork:
        """Seconds of a setting's work.  Raises SettingsError for a network that was not measured."""
        name = settings.network
        if name not in constants.known("pass"):
            known = ", ".join(constants.known("pass"))
            raise SettingsError(f"no time was measured for a network {name!r}: choose from {known}.")
        a_pass, parameters = constants.at(f"pass.{name}"), constants.at(f"parameters.{name}")
        return cls(
            parameters=parameters,
            retrain=settings.samples * settings.epochs * a_pass,
            unlearn=settings.samples * settings.start_epochs * a_pass,
            passing=parameters * FLOAT / constants.at("passing.rate"),
            measuring=settings.claim_samples * FORWARD * a_pass,
        )

    @property
    def bytes(self) -> float:
        return self.parameters * FLOAT
