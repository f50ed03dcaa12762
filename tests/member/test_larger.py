# SPDX-License-Identifier: Apache-2.0
"""Committees of 7 and 10 members decide with 2 and 3 of them dead, frozen or lying."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from blockful_py.errors import QuorumError
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import small, trained, transactions
from tests.member.conftest import Crew
from tests.member.processes import members
from tests.member.test_faults import forgets, seat

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("size", "faults"),
    [(7, ("killed", "wrong shares")), (10, ("killed", "frozen", "wrong shares"))],
    ids=["7 with 2", "10 with 3"],
)
def test_f_faults_of_3f_plus_1_stop_nothing_and_one_more_does(
    chains: Nodes, tmp_path: Path, size: int, faults: tuple[str, ...]
) -> None:
    with members(size, tmp_path, tmp_path / "run", chains) as processes:
        committee = {
            "roster": "services",
            "members": tuple(member.url for member in processes),
            "size": size,
            "round_seconds": 40.0,
        }
        with trained(small(committee=committee), tmp_path / "run", chains) as federation:
            crew = Crew(federation, processes)
            with ExitStack() as stack:
                for index, fault in enumerate(faults, start=1):
                    member = seat(crew, index)
                    if fault == "killed":
                        stack.enter_context(member.dead())
                    elif fault == "frozen":
                        stack.enter_context(member.frozen())
                    else:
                        stack.enter_context(member.cheating(fault))
                forgets(federation, 1)
                before = transactions(federation)
                with seat(crew, size).dead(), pytest.raises(QuorumError, match="nothing was changed"):
                    federation.unlearn(classes=[2])
                assert transactions(federation) == before
            forgets(federation, 2)
