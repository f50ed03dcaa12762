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

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from blockful_py.chain.settlement import Executed
from blockful_py.closable import Closable
from blockful_py.engine.jobs import Job, Kind
from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.keys.erasure import Erasure, ReplacedVersion, ReplacedVersions, erase, expire
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.administration import Administration
from blockful_py.pipeline.alarms import RaisedAlarm, raised_alarms
from blockful_py.pipeline.base import OpenRun
from blockful_py.pipeline.epochs import Epochs
from blockful_py.pipeline.jobs.certificate import issue
from blockful_py.pipeline.jobs.lifecycle import JobLifecycle
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.requesting import draft_request, method_of, sign_request
from blockful_py.pipeline.jobs.training import load_models, train_and_publish
from blockful_py.pipeline.jobs.unlearning import Unlearned, Unlearner
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import KINDS, request_of, require_same, rounds_of, training_text
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Progress, Silent, Stopwatch
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.audit import Audit, audit_archive
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.decryption import Decryptor
from blockful_py.record.model_node import Request
from blockful_py.record.request_file import RequestFile
from blockful_py.record.verify import Verification, Verifier
from blockful_py.settings import Settings
from blockful_py.types import Paradigm, StoredArchiveRecord
from blockful_py.verdicts.outcome import AuditOutcome

SECONDS_A_DAY = 86_400


