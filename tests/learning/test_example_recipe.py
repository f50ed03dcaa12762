# SPDX-License-Identifier: Apache-2.0
"""The recipe of the example for machines is long enough for the few samples that each participant has."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.retrained_roots import retrained
from blockful_py.settings import Settings

SETTINGS = Path(__file__).parents[2] / "examples" / "machines.toml"


@pytest.mark.slow
def test_a_root_that_is_trained_again_without_a_class_keeps_the_others() -> None:
    """With 5 epochs at a rate of 0.1 one kept 84 %, and 56 % of a class."""
    found = retrained(Settings.load(SETTINGS))
    assert len(found["after"]) == 5
    for models in found.values():
        assert min(accuracy for accuracy, _ in models.values()) >= 0.9
        assert min(worst for _, worst in models.values()) >= 0.65
