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
    """Where the models of the live chain are.  Raises StorageError when it cannot be used."""
    return _opened(run, run.live_store, run.settings.storage.api)


def archive_store(run: RunDirectory) -> FileStore:
    """Where the archive's models are.  Raises StorageError when it cannot be used."""
    return _opened(run, run.archive_store, run.settings.storage.archive_api)


def _opened(run: RunDirectory, folder: Path, api: str | None) -> FileStore:
    return ContentStore(folder) if api is None else IpfsStore(api, run.settings.storage.seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Stores:
    """Where a run keeps its models: those of the live chain, and every version for auditors."""

    live: FileStore
    archive: FileStore

    @classmethod
    def of(cls, run: RunDirectory) -> Stores:
        """Raises StorageError when one of them cannot be used."""
        return cls(live_store(run), archive_store(run))
