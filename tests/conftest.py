# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: one torch thread, so that small tensors do not spin on busy machines, and one
pair of chains for whoever deploys contracts of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell lets its background jobs ignore Ctrl-C, and the processes that tests interrupt inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Two Ganache nodes, chain ids 1337 and 1338, for the whole session."""
    from blockful_py.pipeline.nodes import Nodes, Place
    from blockful_py.pipeline.settings import ChainSettings

    place = Place.of(ChainSettings(), tmp_path_factory.mktemp("chains"))
    with Nodes(place) as nodes:
        yield nodes
