# SPDX-License-Identifier: Apache-2.0
"""Sources of the data sets, and whether each is on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from blockful_py.errors import LearningError
from blockful_py.learning.datasets.digits import digits_file
from blockful_py.learning.datasets.registry import DATASETS, GROUP, SCHEMAS
from blockful_py.learning.datasets.shards import Schema
from blockful_py.learning.plugins import known
from blockful_py.settings import DataOptions

CACHED = "the Hugging Face hub's cache"


@dataclass(frozen=True, slots=True)
class Source:
    """A data set's source.

    Attributes:
        get: how to get the data set.
        found: its place on this machine; None if it is not here.
    """

    name: str
    get: str
    found: str | None


def sources() -> Iterator[Source]:
    """The sources of all named data sets, by ascending name; loads none of them."""
    for name in known(DATASETS, GROUP):
        if name in SCHEMAS:
            yield Source(name, _how_to_get(SCHEMAS[name]), _place_of(SCHEMAS[name]))
        elif name == "digits":
            yield Source(name, "comes with scikit-learn", _digits())
        elif name in DATASETS:
            yield Source(name, "drawn by seed", "this package")
        else:
            yield Source(name, f"an entry point of {GROUP}", "an installed package")


def _digits() -> str | None:
    try:
        return str(digits_file())
    except LearningError:
        return None


def _how_to_get(schema: Schema) -> str:
    hub = f"{schema.hub} on the Hugging Face hub (fetched when it is asked for)"
    folder = "its parquet or CSV files in a folder that learning.data_files names"
    if schema.idx is None:
        return f"{hub}, or {folder}"
    folder = folder.replace("parquet or CSV", "parquet, CSV or idx")
    return f"apt-get install {schema.idx.package}, or {hub}, or {folder}"


def _place_of(schema: Schema) -> str | None:
    folder = schema.folder(DataOptions())
    if folder is not None:
        return str(folder)
    return CACHED if _is_cached(schema.hub) else None


def _is_cached(hub: str) -> bool:
    """Whether the hub's cache has files of the data set."""
    if find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    place = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=hub, repo_type="dataset") / "snapshots"
    return place.is_dir() and any(place.iterdir())
