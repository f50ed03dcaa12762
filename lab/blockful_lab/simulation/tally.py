# SPDX-License-Identifier: Apache-2.0
"""Counts of a running simulation: operations, seconds by stage, processor time, bytes, energy."""

from __future__ import annotations

from dataclasses import dataclass, field

from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.learning import FLOAT
from blockful_py.costs import Operations, Prices, blockchain_energy


@dataclass
class SimulationTally:
    """Counts of one simulation.

    Attributes:
        stages: simulated seconds by stage.
        processor: seconds of all processors, by purpose.
        model_bytes, message_bytes: of models sent and fetched; of all other messages.
    """

    operations: Operations = field(default_factory=Operations)
    formula: Operations = field(default_factory=Operations)
    stages: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    model_bytes: float = 0.0
    message_bytes: float = 0.0

    def spent(self, stage: str, seconds: float) -> None:
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds

    def worked(self, what: str, seconds: float) -> None:
        self.processor[what] = self.processor.get(what, 0.0) + seconds


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules as counted, with learning and mining, and the three terms of the paper's formula."""

    counted: dict[str, float]
    formula: dict[str, float]


def energy(
    tally: SimulationTally,
    constants: Constants,
    members: int,
    parameters: float,
    collision: float,
    consensus: float,
) -> Energy:
    """The paper's E_CH, E_con and E_tran, beside all counted energy.

    E_CH = `collision` W and E_con = `consensus` W: processor seconds of a member times the watts of a core;
    E_tran: of a parameter.  Counted: all processor seconds and bytes, so that the leader's part, the review
    of each model and the messages of the rounds are in it.
    """
    watts, joules = constants.at("energy.core"), constants.at("energy.byte")
    counted = {name: seconds * watts for name, seconds in tally.processor.items()}
    counted |= {
        "transfers": tally.model_bytes * joules,
        "messages": tally.message_bytes * joules,
    }
    prices = Prices(collision * watts, consensus * watts, FLOAT * joules)
    terms = {
        "collisions": Prices(prices.chameleon_hash, 0, 0),
        "consensus": Prices(0, prices.consensus, 0),
        "transfers": Prices(0, 0, prices.transfer),
    }
    whole = round(parameters)
    formula = {
        name: blockchain_energy(tally.operations, members, whole, price) for name, price in terms.items()
    }
    return Energy(counted, formula)
