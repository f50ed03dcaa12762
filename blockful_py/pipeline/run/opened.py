# SPDX-License-Identifier: Apache-2.0
"""An opened run: its folder, nodes, contracts, stores and record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from blockful_py.chain.signer import Signer
from blockful_py.closable import Closable
from blockful_py.pipeline.run.contracts import EVENTS, Contracts, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.catalogue import Catalogue, RecordReaders
from blockful_py.record.docket import Docket
from blockful_py.record.request_stage import Rules
from blockful_py.settings import Settings

if TYPE_CHECKING:
    from blockful_py.keys.access import Access


class OpenedRun(Closable):
    """A run as one party sees it; closing it stops the nodes that it started.

    Attributes:
        secret: voting or account secret that signs requests for blocks of other machines; None to ask
            unsigned.
        kept: folder of the past events of both chains.
    """

    def __init__(
        self,
        run: RunDirectory,
        nodes: Nodes,
        contracts: Contracts,
        secret: int | None = None,
        kept: Path | None = None,
    ) -> None:
        self.run = run
        self.nodes = nodes
        self.contracts = contracts
        self.secret = secret
        self.kept = kept or run.path / EVENTS
        self.arrived: Callable[[], None] = lambda: None
        self._closing = ExitStack()

    @classmethod
    def attach(
        cls,
        run: Path | RunDirectory,
        nodes: Nodes | None = None,
        *,
        place: ChainEndpoints | None = None,
        account: Signer | None = None,
        secret: int | None = None,
        kept: Path | None = None,
        shared: bool = False,
    ) -> Self:
        """Opens a run; `secret` and `kept` as in the class.

        Uses `nodes` and leaves them open.  Without them, starts or reaches the nodes at `place` (by default
        the run's own), with `account` and `shared` as in `Nodes`.  Raises RunError, NodeError or
        DeploymentError.
        """
        directory = run if isinstance(run, RunDirectory) else RunDirectory.open(run)
        with ExitStack() as stack:
            if nodes is None:
                nodes = stack.enter_context(Nodes(place or directory.place, account, shared=shared))
            contracts = open_contracts(nodes, directory.deployments, kept)
            opened = cls(directory, nodes, contracts, secret, kept)
            opened._closing = stack.pop_all()
        return opened

    def close(self) -> None:
        self._closing.close()

    @property
    def settings(self) -> Settings:
        return self.run.settings

    @cached_property
    def stores(self) -> Stores:
        """Both stores.  `arrived` is called for each block received from other machines."""
        return Stores.of(self.run, self.contracts, lambda: self.arrived(), self.secret)

    @cached_property
    def record(self) -> RecordReaders:
        """Both chains' records.  Raises RunError while the committee has no epoch."""
        live, archive = self.contracts.live, self.contracts.archive
        # only machines have concurrent requests, which need earlier versions
        archived = None if self.run.party is None else self.stores.archive
        return RecordReaders.of(live, archive, self.stores.live, archived, self.kept)

    @cached_property
    def docket(self) -> Docket:
        """The filed requests of a federation of machines, by its file's rules."""
        unlearning = self.settings.unlearning
        withdraws, attested = unlearning.unanswered == "withdraw", self.settings.committee.attested
        rules = Rules(unlearning.blocks, withdraws, attested)
        participants, live = self.contracts.participants, self.contracts.live
        return Docket(participants, live, self.record.catalogue, self.stores.live, rules)

    @cached_property
    def access(self) -> Access:
        """The rule by which members give data keys to readers."""
        from blockful_py.keys.access import Access  # loads torch, which an explorer does without

        contracts, rules = self.contracts, self.settings.access
        return Access(
            contracts.live,
            contracts.readers,
            self.stores.live,
            rules,
            lambda number: self.docket[number],
            lambda account: contracts.participants.participant(account).since > 0,
        )

    def catalogue(self) -> Catalogue:
        """The models on the live chain, by name."""
        return self.record.catalogue.read()
