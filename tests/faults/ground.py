# SPDX-License-Identifier: Apache-2.0
"""A trained run to be disturbed again and again, and the results of its requests without disturbance."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.settings import Settings
from blockful_py.types import Paradigm
from tests.faults.states import State
from tests.federations import promised, put_back, trained


@contextmanager
def promised_and_put_back(directory: Path, chains: Nodes) -> Iterator[None]:
    """Like `put_back`; at the end, no promise is broken, though a decision may be unfinished."""
    with put_back(chains.live, chains.archive):
        yield
        promised(open_contracts(chains, RunDirectory.open(directory).deployments), unfinished=True)


@dataclass(frozen=True)
class Ground:
    """A run directory, copied for each case, and its chains."""

    directory: Path
    nodes: Nodes
    undisturbed: dict[Paradigm, State]

    @classmethod
    def lay(cls, settings: Settings, folder: Path, chains: Nodes) -> Ground:
        """Trains a run in `folder`, and executes its request in undisturbed copies."""
        trained(settings, folder / "run", chains).close()
        undisturbed = {}
        for paradigm in Paradigm:
            shutil.copytree(folder / "run", folder / paradigm)
            with (
                put_back(chains.live, chains.archive),
                Federation.open(folder / paradigm, nodes=chains) as federation,
            ):
                federation.unlearn(paradigm=paradigm)
                undisturbed[paradigm] = State.of(federation)
            assert undisturbed[paradigm].verified
            assert undisturbed[paradigm].audited
            assert undisturbed[paradigm].promises_kept
        return cls(folder / "run", chains, undisturbed)

    @contextmanager
    def copied(self, directory: Path) -> Iterator[Path]:
        """A copy of the trained run; changes on the chains are undone."""
        shutil.copytree(self.directory, directory)
        with promised_and_put_back(directory, self.nodes):
            yield directory
