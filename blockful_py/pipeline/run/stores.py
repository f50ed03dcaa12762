# SPDX-License-Identifier: Apache-2.0
"""The two stores of a run: folders of its own, or the IPFS nodes that its settings name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.storage.interface import FileStore
from blockful_py.storage.ipfs import IpfsStore
from blockful_py.storage.store import ContentStore


def live_store(run: RunDirectory) -> FileStore:
    """The store of the live chain's models.  Raises StorageError when it is unusable."""
    return _opened(run, run.live_store, run.settings.storage.api)


def archive_store(run: RunDirectory) -> FileStore:
    """The store of the archive's models.  Raises StorageError when it is unusable."""
    return _opened(run, run.archive_store, run.settings.storage.archive_api)


def _opened(run: RunDirectory, folder: Path, api: str | None) -> FileStore:
    return ContentStore(folder) if api is None else IpfsStore(api, run.settings.storage.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Stores:
    """The stores of a run: one for the live chain's models, one with every version for auditors."""

    live: FileStore
    archive: FileStore

    @classmethod
    def of(cls, run: RunDirectory) -> Stores:
        """The stores of `run`.  Raises StorageError when one of them is unusable."""
        return cls(live_store(run), archive_store(run))
