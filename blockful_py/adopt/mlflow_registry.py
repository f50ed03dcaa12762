# SPDX-License-Identifier: Apache-2.0
"""Reads MLflow's registry: each version of a registered model, its run's data sets and the models it used.

MLflow has no field for a model's parent, so the parents are the model inputs of the run that made the version
(`mlflow.log_input(model=...)`), and the tag `base_model` of the version or its run, with its kind in
`base_model_relation`, as in a card of the Hugging Face hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blockful_py.adopt.cards import RELATIONS, relation_in
from blockful_py.adopt.found import Found, FoundModel, datasets_of, edges_of
from blockful_py.errors import BlockfulError, FormatError
from blockful_py.extras import needed_by
from blockful_py.graph.kinds import EdgeKind

BASE, RELATION = "base_model", "base_model_relation"
PAGE = 1000


def read_registry(uri: str) -> Found:
    """The versions in a registry, as "model/version"; artifacts are not fetched.

    `uri`: of the tracking server or its database; empty for MLflow's own setting.  Raises FormatError if it
    cannot be read.
    """
    with needed_by("`blockful adopt mlflow:`"):
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException
    try:
        client = MlflowClient(uri or None, uri or None)
        versions = [*_versions(client)]
        runs = {each.run_id: client.get_run(each.run_id) for each in versions if each.run_id}
    except (MlflowException, OSError, ValueError) as error:
        raise FormatError(f"the registry {uri or 'of MLflow'} cannot be read: {str(error)[:200]}") from None
    by_model = {each.model_id: _source(each) for each in versions if getattr(each, "model_id", None)}
    models, refused = list[FoundModel](), dict[str, str]()
    for version in versions:
        source = _source(version)
        try:
            models.append(_found(version, runs.get(version.run_id), by_model))
        except BlockfulError as error:
            refused[source] = str(error)
    return Found(tuple(sorted(models, key=lambda model: model.source)), refused)


def _versions(client: Any) -> Iterator[Any]:
    token = None
    while True:
        page = client.search_model_versions(max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _source(version: Any) -> str:
    return f"{version.name}/{version.version}"


def _found(version: Any, run: Any, by_model: Mapping[str, str]) -> FoundModel:
    tags = {**(run.data.tags if run is not None else {}), **version.tags}
    relation = relation_in({RELATION: tags[RELATION]} if RELATION in tags else {})
    kind = relation or EdgeKind.FINE_TUNE
    inputs = run.inputs if run is not None else None
    used = [each.model_id for each in getattr(inputs, "model_inputs", None) or ()]
    unknown = sorted(set(used) - by_model.keys())
    named = [name.strip() for name in tags.get(BASE, "").split(",") if name.strip()]
    parents = [*(by_model.get(each, each) for each in used), *named]
    datasets = [each.dataset.name for each in getattr(inputs, "dataset_inputs", None) or ()]
    if len(parents) > 1 and relation is None:
        raise FormatError(
            f"it has {len(parents)} parents and no tag {RELATION} ({', '.join(RELATIONS)}): add it."
            f"{f' Not registered: {unknown[0]}.' if unknown else ''}"
        )
    return FoundModel(
        source=_source(version),
        edges=edges_of((parent, kind, None) for parent in parents),
        datasets=datasets_of(datasets),
    )
