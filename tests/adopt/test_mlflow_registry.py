# SPDX-License-Identifier: Apache-2.0
"""MLflow's registry, filled by MLflow's own client."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.adopt.mlflow_registry import read_registry
from blockful_py.errors import FormatError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
"""MLflow takes seconds to make a store, and uses deprecated parts of it."""


def test_reads_versions_with_parents_and_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient
    from mlflow.entities import Dataset, DatasetInput

    monkeypatch.chdir(tmp_path)
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = MlflowClient(store, store)
    experiment = client.create_experiment("family", artifact_location=str(tmp_path / "artifacts"))
    run = client.create_run(experiment)
    wiki = Dataset(name="wiki", digest="1", source_type="local", source="{}")
    client.log_inputs(run.info.run_id, [DatasetInput(wiki)])
    client.create_registered_model("base")
    client.create_registered_model("tuned")
    client.create_registered_model("mixed")
    client.create_model_version("base", str(tmp_path), run_id=run.info.run_id)
    client.create_model_version("tuned", str(tmp_path), tags={"base_model": "base/1"})
    client.create_model_version("mixed", str(tmp_path), tags={"base_model": "base/1, tuned/1"})
    found = read_registry(store)
    models = {model.source: model for model in found.models}
    assert models["base/1"].datasets == ("wiki",)
    assert [(each.parent, each.kind) for each in models["tuned/1"].edges] == [("base/1", "fine_tune")]
    assert "2 parents and no tag base_model_relation" in found.refused["mixed/1"]


def test_a_registry_that_is_none_is_refused() -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read_registry("sqlite:////proc/no/such/place.db")
