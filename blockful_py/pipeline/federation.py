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

from blockful_py.chain.settlement import Executed
from blockful_py.engine.jobs import Kind
from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.keys.erasure import Erasure, Replaced, ReplacedVersion, erase, expire
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.administration import Administration
from blockful_py.pipeline.alarms import RaisedAlarm, raised_alarms
from blockful_py.pipeline.base import OpenRun
from blockful_py.pipeline.jobs.certificate import issue
from blockful_py.pipeline.jobs.history import opted_out
from blockful_py.pipeline.jobs.lifecycle import Docket
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.requesting import draft_request, method_of, sign_request
from blockful_py.pipeline.jobs.training import load_models, train_and_publish
from blockful_py.pipeline.jobs.unlearning import Unlearned, Unlearner
from blockful_py.pipeline.run.lease import KINDS, request_of, require_same, rounds_of, training_text
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.record.audit import Audit, audit_archive
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.decryption import Opener
from blockful_py.record.model_node import Request
from blockful_py.record.request_file import RequestFile
from blockful_py.record.verify import Verification, Verifier
from blockful_py.types import Paradigm, StoredArchiveRecord
from blockful_py.verdicts.outcome import AuditOutcome

SECONDS_A_DAY = 86_400


class Federation(OpenRun):
    """One federation: what its users, its committee and its auditors do with the run that is open.

    Made by `create` or `open`; a context manager that stops the nodes it started.
    """

    def catalogue(self) -> Catalogue:
        """The models on the live chain, by name."""
        return self._bench.catalogue.read()

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
        with self._leading():
            rounds = rounds_of(self._bench.journal.standing(), rounds)
            laboratory = self.laboratory if rounds is None else self.laboratory.with_rounds(rounds)
            with self._job(Kind.TRAIN, training_text(rounds)):
                return train_and_publish(
                    laboratory,
                    self.opted_out(),
                    Publisher(self._bench, self._bench.panel(Counter())),
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
        return opted_out(self._bench)

    def adopt(self, models: Mapping[str, TrainedModel]) -> tuple[Executed, ...]:
        """Publishes models that were trained in another federation, in the same blocks of waves.

        No increments are stored with them.  Interrupted, it goes on where it was when it is called again.
        """
        graph = InheritanceGraph.from_references(
            {name: [reference.name for reference in model.references] for name, model in models.items()}
        )
        executed: list[Executed] = []
        with self._leading(), self._job(Kind.ADOPT), self.stopwatch("publish"):
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
    def _job(self, kind: Kind, asked: str = "") -> Iterator[None]:
        """A job that publishes; somebody leads here."""
        docket = Docket(self._bench)
        with docket.job(kind, asked, lambda: False):
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