class Federation(Closable):
    """One federation: what its users, its committee and its auditors do with a run.

    Made by `create` or `open`; a context manager that stops the nodes it started.

    Attributes:
        opened: the run that is open.
        epochs: those of its committee.
    """

    def __init__(self, opened: OpenRun) -> None:
        self.opened = opened
        self.epochs = Epochs(opened)

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

        With `nodes`, those are used and not stopped.  Raises as `OpenRun.create`.
        """
        return cls(OpenRun.create(settings, directory, nodes=nodes, stopwatch=stopwatch))

    @classmethod
    def open(
        cls,
        directory: str | Path,
        *,
        nodes: Nodes | None = None,
        secret: int | None = None,
        settle: bool = True,
    ) -> Federation:
        """A federation that `create` made; finishes what a crash left half-written on the chains.

        `secret`: a member's voting secret, to lead as that member.  `settle`: False leaves what is
        half-written as it is.  Raises as `OpenRun.open`.
        """
        return cls(OpenRun.open(directory, nodes=nodes, secret=secret, settle=settle))

    def close(self) -> None:
        self.opened.close()

    @property
    def run(self) -> RunDirectory:
        return self.opened.run

    @property
    def settings(self) -> Settings:
        return self.opened.settings

    @property
    def nodes(self) -> Nodes:
        return self.opened.nodes

    @property
    def contracts(self) -> Contracts:
        return self.opened.contracts

    @property
    def stopwatch(self) -> Stopwatch:
        return self.opened.stopwatch

    @property
    def setup(self) -> TrainingSetup:
        """Data, users and training settings.  Raises RunError while the committee has no epoch."""
        return self.opened.context.setup

    @property
    def stores(self) -> Stores:
        """Where the models are.  Raises RunError while the committee has no epoch."""
        return self.opened.context.stores

    @property
    def weights(self) -> SealedWeights:
        """The current weights in the live store, decrypted with the members' keys."""
        return self.opened.context.weights

    def catalogue(self) -> Catalogue:
        """The models on the live chain, by name."""
        return self.opened.context.record.catalogue.read()

    def models(self) -> dict[str, TrainedModel]:
        """Every model as it stands, its weights verified."""
        catalogue = self.catalogue()
        return load_models(catalogue, catalogue.models, self.weights)

    def train(self, progress: Progress | None = None, rounds: int | None = None) -> tuple[Executed, ...]:
        """Trains and publishes what is not on the chain yet, wave by wave; returns the transactions.

        Nothing is trained on what its owner `opted_out` of.

        `rounds`: models that each user has in the end, where they are not to be as many as in the settings:
        a federation goes on so, also after requests.

        Raises RunError when another job is unfinished, or somebody else leads one; SettingsError where the
        scenario has not so many rounds.
        """
        with self.opened.leading():
            rounds = rounds_of(self.opened.context.journal.open_job(), rounds)
            setup = self.setup if rounds is None else self.setup.with_rounds(rounds)
            with self._job(Kind.TRAIN, training_text(rounds)):
                return train_and_publish(
                    setup,
                    self.opted_out(),
                    Publisher(self.opened.context),
                    self.catalogue(),
                    self.weights,
                    self.run.curves,
                    self.stopwatch,
                    progress or Silent(),
                )

    def opted_out(self) -> dict[int, tuple[Forget, ...]]:
        """What each user asked to be forgotten at a model of its own, by user: its later models, and its
        other ones when they are trained again, are trained without.

        Raises RunError when the archive lacks a version, StorageError when its node cannot be read.
        """
        return self.opened.context.history.opted_out()

    def adopt(self, models: Mapping[str, TrainedModel]) -> tuple[Executed, ...]:
        """Publishes models that were trained in another federation, in the same blocks of waves.

        No increments are stored with them.  Interrupted, it goes on where it was when it is called again.
        """
        graph = InheritanceGraph.from_references(
            {name: [reference.name for reference in model.references] for name, model in models.items()}
        )
        executed: list[Executed] = []
        with self.opened.leading(), self._job(Kind.ADOPT), self.stopwatch("publish"):
            publisher = Publisher(self.opened.context)
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
        with self.opened.leading():
            catalogue = self.catalogue()
            job = self.opened.context.journal.open_job()
            under_way = None if job is None else request_of(job)
            if request is None:
                drafted = draft_request(
                    self.opened.context, catalogue, starts, forget, Paradigm(paradigm), method, under_way
                )
                request = sign_request(self.opened.context, catalogue, drafted)
            else:
                self.opened.context.clock.wait_until(request.created)
            chosen = method_of(self.opened.context, request)
            if under_way is not None:
                require_same(under_way, request)
            asked = under_way or request
            lifecycle, kind = JobLifecycle(self.opened.context), KINDS[Paradigm(asked.paradigm)]
            with lifecycle.job(kind, asked.model_dump_json(), lambda: self._begun(asked)):
                unlearned = Unlearner(self.opened.context, progress or Silent()).run(catalogue, asked, chosen)
                lifecycle.confirm()
                lifecycle.forget()
                erasure = lifecycle.erase(lambda: self._erase(unlearned.nodes))
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
        request = draft_request(self.opened.context, catalogue, starts, forget, Paradigm(paradigm), method)
        return RequestFile.of(request, catalogue, live.chain_id, live.address)

    def settle(self) -> str | None:
        """Finishes what was certified and not wholly written, unless somebody leads; returns what it was."""
        return self.opened.settle()

    def abort(self) -> Job:
        """Gives the unfinished job up.  Raises RunError when something of it may be on a chain."""
        return self.opened.abort()

    def verify(
        self,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        decryptor: Decryptor | None = None,
    ) -> Verification:
        """Checks every model, or those named, against the chain and the store; weights as they are sealed.

        `decryptor`: also opens those that it has keys of.
        """
        verifier = Verifier(self.contracts.live, self.contracts.committee, self.stores.live, decryptor)
        positions = list(verifier.positions())
        if names is not None:
            catalogue = self.catalogue()
            positions = [catalogue[name].position for name in names]
        with (progress or Silent()).stage("verify", len(positions)) as advance, self.stopwatch("verify"):
            return verifier.verify_all(positions, lambda done: advance(1))

    def audit(
        self, remembered: tuple[StoredArchiveRecord, ...] = (), decryptor: Decryptor | None = None
    ) -> Audit:
        """The archive's history of every position, and whether it is whole and begins with `remembered`.

        `decryptor`: also opens the versions that it has keys of.
        """
        archive, live = self.contracts.archive, self.contracts.live
        return audit_archive(archive, live, self.stores.archive, remembered, decryptor)

    def certify_erasure(self, request: Request, audit: AuditOutcome | None = None) -> ErasureCertificate:
        """A certificate, signed by a quorum, of a request that was carried out.  Raises as `issue`."""
        return issue(self.opened.context, request, audit)

    def alarms(self) -> tuple[RaisedAlarm, ...]:
        """What members refused, and why, oldest first."""
        return raised_alarms(self.contracts.committee)

    def administration(self) -> Administration:
        """What the committee decides beside models."""
        return Administration(self.opened.context)

    def expire(self) -> tuple[ReplacedVersion, ...]:
        """Destroys the auditors' keys of versions replaced longer ago than `archive.retention_days`.

        Raises SettingsError without that setting.
        """
        days = self.settings.archive.retention_days
        if days is None:
            raise SettingsError("archive.retention_days is not set: the archive's keys are kept for ever.")
        before = self.opened.context.clock.now() - round(days * SECONDS_A_DAY)
        return expire(self._replaced(), self.opened.context.keys.auditors, before)

    @contextmanager
    def _job(self, kind: Kind, asked: str = "") -> Iterator[None]:
        """A job that publishes; somebody leads here."""
        lifecycle = JobLifecycle(self.opened.context)
        with lifecycle.job(kind, asked, lambda: False):
            yield
            lifecycle.confirm()

    def _erase(self, names: Collection[str]) -> Erasure:
        keys, days = self.opened.context.keys, self.settings.archive.retention_days
        return erase(self._replaced(), names, keys.keyring, keys.auditors, self.stores.live, days)

    def _replaced(self) -> ReplacedVersions:
        record = self.opened.context.record
        return ReplacedVersions(record.catalogue, record.archive, self.stores.archive)

    def _begun(self, request: Request) -> bool:
        """Whether a model on the chain was already replaced for this request."""
        nodes = (placed.node for placed in self.catalogue().models.values())
        return any(node.redaction is not None and node.redaction.request == request for node in nodes)
