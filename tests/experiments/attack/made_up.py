# SPDX-License-Identifier: Apache-2.0
"""Rows of shadow federations with drawn margins, so that the attack's correct findings are known."""

from __future__ import annotations

import numpy as np

from blockful_lab.experiments.attack.rows import AttackScenario, ShadowRow
from blockful_lab.experiments.attack.shadows import VIEWS
from blockful_lab.experiments.attack.targets import Ask
from blockful_lab.experiments.machine import describe
from blockful_lab.experiments.protocol import Cell, Scale
from blockful_py.forget import Level

SCENARIO = AttackScenario(Cell("digits", "all_hold", Level.CLASS, 5, Scale.SMALL), Ask.CLASS)
CENTRES = {"original": 6.0, "gold": -1.0, "gold2": -1.0, "head_mask": -1.0, "retrain_ahead": -1.0}
"""Mean margin of forgotten samples by row."""
SPREADS = {"head_mask": 4.0}
EXAMPLES, STRANGERS = 12, 20


def rows(shadows: int, names: tuple[str, ...] = tuple(CENTRES)) -> list[ShadowRow]:
    """Retained samples do not tell the rows apart."""
    return [row(name, shadow) for name in names for shadow in range(shadows)]


def row(name: str, shadow: int) -> ShadowRow:
    stream = np.random.default_rng([shadow, sorted(CENTRES).index(name)])

    def drawn(count: int, centre: float, spread: float = 1.0) -> list[float]:
        return [float(value) for value in stream.normal(centre, spread, count)]

    def forgotten() -> dict[str, list[float]]:
        centre, spread = CENTRES[name], SPREADS.get(name, 1.0)
        return {
            "asked": drawn(EXAMPLES, centre, spread),
            "near": drawn(8 * EXAMPLES, centre, spread),
            "strangers": drawn(STRANGERS, -1.0),
        }

    def retained() -> dict[str, list[float]]:
        return {"asked": drawn(EXAMPLES, 5.0), "strangers": drawn(STRANGERS, 4.0)}

    return ShadowRow(
        scenario=SCENARIO,
        shadow=shadow,
        name=name,
        settings={},
        margins={
            "forgotten": {view: forgotten() for view in VIEWS},
            "retained": {view: retained() for view in VIEWS},
        },
        federation=f"{shadow:064x}",
        affected=7 + shadow % 2,
        command="",
        machine=describe(1),
        recipe={"epochs": 4, "accuracies": {"4": 0.9}, "held_out": 200},
    )
