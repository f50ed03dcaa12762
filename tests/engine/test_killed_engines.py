# SPDX-License-Identifier: Apache-2.0
"""After any kill, the results equal the ones of the engine in this process, and each is noted once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.engine.killing import VICTIMS, survive


@pytest.mark.slow
def test_local_processes(tmp_path: Path) -> None:
    survive(tmp_path, ("worker", "driver", "worker"), random.Random(1), ray=False)


@pytest.mark.processes
@pytest.mark.timeout(3000)
def test_a_ray_cluster_of_two_nodes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    survive(tmp_path, VICTIMS, random.Random(1), ray=True)
