# SPDX-License-Identifier: Apache-2.0
"""Four member processes, and a federation whose models they have published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import GRAPH, STARTS, promised, small, trained
from tests.member.processes import MemberProcess, members


@dataclass(frozen=True)
class Crew:
    """A federation and the processes that decide for it."""

    federation: Federation
    members: list[MemberProcess]


def row_of_each_start(row: int) -> Forget:
    """A sample of each start's owner.

    `test_faults` has the crew forget every class once.  Forgetting a class again changes no model, so the
    other tests with this crew ask for samples, each for different rows.
    """
    return Forget.of_samples((1 + list(GRAPH).index(name), row) for name in STARTS)


@pytest.fixture(scope="package")
def crew(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    folder: Path = tmp_path_factory.mktemp("crew")
    with members(4, folder, folder / "run", chains) as processes:
        committee = {
            "roster": "services",
            "members": tuple(member.url for member in processes),
            "size": 4,
        }
        with trained(small(committee=committee), folder / "run", chains) as federation:
            yield Crew(federation, processes)


@pytest.fixture(autouse=True)
def promises(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test, both chains keep every promise; the newest decision may be unfinished."""
    yield
    for name in {"crew", "court"} & {*request.fixturenames}:
        promised(request.getfixturevalue(name).federation.contracts, unfinished=True)
