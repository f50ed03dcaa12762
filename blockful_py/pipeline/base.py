# SPDX-License-Identifier: Apache-2.0
"""A run that is open: its chains, its stores, its committee, and who leads it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from blockful_py.closable import Closing
from blockful_py.committee.service.key_leader import Generated
from blockful_py.engine.jobs import Job
from blockful_py.errors import BlockfulError, RunError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.training_setup import Laboratory
from blockful_py.pipeline.coordination.remote_committee import Found, Services, services_of
from blockful_py.pipeline.coordination.rotation import Pause, Rotated, Tell, a_second, rotate, unheard
from blockful_py.pipeline.jobs.context import Workbench
from blockful_py.pipeline.jobs.lifecycle import Docket
from blockful_py.pipeline.run.contracts import Contracts, clock_for, deploy, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.lease import Lead
from blockful_py.pipeline.run.nodes import Nodes, Place
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.settings import Settings
from blockful_py.storage.interface import FileStore


class OpenRun(Closing):
    """One run directory with its two chains, its users and its committee.

    Made by `create` or `open`; a context manager that stops the nodes it started.
    """

    def __init__(
        self,
        run: RunDirectory,
        nodes: Nodes,
        contracts: Contracts,
        closing: ExitStack,
        stopwatch: Stopwatch | None = None,
        leader: int | None = None,
    ) -> None:
        self.run = run
        self.settings = run.settings
        self.nodes = nodes
        self.contracts = contracts
        self.stopwatch = stopwatch or Stopwatch()
        self._closing = closing
        self._leader = leader
        self._made: Workbench | None = None

    @property
    def _bench(self) -> Workbench:
        """Raises RunError while the committee has no epoch."""
        if self._made is None:
            self._made = Workbench.of(self.run, self.nodes, self.contracts, self._leader)
        return self._made

    @property
    def laboratory(self) -> Laboratory:
        """Data, users and training settings."""
        return self._bench.laboratory

    @property
    def live_store(self) -> FileStore:
        return self._bench.live_store

    @property
    def weights(self) -> SealedWeights:
        """What stands in the live store, opened with the members' keys."""
        return self._bench.weights

    @property
    def archive_store(self) -> FileStore:
        return self._bench.archive_store

    @classmethod
    def create(
        cls,
        settings: Settings,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        stopwatch: Stopwatch | None = None,
    ) -> Self:
        """A new federation in `directory`: starts or reaches the nodes and deploys the contracts.

        With `nodes`, those are used and not stopped.  When it fails, a directory that it made is removed.

        Raises:
            RunError: the directory holds a run already.
            SettingsError, LearningError: the settings do not fit together or the data.
            NodeError, ToolchainError: a node cannot be started or reached.
        """
        path = Path(directory)
        Laboratory.of(settings)
        if (path / "run.json").exists():
            raise RunError(f"{path} holds a run already: choose another folder, or open that run.")
        place = nodes.place if nodes is not None else Place.of(settings.chain, path / "chains")
        with ExitStack() as stack:
            if not path.exists():
                stack.callback(shutil.rmtree, path, ignore_errors=True)
            closing = stack.enter_context(ExitStack())
            nodes = nodes or closing.enter_context(Nodes(place))
            contracts = deploy(nodes, settings, path / "deployments")
            run = RunDirectory.create(path, settings, place)
            opened = cls(run, nodes, contracts, ExitStack(), stopwatch)
            if settings.committee.roster == "services":
                opened.hand_over()
            opened._closing = closing.pop_all()
            stack.pop_all()
        return opened

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        leader: int | None = None,
        settle: bool = True,
    ) -> Self:
        """A federation that `create` made; finishes what a crash left half-written on the chains.

        `leader`: a member's voting secret, to lead as that member.  `settle`: False leaves what is
        half-written as it is, for who gives it up.

        Raises RunError, NodeError or DeploymentError when it cannot be opened.
        """
        run = RunDirectory.open(Path(directory))
        with ExitStack() as stack:
            nodes = nodes or stack.enter_context(Nodes(run.place))
            opened = cls(run, nodes, open_contracts(nodes, run.deployments), ExitStack(), leader=leader)
            if settle:
                opened.settle()
            opened._closing = stack.pop_all()
        return opened

    def close(self) -> None:
        if self._made is not None:
            self._made.journal.close()
        self._closing.close()

    def settle(self) -> str | None:
        """Finishes what was certified and not wholly written, unless somebody leads; returns what it was.

        What others finished is not sent again.  What can no longer run is given up: it is decided again when
        the job goes on.
        """
        if self.contracts.followers is None:
            return None
        if self.settings.committee.roster != "appointed":
            self._bench.follow()
        if self._bench.journal.standing() is None or not Lead.is_free(self.run.path):
            return None
        with self._leading() as settled:
            return settled or None

    def abort(self) -> Job:
        """Gives the unfinished job up.  Raises RunError when something of it may be on a chain."""
        with Lead(self.run.path):
            return Docket(self._bench).abort()

    def hand_over(self) -> Generated:
        """Starts a new epoch with the members at `committee.members`, who generate its key.

        Raises QuorumError when too few work.  Goes on where it was when it is made again after a crash.
        """
        _ = self.contracts.appointed
        self._bench.follow()
        return self._bench.hand_over()

    def rotate(self, pause: Pause | None = None, tell: Tell | None = None) -> Rotated:
        """Has the chain elect the next committee, which generates its key; the archive chain follows.

        `pause` waits between looks at the chain, a second unless given; `tell` hears of each phase.  Goes on
        where it was when it is made again after a crash, by whomever.

        Raises QuorumError when an election cannot be opened yet, is void, or too few of the elected work.
        """
        _ = self.contracts.elected
        rotated, self.contracts = rotate(
            self.run, self.nodes, self.contracts, self._services(), pause or a_second, tell or unheard
        )
        self._made = None
        return rotated

    def committee(self) -> dict[str, Found | BlockfulError]:
        """Who answers at each of `committee.members`, or why nobody does."""
        return self._services().find()

    @contextmanager
    def _leading(self) -> Iterator[str]:
        """The lead of the run, with all that was certified settled; what had to be, for people."""
        with Lead(self.run.path):
            said = Docket(self._bench).settle()
            if said:
                self._made = replace(self._bench, clock=clock_for(self.nodes, self.contracts))
            yield "; ".join(said)

    def _services(self) -> Services:
        chain_ids = (self.nodes.live.chain_id, self.nodes.archive.chain_id)
        leader = self._leader or Identities(self.settings.seed, chain_ids).leader()
        return services_of(self.run, self.contracts, leader)
