# SPDX-License-Identifier: Apache-2.0
"""The errors that the simulator tells are those of the stored real runs."""

from __future__ import annotations

import json
from pathlib import Path

from blockful_lab.simulation.validation import MEASURED

SCALE = Path("benchmarks/results/scale/scale.json")


def test_the_told_errors_are_those_of_the_stored_runs() -> None:
    runs = json.loads(SCALE.read_text(encoding="utf-8"))["real"]
    found = [(each["models"], each["error"]) for each in runs]
    for measured, some in zip(
        MEASURED[1:],
        (
            [error for models, error in found if models <= 32],
            [error for models, error in found if models > 32],
        ),
        strict=True,
    ):
        assert (round(min(some), 2), round(max(some), 2), len(some)) == (
            measured.least,
            measured.most,
            measured.n,
        )
