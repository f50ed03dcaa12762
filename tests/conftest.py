# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all tests: one torch thread, reproducible products, little memory, and two shared chains.

With one thread, small tensors do not spin on busy machines.  Products round alike on every machine.  The
chains are for all tests that deploy their own contracts.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


# The C library keeps what large networks needed, in pieces; only glibc can be told to give it back.
give_back = getattr(ctypes.CDLL(None), "malloc_trim", lambda kept: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, a folder whose files share what they set up goes to one worker as a whole."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    shared = [
        f"{path.parent.relative_to(config.rootpath).as_posix()}/"
        for path in Path(__file__).parent.glob("*/**/conftest.py")
        if 'scope="package"' in path.read_text(encoding="utf-8")
    ]

    class ByFolder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            found = [folder for folder in shared if nodeid.startswith(folder)]
            return found[0] if found else super()._split_scope(nodeid)

    return ByFolder(config, log)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: they are not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_remains() -> Iterator[None]:
    """A file leaves no memory to the next one."""
    yield
    gc.collect()
    give_back(0)


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
