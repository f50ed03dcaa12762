# SPDX-License-Identifier: Apache-2.0
"""A run in MLflow's store, read back by MLflow's own client."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from blockful_py.callbacks.mlflow_callback import CERTIFICATE, EXPERIMENT, MlflowCallback
from blockful_py.callbacks.told import Callbacks, Event
from blockful_py.errors import SettingsError
from tests.callbacks.events import ALL, CERTIFIED, CHILD, DONE, KEY, MODELS, PUBLISHED, ROOT, RUN
from tests.federations import AFFECTED, GRAPH, TOML

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "track-with-mlflow.md"
BLOCKS = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S))

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
"""MLflow uses deprecated parts of its store and its framework."""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without experiments of ours: MLflow takes seconds to make one."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("empty") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(autouse=True)
def store(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of this test alone; artefacts lie in the folder that MLflow is called in."""
    shutil.copy(empty, tmp_path)
    monkeypatch.chdir(tmp_path)
    return "sqlite:///mlflow.db"


class Tracked:
    """What MLflow holds of one experiment."""

    def __init__(self, store: str, experiment: str = EXPERIMENT) -> None:
        from mlflow import MlflowClient

        self.client = MlflowClient(store)
        (found,) = [each for each in self.client.search_experiments() if each.name == experiment]
        self.runs = {run.info.run_name: run for run in self.client.search_runs([found.experiment_id])}

    def __getitem__(self, name: str) -> Any:
        return self.runs[name]

    def tags(self, name: str) -> dict[str, str]:
        """Tags of ours."""
        return {
            tag.removeprefix("blockful."): value
            for tag, value in self[name].data.tags.items()
            if tag.startswith("blockful.")
        }

    def steps(self, name: str, metric: str) -> dict[int, float]:
        history = self.client.get_metric_history(self[name].info.run_id, metric)
        return {each.step: each.value for each in history}

    def parents(self, name: str) -> str:
        """Name of the run that this one is nested in."""
        above = self[name].data.tags["mlflow.parentRunId"]
        return next(each.info.run_name for each in self.runs.values() if each.info.run_id == above)

    def artefact(self, name: str) -> bytes:
        path = self.client.download_artifacts(self[name].info.run_id, CERTIFICATE)
        return Path(path).read_bytes()


def told(store: str, *events: Event) -> Tracked:
    callbacks = Callbacks(given=[MlflowCallback(store)])
    for event in events:
        callbacks.tell(event)
    return Tracked(store)


@pytest.mark.slow  # MLflow makes its database
def test_a_run_is_nested_and_has_its_lineage(store: str) -> None:
    tracked = told(store, *ALL)
    federation = f"federation {RUN[:8]}"
    assert tracked.runs.keys() == {federation, "a", "s", "t", "forget class 3"}
    assert {tracked.parents(name) for name in ("a", "s", "t", "forget class 3")} == {federation}
    assert tracked.tags("s")["references"] == "a"
    assert tracked.tags("s")["parents"] == tracked["a"].info.run_id
    assert tracked.tags("a")["parents"] == ""
    assert tracked["s"].data.params == {"epochs": "2", "model": "cnn", "user": "2", "round": "1"}
    assert tracked.steps("s", "accuracy") == {0: 0.5}
    assert tracked.tags("s")["position"] == PUBLISHED.position


@pytest.mark.slow
def test_versions_are_steps_and_a_withdrawn_one_has_no_figures(store: str) -> None:
    tracked = told(store, *ALL)
    assert tracked.steps("s", "ad_f") == {1: 0.25}
    assert tracked.steps("s", "ad_r") == {1: 0.5}
    assert (tracked.tags("s")["version"], tracked.tags("s")["request"]) == ("1", KEY)
    assert tracked.tags("t")["weights"] == "withdrawn"
    assert tracked["t"].data.metrics == {}
    request = tracked["forget class 3"].data
    assert request.params == {"method": "retrain {}", "paradigm": "parallel", "forget": "class 3"}
    assert (request.metrics["mean_ad_f"], request.metrics["replaced"]) == (0.25, 2)
    assert request.metrics["seconds/unlearn"] == 1.5


