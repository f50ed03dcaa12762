# SPDX-License-Identifier: Apache-2.0
"""A participant at work: it watches the chains, and starts each piece of work in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.chain.signer import Signer
from blockful_py.child_process import ChildProcesses
from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.scenario import ModelSpec, holders_of, next_of, plan
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.task import ParticipantTask
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.entering import require_standing
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.catalogue import Catalogue, CatalogueReader
from blockful_py.record.model_node import Request
from blockful_py.record.parts import due, missing, request_from_bytes

Tell = Callable[[str], None]
"""Is called with what the participant does."""


class ParticipantService(Closable):
    """The loop of one participant: a duty (`committee.service.duties`).

    What is due follows from the chains alone, so whoever restarts goes on where it was.
    """

    name = "participant"

    def __init__(
        self,
        folder: ParticipantFolder,
        keys: ReaderKeys,
        processes: ChildProcesses,
        tell: Tell,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises RunError before it has joined, NodeError or DeploymentError."""
        self._folder = folder
        self._keys = keys
        self._processes = processes
        self._tell = tell
        self._now = now
        self.run, self.party = folder.opened()
        account = Signer(keys.account_secret.to_bytes(32, "big"))
        self._nodes = Nodes(self.run.place, account)
        try:
            self.contracts = open_contracts(self._nodes, self.run.deployments)
            require_standing(self.contracts, self.party)
        except BaseException:
            self._nodes.close()
            raise
        self._store = Stores.of(self.run, self.contracts).live
        self._catalogue = CatalogueReader(self.contracts.live, self._store)
        self._plan = plan(self.run.settings.federation, holders_of(self.run.settings))
        self._seen = (-1, self._now())

    @property
    def user(self) -> int:
        """The participant's number."""
        return self.party.user or 0

    def catalogue(self) -> Catalogue:
        """The models as they stand."""
        return self._catalogue.read()

    def step(self) -> None:
        """Does what is due, one piece of work; raises its error."""
        if self._folder.is_paused:
            return
        catalogue = self._catalogue.read()
        for filed in self.contracts.participants.filed_requests():
            names = self.due(filed, catalogue)
            if names:
                self._tell(f"request {filed.number}: unlearning {', '.join(names)}")
                self._work(filed.number)
                return
        spec = self.next_model(catalogue)
        if spec is not None:
            self._tell(f"training {spec.name}")
            self._work(None)
            self._tell(f"published {spec.name}")

    def due(self, filed: FiledRequest, catalogue: Catalogue) -> tuple[str, ...]:
        """Own models whose part of a request can be done now; none for a request that is unusable."""
        try:
            hand_ins = self.contracts.participants.hand_ins(filed.number)
            return due(catalogue, self._request(filed, catalogue), self._keys.account, hand_ins)
        except BlockfulError:
            return ()

    def missing(self, filed: FiledRequest, catalogue: Catalogue) -> tuple[str, ...]:
        """Models that a request has not replaced yet.  Raises as `request_from_bytes`."""
        return missing(catalogue, self._request(filed, catalogue))

    def _request(self, filed: FiledRequest, catalogue: Catalogue) -> Request:
        live = self.contracts.live
        return request_from_bytes(self._store.read(filed.uri), live.chain_id, live.address, catalogue)

    def next_model(self, catalogue: Catalogue) -> ModelSpec | None:
        """The next model to train, if its references are there or have been waited for."""
        spec = next_of(self.user, self._plan, catalogue.models)
        if spec is None:
            return None
        if len(catalogue.models) != self._seen[0]:
            self._seen = (len(catalogue.models), self._now())
        if spec.needs <= catalogue.models.keys():
            return spec
        patient = self._now() - self._seen[1] < self.run.settings.federation.patience
        there = spec.needs & catalogue.models.keys()
        return None if patient or spec.references is not None or not there else spec

    def _work(self, request: int | None) -> None:
        keys = self._keys
        self._processes.run(
            ParticipantTask(self.run.path, keys.account_secret, keys.encryption_secret, request).to_json()
        )

    def close(self) -> None:
        self._nodes.close()
