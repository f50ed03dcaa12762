# SPDX-License-Identifier: Apache-2.0
"""Logs a run to MLflow: one MLflow run for the federation, with nested runs per model and request.

Every MLflow run has a tag `blockful.id`, by which a later process finds and continues it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from blockful_py.callbacks.events import (
    AuditDone,
    Callback,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)
from blockful_py.errors import SettingsError
from blockful_py.extras import needed_by

__all__ = ["MlflowCallback"]

EXPERIMENT = "blockful"
CERTIFICATE = "erasure.json"
"""Artefact of a request's run."""
FEDERATION, MODEL, REQUEST = "federation", "model", "request"


class MlflowCallback(Callback):
    """Tracks one or several runs.  Extra `mlflow`.

    By default, the server and experiment come from MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME ("blockful"
    if unset).  MLflow's own telemetry is switched off unless MLFLOW_DISABLE_TELEMETRY is set.

    Raises MissingExtraError without the extra, and SettingsError if the store cannot be opened.
    """

    def __init__(self, tracking_uri: str | None = None, experiment: str | None = None) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        with needed_by("MlflowCallback"):
            from mlflow import MlflowClient, MlflowException
        try:
            self._client = MlflowClient(tracking_uri)
        except ModuleNotFoundError as error:
            raise SettingsError(
                f"this store of MLflow needs the package {error.name}: `pip install mlflow` brings it. Or "
                "name a tracking server in MLFLOW_TRACKING_URI."
            ) from None
        except MlflowException as error:
            raise SettingsError(f"MLflow cannot open its store: {error}") from None
        self._name = experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        self._experiment: str | None = None
        self._runs: dict[str, str] = {}

    def training(self, event: ModelTrained) -> None:
        run = self._model(event.run, event.model)
        self._log(
            run,
            {**event.settings, "user": event.user, "round": event.round},
            {"accuracy": event.accuracy},
            self._lineage(event),
        )

    def publication(self, event: ModelPublished) -> None:
        run = self._model(event.run, event.model)
        published = {"position": event.position, "weights": event.weights, "version": 0}
        self._log(run, metrics={"accuracy": event.accuracy}, tags={**self._lineage(event), **published})
        self._client.set_terminated(run)

    def request(self, event: RequestDone) -> None:
        run = self._request(event.run, event.key, f"forget {event.forget}")
        for each in event.versions:
            told = {"ad_f": each.ad_f, "ad_r": each.ad_r}
            tags = {"version": each.version, "weights": each.weights or "withdrawn", "request": event.key}
            self._log(self._model(event.run, each.model), metrics=told, tags=tags, step=each.version)
        means = {
            f"mean_{name}": fmean(known)
            for name in ("ad_f", "ad_r")
            if (known := [x for each in event.versions if (x := getattr(each, name)) is not None])
        }
        seconds = {f"seconds/{stage}": taken for stage, taken in event.seconds.items()}
        self._log(
            run,
            {"method": event.method, "paradigm": event.paradigm, "forget": event.forget},
            {"replaced": len(event.versions), **means, **seconds},
            {"starts": ", ".join(event.starts), "models": ", ".join(each.model for each in event.versions)},
        )
        self._client.set_terminated(run)

    def audit(self, event: AuditDone) -> None:
        run = (
            self._federation(event.run) if event.request is None else self._request(event.run, event.request)
        )
        figures = {f"audit/{name}": value for name, value in event.figures.items()}
        tags = {"audit": event.digest, "audit.problems": "; ".join(event.problems)}
        self._log(run, metrics={"audit/passed": event.passed, **figures}, tags=tags)
        for model, known in event.models.items():
            told = {f"audit/{name}": value for name, value in known.items()}
            self._log(self._model(event.run, model), metrics=told)

    def certificate(self, event: CertificateIssued) -> None:
        run = self._request(event.run, event.request)
        self._log(run, tags={"certificate": hashlib.sha256(event.document).hexdigest()})
        self._client.log_text(run, event.document.decode(), CERTIFICATE)

    def _lineage(self, event: ModelTrained | ModelPublished) -> dict[str, str]:
        """The references by name, and by their MLflow runs."""
        parents = [self._model(event.run, name) for name in event.references]
        return {"references": ", ".join(event.references), "parents": ", ".join(parents)}

    def _log(
        self,
        run: str,
        params: Mapping[str, Any] | None = None,
        metrics: Mapping[str, float | None] | None = None,
        tags: Mapping[str, Any] | None = None,
        step: int = 0,
    ) -> None:
        """Logs parameters, metrics and tags; skips metrics that are None."""
        for name, value in (params or {}).items():
            self._client.log_param(run, name, value)
        for name, figure in (metrics or {}).items():
            if figure is not None:
                self._client.log_metric(run, name, float(figure), step=step)
        for name, value in (tags or {}).items():
            self._client.set_tag(run, f"blockful.{name}", value)

    def _federation(self, federation: str) -> str:
        return self._run(federation, FEDERATION, "", f"federation {federation[:8]}")

    def _model(self, federation: str, model: str) -> str:
        return self._run(federation, MODEL, model, model)

    def _request(self, federation: str, key: str, name: str = "request") -> str:
        return self._run(federation, REQUEST, key, name)

    def _run(self, federation: str, kind: str, key: str, name: str) -> str:
        """Id of an MLflow run; creates the run if it is missing."""
        identity = hashlib.sha256(json.dumps([federation, kind, key]).encode()).hexdigest()
        if identity not in self._runs:
            self._runs[identity] = self._found(identity) or self._made(federation, kind, identity, name)
        return self._runs[identity]

    def _found(self, identity: str) -> str | None:
        found = self._client.search_runs([self._in()], f"tags.`blockful.id` = '{identity}'", max_results=1)
        return str(found[0].info.run_id) if found else None

    def _made(self, federation: str, kind: str, identity: str, name: str) -> str:
        tags = {"blockful.id": identity, "blockful.kind": kind, "blockful.run": federation}
        if kind != FEDERATION:
            tags["mlflow.parentRunId"] = self._federation(federation)
        made = str(self._client.create_run(self._in(), tags=tags, run_name=name).info.run_id)
        if kind == FEDERATION:  # it has no end
            self._client.set_terminated(made)
        return made

    def _in(self) -> str:
        """Id of the experiment; creates it if it is missing."""
        if self._experiment is None:
            found = self._client.get_experiment_by_name(self._name)
            self._experiment = found.experiment_id if found else self._client.create_experiment(self._name)
        return self._experiment
