# SPDX-License-Identifier: Apache-2.0
"""A Ray cluster of two nodes whose worker, driver, node and head are killed in turn."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.engine.killing import VICTIMS, survive


@pytest.mark.processes
@pytest.mark.timeout(3000)
def test_whatever_is_killed_the_results_are_those_of_this_process(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    survive(tmp_path, VICTIMS, random.Random(1))