def test_audits_and_certificates_are_with_what_they_are_about(store: str) -> None:
    tracked = told(store, *ALL)
    federation = tracked[f"federation {RUN[:8]}"].data
    assert (federation.metrics["audit/records"], federation.metrics["audit/passed"]) == (3, 0)
    assert federation.tags["blockful.audit.problems"] == "record 0 is damaged"
    assert tracked["forget class 3"].data.metrics["audit/passed"] == 1
    assert tracked["s"].data.metrics["audit/auc"] == MODELS.models["s"]["auc"]
    assert tracked.artefact("forget class 3") == CERTIFIED.document
    digest = hashlib.sha256(CERTIFIED.document).hexdigest()
    assert tracked.tags("forget class 3")["certificate"] == digest


def test_another_process_goes_on_in_the_same_runs(store: str) -> None:
    before = told(store, ROOT, CHILD)
    after = told(store, CHILD, PUBLISHED, DONE)
    assert {name: after[name].info.run_id for name in ("a", "s")} == {
        name: before[name].info.run_id for name in ("a", "s")
    }
    assert len(after.runs) == 5


def test_the_environment_names_store_and_experiment(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "of the environment")
    callbacks = Callbacks(["mlflow"])
    callbacks.tell(ROOT)
    assert Tracked(store, "of the environment").runs.keys() == {f"federation {RUN[:8]}", "a"}


def test_a_server_that_is_down_harms_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    Callbacks(given=[MlflowCallback("http://127.0.0.1:1")]).tell(ROOT)
    assert "callback MlflowCallback.training failed; the work continues" in caplog.text


def test_a_store_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")

    monkeypatch.setattr("mlflow.MlflowClient", without)
    with pytest.raises(SettingsError, match="needs the package sqlalchemy: `pip install mlflow` brings it"):
        MlflowCallback()


def test_telemetry_is_off_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY", raising=False)
    MlflowCallback("sqlite:///mlflow.db")
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")
    MlflowCallback("sqlite:///mlflow.db")
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "false"


def test_the_documented_script_tracks_a_federation(store: str, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(TOML, encoding="utf-8")
    exec(compile(BLOCKS["tracked"], "tracked.py", "exec"), {})  # noqa: S102
    tracked = Tracked(store, "my federation")
    models = {name for name in tracked.runs if tracked.tags(name)["kind"] == "model"}
    assert models == GRAPH.keys()
    for name, references in GRAPH.items():
        assert set(filter(None, tracked.tags(name)["references"].split(", "))) == set(references)
        parents = {tracked[each].info.run_id for each in references}
        assert set(filter(None, tracked.tags(name)["parents"].split(", "))) == parents
        assert set(tracked.steps(name, "accuracy")) == {0}
        assert (set(tracked.steps(name, "ad_f")) == {1}) is (name in AFFECTED)
    (request,) = [name for name in tracked.runs if tracked.tags(name)["kind"] == "request"]
    assert request == "forget class 3"
    document = tracked.artefact(request)
    assert b"erasure" in document
    (federation,) = [name for name in tracked.runs if tracked.tags(name)["kind"] == "federation"]
    assert tracked[federation].data.metrics["audit/passed"] == 1


def test_the_documented_callback_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(BLOCKS["notes"], "notes.py", "exec"), namespace)  # noqa: S102
    callbacks = Callbacks(given=[namespace["Notes"]()])
    for event in ALL:
        callbacks.tell(event)
    assert capsys.readouterr().out.splitlines() == [
        "s from ('a',) at 1:0",
        "s version 1 AD_f 0.25",
        "t version 1 AD_f None",
    ]
