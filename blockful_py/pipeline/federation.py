# SPDX-License-Identifier: Apache-2.0
"""The entry point of the system: train, publish, unlearn, verify, audit.

In a program:

    from blockful_py import Federation, Settings

    settings = Settings.load("examples/paper14.toml")
    with Federation.create(settings, "runs/mine") as federation:
        federation.train()
        federation.unlearn(paradigm="parallel")
        assert federation.verify().passed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from blockful_py.chain.settlement import Executed
from blockful_py.engine.jobs import Job, Kind
from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.html_table import html_table
from blockful_py.keys.erasure import Erasure, ReplacedVersion, ReplacedVersions, erase, expire
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.administration import Administration, Epochs
from blockful_py.pipeline.coordination.status import RaisedAlarm, raised_alarms
from blockful_py.pipeline.jobs.certificate import issue
from blockful_py.pipeline.jobs.engine_tasks import on_engine
from blockful_py.pipeline.jobs.lifecycle import JobLifecycle
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.recalling import kept, newest_request, recalled
from blockful_py.pipeline.jobs.requesting import advice_on, draft_request, method_of, sign_request
from blockful_py.pipeline.jobs.training import load_models, train_and_publish
from blockful_py.pipeline.jobs.unlearning import Unlearned, Unlearner, replaced_for
from blockful_py.pipeline.operated import OperatedRun
from blockful_py.pipeline.review.times import MAX_DRIFT
from blockful_py.pipeline.run.lease import KINDS, request_of, require_same, rounds_of, training_text
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.pipeline.verifying import to_verify, verified
from blockful_py.record.adopted import Adopted
from blockful_py.record.audit import Audit, audit_archive
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.decryption import Decryptor
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request import Request
from blockful_py.record.request_file import RequestFile
from blockful_py.record.verify import Verification
from blockful_py.types import Paradigm, StoredArchiveRecord
from blockful_py.unlearning.choosing import Advice
from blockful_py.verdicts.outcome import AuditOutcome

SECONDS_A_DAY = 86_400


class Federation(OperatedRun):
    """A federation's run: the operations of its users, its committee and its auditors.

    Made by `create` or `open`; a context manager that stops the nodes it started.
    """

    @cached_property
    def epochs(self) -> Epochs:
        """The epochs of the committee."""
        return Epochs(self)

    def _repr_html_(self) -> str:
        """The main settings, read without the chains, so that a closed federation can be shown too."""
        told = self.settings
        rows = [
            ("run", self.run.path),
            ("scenario", f"{told.federation.scenario}, {told.federation.situation}"),
            ("users", told.federation.users),
            ("data, model", f"{told.learning.dataset}, {told.learning.model}"),
            ("committee", f"{told.committee.roster}, {told.committee.size} members"),
        ]
        return html_table("Federation", (), rows)

    @property
    def setup(self) -> TrainingSetup:
        """Data, users and training settings.  Raises RunError while the committee has no epoch."""
        return self.context.setup

    @property
    def weights(self) -> SealedWeights:
        """The current weights in the live store, decrypted with the members' keys."""
        return self.context.weights

    def models(self, progress: Progress | None = None) -> dict[str, TrainedModel]:
        """The current version of every model, its weights verified, and whole in memory."""
        catalogue = self.catalogue()
        models = load_models(catalogue, catalogue.with_weights, self.weights, progress)
        return {name: replace(each, weights=dict(each.weights)) for name, each in models.items()}

    def train(self, progress: Progress | None = None, rounds: int | None = None) -> tuple[Executed, ...]:
        """Trains and publishes the missing models, wave by wave; returns the transactions.

        No model is trained on data that its owner has opted out of.

        `rounds`: total number of models per user, by default as in the settings.  A higher number continues a
        federation, also after requests.

        Raises RunError when another job is unfinished or another process leads one; SettingsError when the
        scenario has fewer rounds, or adopts models.
        """
        if self.setup.is_adopted:
            raise SettingsError("this run adopts models and trains none: make another run to train in.")
        with self.leading():
            rounds = rounds_of(self.context.journal.open_job(), rounds)
            if rounds is not None:
                self.setup.with_rounds(rounds)  # refuses before a job begins
            with (
                self.publishing(Kind.TRAIN, training_text(rounds)),
                on_engine(self.context) as context,
            ):
                return train_and_publish(
                    context.setup if rounds is None else context.setup.with_rounds(rounds),
                    self.opted_out(),
                    Publisher(self.context),
                    self.catalogue(),
                    self.weights,
                    self.run.curves,
                    self.stopwatch,
                    progress or Silent(),
                    self.events,
                )

    def opted_out(self) -> dict[int, tuple[Forget, ...]]:
        """By user, the data that it asked one of its own models to forget.

        Its later models, and its other models when retrained, are trained without that data.

        Raises RunError when the archive lacks a version, StorageError when its node cannot be read.
        """
        return self.context.history.opted_out()

    def adopt(
        self,
        models: Mapping[str, TrainedModel],
        progress: Progress | None = None,
        adopted: Mapping[str, Adopted] = MappingProxyType({}),
    ) -> tuple[Executed, ...]:
        """Publishes models that were made elsewhere, in the same blocks of waves.

        Stores no increments with them.  A call after an interruption continues.

        `adopted`: of models that no federation trained, whose weights are digests (`learning.digests`).
        Raises SettingsError if they are of another kind than the run's (federation.scenario).
        """
        if models and self.setup.is_adopted != bool(adopted):
            raise SettingsError(
                "a run has adopted models alone, or trained ones alone: adopt into a run of its own "
                "(federation.scenario = 'adopted')."
            )
        executed: list[Executed] = []
        with self.leading(), self.publishing(Kind.ADOPT), self.stopwatch("publish"):
            publisher = Publisher(self.context)
            placed = {name: node.position for name, node in self.catalogue().models.items()}
            references: dict[str, list[str]] = {name: [] for name in placed}
            references |= {name: [each.name for each in model.references] for name, model in models.items()}
            graph = InheritanceGraph.from_references(references)
            waves = [[models[name] for name in wave if name not in placed] for wave in graph.waves()]
            total = sum(map(len, waves))
            with (progress or Silent()).stage("publish trained models", total) as advance:
                for wave in filter(None, waves):
                    positions, transactions = publisher.publish(wave, placed, adopted=adopted)
                    placed.update(positions)
                    executed += transactions
                    self.events.published(list(positions))
                    advance(len(wave))
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
        prepare: Callable[[], object] | None = None,
    ) -> Unlearned:
        """Makes every model that inherits from `starts` forget `classes`, or the data that `forget` names.

        The settings supply missing arguments.  A `request` replaces all of them: one that its owners signed
        (`draft_request`), or a draft, which this run's accounts sign.  Making a request again after a crash
        continues it.  `method` may be an import path, which the run remembers.  `prepare` is called after the
        request has been checked and before any work on it.

        Raises:
            UnknownModelError, UnknownClassError, UnlearningError, SettingsError: no model was changed.
            QuorumError: the committee refused it.
            RunError: another request is unfinished, or another process leads one.
        """
        if classes is not None:
            if forget is not None:
                raise UnlearningError("a request takes `classes` or `forget`, not both: leave one out.")
            forget = Forget.of_classes(classes)
        with self.leading():
            request = request or self.drafted(starts, forget, paradigm, method)
            self._await(request)
            catalogue, job = self.catalogue(), self.context.journal.open_job()
            under_way = None if job is None else request_of(job)
            if not request.signatures:
                request = sign_request(self.context, catalogue, request)
            chosen = method_of(self.context, request)
            if under_way is not None:
                require_same(under_way, request)
            if prepare is not None:
                prepare()
            asked = under_way or request
            advice = self.advice(asked)
            lifecycle, kind = JobLifecycle(self.context), KINDS[Paradigm(asked.paradigm)]
            with lifecycle.job(
                kind, asked.model_dump_json(), lambda: bool(replaced_for(self.catalogue(), asked))
            ) as result:
                with on_engine(self.context) as context:
                    done = Unlearner(context, progress or Silent()).run(catalogue, asked, chosen)
                    unlearned = replace(done, advice=advice)
                lifecycle.confirm()
                lifecycle.forget()
                erasure = lifecycle.erase(lambda: self.erase_replaced(unlearned.nodes))
                excluded = lifecycle.excluded()
                result.update(kept(unlearned))
            self.events.carried_out(asked, unlearned.nodes.values(), unlearned.seconds)
            return replace(unlearned, erasure=erasure, excluded=excluded)

    def completed(self, request: Request) -> tuple[Job, Unlearned] | None:
        """The newest job and its outcome if it was the same request, so that `unlearn` has nothing to do.

        Returns None if there is no such job.
        """
        return recalled(self.context, request)

    def drafted(
        self,
        starts: Sequence[str] | None = None,
        forget: Forget | None = None,
        paradigm: Paradigm | str = Paradigm.PARALLEL,
        method: str | None = None,
    ) -> Request:
        """The unsigned request that `unlearn` makes of its arguments.  Raises as `unlearn`.

        Where it repeats the unfinished or the newest request, it has the method that was chosen then.
        """
        self.name_method(method)
        job, newest = self.context.journal.open_job(), newest_request(self.context)
        before = request_of(job) if job is not None else newest[1] if newest is not None else None
        drafted = draft_request(
            self.context, self.catalogue(), starts, forget, Paradigm(paradigm), method, before
        )
        if job is not None or before is None:
            return drafted
        return drafted.model_copy(update={"created": self.context.clock.now()})

    def draft_request(
        self,
        starts: Sequence[str] | None = None,
        forget: Forget | None = None,
        paradigm: Paradigm | str = Paradigm.PARALLEL,
        method: str | None = None,
    ) -> RequestFile:
        """An unsigned request, for the owners of its starts to sign elsewhere.  Raises as `unlearn`."""
        self.name_method(method)
        catalogue, live = self.catalogue(), self.contracts.live
        request = draft_request(self.context, catalogue, starts, forget, Paradigm(paradigm), method)
        return RequestFile.of(request, catalogue, live.chain_id, live.address)

    def advice(self, request: Request) -> Advice:
        """Why a request's method suits it, and its limits.  Raises as `unlearn`."""
        return Advice() if self.setup.is_adopted else advice_on(self.context, self.catalogue(), request)

    def verify(
        self,
        names: Sequence[str] | None = None,
        progress: Progress | None = None,
        decryptor: Decryptor | None = None,
        since: Path | None = None,
        checkpoint: Path | None = None,
    ) -> Verification:
        """Checks all or the named models against the chain and the store, with the weights still sealed.

        Also compares the histories of both chains; the newest decisions may be unfinished (`pending`).

        Args:
            decryptor: if given, also decrypts the weights whose keys it has.
            since: a file written as `checkpoint` before; unchanged parts of it are not checked again.
            checkpoint: the file to write if all checks pass.

        Raises ReorganisedError once if a chain has changed since the run last read it, and whenever it
        changed before the checkpoint; RunError or FormatError if `since` is no checkpoint of this run;
        RunError if no checkpoint can be written; SettingsError for a checkpoint of only some models.
        """
        if names is not None and (since or checkpoint):
            raise SettingsError("a checkpoint is of the whole chain: name no models with it.")
        chains = to_verify(self.contracts, since)
        verifier = chains.verifier(self.contracts, self.stores.live, decryptor)
        wanted = None
        if names is not None:
            catalogue = self.catalogue()
            wanted = [catalogue[name].position for name in names]
        count = len(verifier.changed() if wanted is None else wanted)
        with (progress or Silent()).stage("verify", count) as advance, self.stopwatch("verify"):
            return verified(chains, verifier, wanted, checkpoint, lambda done: advance(1), self.stores.live)

    def audit(
        self,
        remembered: tuple[StoredArchiveRecord, ...] = (),
        decryptor: Decryptor | None = None,
        progress: Progress | None = None,
    ) -> Audit:
        """Audits the archive: whether each position's history is whole, and begins with `remembered`.

        `decryptor`: also decrypts the versions whose keys it has.
        """
        archive, live = self.contracts.archive, self.contracts.live
        with (progress or Silent()).stage("audit", archive.length(), "records") as advance:
            audit = audit_archive(
                archive, live, self.stores.archive, remembered, decryptor, lambda done: advance(1)
            )
        self.events.archive_audited(audit)
        return audit

    def certify_erasure(self, request: Request, audit: AuditOutcome | None = None) -> ErasureCertificate:
        """A certificate of a completed request, signed by a quorum.  Raises as `issue`."""
        certificate = issue(self.context, request, audit)
        self.events.certified(certificate, audit)
        return certificate

    def alarms(self) -> tuple[RaisedAlarm, ...]:
        """The alarms that members raised on refusing a proposal, oldest first."""
        return raised_alarms(self.contracts.alarms)

    def _await(self, request: Request) -> None:
        """Waits until the creation time of a request that was made elsewhere.

        Raises UnlearningError if that is further ahead than two machines' clocks should differ.
        """
        clock = self.context.clock
        if not self.nodes.place.own and request.created > clock.now() + MAX_DRIFT:
            raise UnlearningError(
                f"the request says that it was made {request.created - clock.now()} s from now: set this "
                "machine's clock, or the clock of the machine that made it; then make and sign it again."
            )
        clock.wait_until(request.created)

    def administration(self) -> Administration:
        """Committee decisions other than on models."""
        return Administration(self.context)

    def expire(self) -> tuple[ReplacedVersion, ...]:
        """Destroys the auditors' keys of versions replaced longer ago than `archive.retention_days`.

        Raises SettingsError without that setting.
        """
        days = self.settings.archive.retention_days
        if days is None:
            raise SettingsError("archive.retention_days is not set: the archive's keys are kept for ever.")
        before = self.context.clock.now() - round(days * SECONDS_A_DAY)
        return expire(self._replaced(), self.context.keys.auditors, before)

    @contextmanager
    def publishing(self, kind: Kind, asked: str = "") -> Iterator[None]:
        """Runs a job that publishes.  The caller holds the lease."""
        lifecycle = JobLifecycle(self.context)
        with lifecycle.job(kind, asked, lambda: False):
            yield
            lifecycle.confirm()

    def erase_replaced(self, nodes: Mapping[str, ModelNode]) -> Erasure:
        """Has the members destroy the keys of the versions that a request's new nodes replaced."""
        keys, days = self.context.keys, self.settings.archive.retention_days
        versions = {name: node.redaction.version for name, node in nodes.items() if node.redaction}
        return erase(self._replaced(), versions, keys.keyring, keys.auditors, self.stores.live, days)

    def _replaced(self) -> ReplacedVersions:
        record = self.context.record
        return ReplacedVersions(record.catalogue, record.archive, self.stores.archive)
