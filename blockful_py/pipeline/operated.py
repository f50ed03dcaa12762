# SPDX-License-Identifier: Apache-2.0
"""A run operated by this process: its jobs share one context, and this process may lead them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from blockful_py.callbacks.events import Callback
from blockful_py.callbacks.told import Callbacks
from blockful_py.engine.jobs import Job
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.plugins import require_importable
from blockful_py.learning.trainer import Trainer
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.event_publisher import EventPublisher
from blockful_py.pipeline.jobs.leader import Leader
from blockful_py.pipeline.jobs.lifecycle import JobLifecycle
from blockful_py.pipeline.run.accounts import identities_in
from blockful_py.pipeline.run.contracts import Contracts, clock_for, deploy
from blockful_py.pipeline.run.creation import creating
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import Lease
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.pipeline.run.training_data import named
from blockful_py.settings import Settings


class OperatedRun(OpenedRun):
    """An opened run whose jobs this process can lead.

    Made by `create` or `open`; a context manager that stops the nodes it started.
    """

    def __init__(
        self,
        run: RunDirectory,
        nodes: Nodes,
        contracts: Contracts,
        secret: int | None = None,
        kept: Path | None = None,
    ) -> None:
        super().__init__(run, nodes, contracts, secret, kept)
        self.stopwatch = Stopwatch()
        self.callbacks = Callbacks(run.settings.run.callbacks)
        self._participant: ReaderKeys | None = None
        self._context: FederationContext | None = None

    @property
    def context(self) -> FederationContext:
        """The context of the run's jobs.  Raises RunError while the committee has no epoch."""
        if self._context is None:
            self._context = FederationContext.of(self, self._participant)
        return self._context

    def train_by(self, trainer: Trainer) -> None:
        """Trains this run's models with `trainer` from now on, instead of the trainer of the settings."""
        self._context = replace(self.context, setup=self.context.setup.trained_by(trainer))

    @classmethod
    def create(
        cls,
        settings: Settings,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        stopwatch: Stopwatch | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Creates a federation in `directory`: starts or reaches the nodes and deploys the contracts.

        Uses `nodes` if they are passed, and does not stop them.  On failure, removes everything it created.
        `callbacks`: receive events in addition to the callbacks in the settings.

        Raises:
            RunError: the directory holds a complete or partial run, or another process is creating one there.
            SettingsError, LearningError: the settings contradict one another or the data.
            NodeError, ToolchainError: a node cannot be started or reached.
        """
        path = Path(directory)
        TrainingSetup.of(settings).require_trainable()
        settings = named(settings)
        told = Callbacks(settings.run.callbacks, callbacks)
        told.make()
        place = nodes.place if nodes is not None else ChainEndpoints.of(settings.chain, path / "chains")
        with creating(path), ExitStack() as closing:
            nodes = nodes or closing.enter_context(Nodes(place))
            contracts = deploy(nodes, settings, path / "deployments")
            run = RunDirectory.create(path, settings, place)
            opened = cls(run, nodes, contracts)
            opened.stopwatch, opened.callbacks = stopwatch or opened.stopwatch, told
            if settings.committee.roster == "services":
                opened.context.leader.follow()
                opened.context.leader.hand_over()
            opened._closing = closing.pop_all()
        return opened

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        secret: int | None = None,
        participant: ReaderKeys | None = None,
        settle: bool = True,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Opens a federation that `create` made; sends the transactions that a crash left unsent.

        Args:
            secret: a member's voting secret, to lead as that member.
            participant: keys of the participant whose run it is.
            settle: False sends nothing and reads no past events, so that the job can be aborted, or the
                record verified from a checkpoint on.
            callbacks: receive events in addition to the callbacks in the settings.

        Raises RunError, NodeError or DeploymentError when it cannot be opened; ReorganisedError, once, if a
        chain has changed since the run last read it.
        """
        secret = participant.account_secret if participant else secret
        opened = cls.attach(Path(directory), nodes, secret=secret)
        try:
            opened.callbacks = Callbacks(opened.settings.run.callbacks, callbacks)
            opened._participant = participant
            identities_in(opened.run, opened.nodes)
            if settle:
                opened.contracts.require_unchanged()
                opened.settle()
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        if self._context is not None:
            self._context.journal.close()
        super().close()

    def name_method(self, name: str | None) -> None:
        """Adds an unlearning method of the owner's to the code that the run may import.

        Does nothing unless `name` is an import path.  Raises SettingsError if it cannot be imported.
        """
        if name is None or ":" not in name or name in self.run.allowed_code:
            return
        require_importable([name], "method")
        self.run = self.run.allowing((*self.run.settings.run.allow, name))

    @property
    def events(self) -> EventPublisher:
        """The publisher of events to the run's callbacks.  Raises as `context`."""
        return EventPublisher(self.context, self.callbacks)

    @property
    def leader(self) -> Leader:
        """The leader of the run's committee in this process."""
        return Leader(self.run, self.contracts, identities_in(self.run, self.nodes), self.secret)

    def renew(self, contracts: Contracts) -> None:
        """Continues with other contracts, for example after a committee's first epoch."""
        if self._context is not None:
            self._context.journal.close()
        self.contracts, self._context = contracts, None
        for each in ("stores", "record", "docket"):
            self.__dict__.pop(each, None)

    def settle(self) -> str | None:
        """Sends the missing transactions of certified decisions; returns a description of the decisions.

        Does nothing while another process leads, or if this process has no key to lead with.  Transactions
        that others have sent are not sent again.  A decision that can no longer run is dropped; the committee
        decides again when the job is resumed.
        """
        if self.contracts.followers is None:
            return None
        leader = self.context.leader
        if not leader.has_secret:
            return None
        if not leader.is_local:
            leader.follow()
        if self.context.journal.open_job() is None or not Lease.is_free(self.run.path):
            return None
        with self.leading() as settled:
            return settled or None

    def abort(self) -> Job:
        """Aborts the unfinished job.  Raises RunError if one of its transactions may be on a chain."""
        self.contracts.require_unchanged()
        with Lease(self.run.path):
            return JobLifecycle(self.context).abort()

    @contextmanager
    def leading(self) -> Iterator[str]:
        """Holds the run's lease and first settles certified decisions; yields a description of them."""
        with Lease(self.run.path):
            settled = JobLifecycle(self.context).settle()
            if settled:
                self._context = replace(self.context, clock=clock_for(self.nodes, self.contracts))
            yield "; ".join(settled)
