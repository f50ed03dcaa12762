# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all tests: one torch thread, reproducible products, and a shared pair of chains.

With one thread, small tensors do not spin on busy machines.  Products round alike on every machine.  The
chains are for all tests that deploy their own contracts.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MKL_CBWR", "COMPATIBLE")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell lets its background jobs ignore Ctrl-C, and the processes that tests interrupt inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes depends on the machine and on what else it does.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Two nodes, chain ids 1337 and 1338, for the whole session.

    They are Anvils, which take the least time, and embedded chains where npm has no program for Anvil;
    TEST_NODE chooses "anvil", "ganache" or "embedded".  Tests of interrupted demos, of sessions and of the
    chain itself start Ganaches of their own.
    """
    from dataclasses import replace

    from blockful_py.chain.programs import anvil_command
    from blockful_py.errors import ToolchainError
    from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
    from blockful_py.settings import ChainSettings

    kind = os.environ.get("TEST_NODE", "anvil")
    try:
        if kind == "anvil":
            anvil_command()
    except ToolchainError:
        kind = "embedded"
    place = ChainEndpoints.of(ChainSettings(), tmp_path_factory.mktemp("chains"))
    with Nodes(replace(place, devnet=kind)) as nodes:
        yield nodes
