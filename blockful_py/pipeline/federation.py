# SPDX-License-Identifier: Apache-2.0
"""The face of the system: train, publish, unlearn, verify, audit.

from blockful_py import Federation, Settings

settings = Settings.load("examples/paper14.toml")
with Federation.create(settings, "runs/mine") as federation:
    federation.train()
    federation.unlearn(paradigm="parallel")
    assert federation.verify().passed
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from blockful_py.closing import Closing
from blockful_py.committee.service.key_leader import Generated
from blockful_py.engine.jobs import Job, Kind
from blockful_py.errors import BlockfulError, RunError, SettingsError, UnlearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.administration import Administration
from blockful_py.pipeline.alarming import RaisedAlarm, raised_alarms
from blockful_py.pipeline.auditing import Audit, audit_archive
from blockful_py.pipeline.catalogue import Catalogue
from blockful_py.pipeline.certificates.document import ErasureCertificate
from blockful_py.pipeline.certificates.issuing import issue
from blockful_py.pipeline.context import Contracts, clock_for, deploy, open_contracts
from blockful_py.pipeline.docket import Docket
from blockful_py.pipeline.erasure import Erasure, Replaced, ReplacedVersion, erase, expire
from blockful_py.pipeline.execution import Executed
from blockful_py.pipeline.identities import Identities
from blockful_py.pipeline.laboratory import Laboratory
from blockful_py.pipeline.model_node import Request
from blockful_py.pipeline.nodes import Nodes, Place
from blockful_py.pipeline.opening import Opener
from blockful_py.pipeline.operations import Counter
from blockful_py.pipeline.pending import KINDS, Lead, request_of, require_same
from blockful_py.pipeline.progress import Progress, Silent, Stopwatch
from blockful_py.pipeline.publishing import Publisher
from blockful_py.pipeline.request_file import RequestFile
from blockful_py.pipeline.requesting import draft_request, method_of, sign_request
from blockful_py.pipeline.rotation import Pause, Rotated, Tell, a_second, rotate, unheard
from blockful_py.pipeline.run import RunDirectory
from blockful_py.pipeline.sealing import SealedWeights
from blockful_py.pipeline.services import Found, Services
from blockful_py.pipeline.settings import Settings
from blockful_py.pipeline.training import load_models, train_and_publish
from blockful_py.pipeline.unlearning import Unlearned, Unlearner
from blockful_py.pipeline.verification import Verification, Verifier
from blockful_py.pipeline.workbench import Workbench, services_of
from blockful_py.storage.interface import FileStore
from blockful_py.types import Paradigm, StoredArchiveRecord
from blockful_py.unlearning.audit.outcome import AuditOutcome
from blockful_py.unlearning.forget import Forget

SECONDS_A_DAY = 86_400


class Federation(Closing):
    """One federation: its run directory, its two chains, its users and its committee.

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
    ) -> Federation:
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
            federation = cls(run, nodes, contracts, ExitStack(), stopwatch)
            if settings.committee.roster == "services":
                federation.hand_over()
            federation._closing = closing.pop_all()
            stack.pop_all()
        return federation

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        leader: int | None = None,
        settle: bool = True,
    ) -> Federation:
        """A federation that `create` made; finishes what a crash left half-written on the chains.

        `leader`: a member's voting secret, to lead as that member.  `settle`: False leaves what is
        half-written as it is, for who gives it up.

        Raises RunError, NodeError or DeploymentError when it cannot be opened.
        """
        run = RunDirectory.open(Path(directory))
        with ExitStack() as stack:
            nodes = nodes or stack.enter_context(Nodes(run.place))
            federation = cls(run, nodes, open_contracts(nodes, run.deployments), ExitStack(), leader=leader)
            if settle:
                federation.settle()
            federation._closing = stack.pop_all()
        return federation

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

    @contextmanager
    def _leading(self) -> Iterator[str]:
        """The lead of the run, with all that was certified settled; what had to be, for people."""
        with Lead(self.run.path):
            said = Docket(self._bench).settle()
            if said:
                self._made = replace(self._bench, clock=clock_for(self.nodes, self.contracts))
            yield "; ".join(said)

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

    def catalogue(self) -> Catalogue:
        """The models on the live chain, by name."""
        return self._bench.catalogue.read()

    def models(self) -> dict[str, TrainedModel]:
        """Every model as it stands, its weights verified."""
        catalogue = self.catalogue()
        return load_models(catalogue, catalogue.models, self.weights)

    def train(self, progress: Progress | None = None) -> tuple[Executed, ...]:
        """Trains and publishes what is not on the chain yet, wave by wave; returns the transactions.

        Raises RunError when another job is unfinished, or somebody else leads one.
        """
        with self._publishing(Kind.TRAIN):
            return train_and_publish(
                self.laboratory,
                Publisher(self._bench, self._bench.panel(Counter())),
                self.catalogue(),
                self.weights,
                self.run.curves,
                self.stopwatch,
                progress or Silent(),
            )

    def adopt(self, models: Mapping[str, TrainedModel]) -> tuple[Executed, ...]:
        """Publishes models that were trained in another federation, in the same blocks of waves.

        No increments are stored with them.  Interrupted, it goes on where it was when it is called again.
        """
        graph = InheritanceGraph.from_references(
            {name: [reference.name for reference in model.references] for name, model in models.items()}
        )
        executed: list[Executed] = []
        with self._publishing(Kind.ADOPT), self.stopwatch("publish"):
            publisher = Publisher(self._bench, self._bench.panel(Counter()))
            placed = {name: node.position for name, node in self.catalogue().models.items()}
            for wave in graph.waves():
                missing = [models[name] for name in wave if name not in placed]
                if missing:
                    positions, transactions = publisher.publish(missing, placed)
                    placed.update(positions)
                    executed += transactions
        return tuple(executed)

    def unlearn(
        self,
        starts: Sequence[str] | None = None,
        classes: Sequence[int] | None = None,
        paradigm: Paradigm | str = Paradigm.PARALLEL,
        method: str | None = None,
        progress: Progress | None = None,
        forget: Forget | None = None,
        request: Request | None = None,
    ) -> Unlearned:
        """Makes every model that inherits from `starts` forget `classes`, or what `forget` names.

        What is left out is taken from the settings; of a `request` that its owners signed (`draft_request`)
        nothing is left out.  A request that a crash interrupted goes on where it was when it is made again.

        Raises:
            UnknownModelError, UnknownClassError, UnlearningError, SettingsError: nothing was changed.
            QuorumError: the committee refused it.
            RunError: another request is unfinished, or somebody else leads one.
        """
        if classes is not None:
            if forget is not None:
                raise UnlearningError("a request forgets classes, or what `forget` names: give one alone.")
            forget = Forget.of_classes(classes)
        with self._leading():
            catalogue = self.catalogue()
            job = self._bench.journal.standing()
            standing = None if job is None else request_of(job)
            if request is None:
                drafted = draft_request(
                    self._bench, catalogue, starts, forget, Paradigm(paradigm), method, standing
                )
                request = sign_request(self._bench, catalogue, drafted)
            else:
                self._bench.clock.wait_until(request.created)
            chosen = method_of(self._bench, request)
            if standing is not None:
                require_same(standing, request)
            asked = standing or request
            docket, kind = Docket(self._bench), KINDS[Paradigm(asked.paradigm)]
            with docket.job(kind, asked.model_dump_json(), lambda: self._begun(asked)):
                unlearned = Unlearner(self._bench, progress or Silent()).run(catalogue, asked, chosen)
                docket.confirm()
                docket.forget()
                erasure = docket.erase(lambda: self._erase(unlearned.nodes))
            return replace(unlearned, erasure=erasure)

    def draft_request(
        self,
        starts: Sequence[str] | None = None,
        forget: Forget | None = None,
        paradigm: Paradigm | str = Paradigm.PARALLEL,
        method: str | None = None,
    ) -> RequestFile:
        """A request for the owners of its starts to sign, wherever their keys are.  Raises as `unlearn`."""
        catalogue, live = self.catalogue(), self.contracts.live
        request = draft_request(self._bench, catalogue, starts, forget, Paradigm(paradigm), method)
        return RequestFile.of(request, catalogue, live.chain_id, live.address)

    def verify(
        self,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        opener: Opener | None = None,
    ) -> Verification:
        """Checks every model, or those named, against the chain and the store; weights as they are sealed.

        `opener`: also opens those that it has keys of.
        """
        verifier = Verifier(self.contracts.live, self.contracts.committee, self.live_store, opener)
        positions = list(verifier.positions())
        if names is not None:
            catalogue = self.catalogue()
            positions = [catalogue[name].position for name in names]
        with (progress or Silent()).stage("verify", len(positions)) as advance, self.stopwatch("verify"):
            return verifier.verify_all(positions, lambda done: advance(1))

    def audit(self, remembered: tuple[StoredArchiveRecord, ...] = (), opener: Opener | None = None) -> Audit:
        """The archive's history of every position, and whether it is whole and begins with `remembered`.

        `opener`: also opens the versions that it has keys of.
        """
        archive, live = self.contracts.archive, self.contracts.live
        return audit_archive(archive, live, self.archive_store, remembered, opener)

    def certify_erasure(self, request: Request, audit: AuditOutcome | None = None) -> ErasureCertificate:
        """A certificate, signed by a quorum, of a request that was carried out.  Raises as `issue`."""
        return issue(self._bench, request, audit)

    def alarms(self) -> tuple[RaisedAlarm, ...]:
        """What members refused, and why, oldest first."""
        return raised_alarms(self.contracts.committee)

    def _services(self) -> Services:
        chain_ids = (self.nodes.live.chain_id, self.nodes.archive.chain_id)
        leader = self._leader or Identities(self.settings.seed, chain_ids).leader()
        return services_of(self.run, self.contracts, leader)

    def administration(self) -> Administration:
        """What the committee decides beside models."""
        return Administration(self._bench)

    def expire(self) -> tuple[ReplacedVersion, ...]:
        """Destroys the auditors' keys of versions replaced longer ago than `archive.retention_days`.

        Raises SettingsError without that setting.
        """
        days = self.settings.archive.retention_days
        if days is None:
            raise SettingsError("archive.retention_days is not set: the archive's keys are kept for ever.")
        before = self._bench.clock.now() - round(days * SECONDS_A_DAY)
        return expire(self._replaced(), self._bench.auditors, before)

    @contextmanager
    def _publishing(self, kind: Kind) -> Iterator[None]:
        """A job that publishes, led here."""
        with self._leading():
            docket = Docket(self._bench)
            with docket.job(kind, "", lambda: False):
                yield
                docket.confirm()

    def _erase(self, names: Collection[str]) -> Erasure:
        bench, days = self._bench, self.settings.archive.retention_days
        return erase(self._replaced(), names, bench.keepers, bench.auditors, bench.live_store, days)

    def _replaced(self) -> Replaced:
        return Replaced(self._bench.catalogue, self._bench.archive, self.archive_store)

    def _begun(self, request: Request) -> bool:
        """Whether a model on the chain was already replaced for this request."""
        nodes = (placed.node for placed in self.catalogue().models.values())
        return any(node.redaction is not None and node.redaction.request == request for node in nodes)
