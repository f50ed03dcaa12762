# SPDX-License-Identifier: Apache-2.0
"""Checks a changed federation file before the party agrees to it."""

from __future__ import annotations

from dataclasses import replace

from blockful_py.errors import RefusedError
from blockful_py.pipeline.run.catching_up import following
from blockful_py.pipeline.run.directory import Party
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.federation_file import MAX_BYTES, MAX_PUBLIC_BYTES, FederationFile, uri_of_digest
from blockful_py.record.file_change import Difference, differences, require_allowed
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Bytes32, Uri


class FileChanges:
    """Compares new federation files with the party's current one."""

    def __init__(self, opened: OpenedRun) -> None:
        self._opened = opened
        self._run = opened.run
        self._store = opened.stores.live

    def review(self, digest: Bytes32) -> tuple[Difference, ...]:
        """The changes that a file makes, after it and its public files have been stored here.

        Raises RefusedError for a change that is not allowed; StorageError when a file cannot be fetched;
        SettingsError or LearningError for rules that this party cannot follow.
        """
        before, after = self._file(bytes.fromhex(self.require_party().federation)), self._file(digest)
        changed = differences(before, after)
        require_allowed(changed, self.open_requests())
        settings, party = following(self._run, after, digest)
        setup_of(replace(self._run, settings=settings, party=replace(party, user=None)), self._store)
        return changed

    def files(self, digest: Bytes32) -> dict[Uri, int]:
        """The file and the public files that it names, each with its maximum size in bytes."""
        public = self._file(digest).public
        named = (parse_cid(public.measuring), parse_cid(public.initial))
        return {uri_of_digest(digest): MAX_BYTES, **dict.fromkeys(named, MAX_PUBLIC_BYTES)}

    def open_requests(self) -> tuple[int, ...]:
        """Numbers of the admitted requests that are not completed yet."""
        return tuple(each.number for each in self._opened.docket.admitted() if each.stage.is_open)

    def require_party(self) -> Party:
        """The party whose run it is.  Raises RefusedError for a laboratory's run."""
        if self._run.party is None:
            raise RefusedError("a laboratory has no federation file: change its settings instead.")
        return self._run.party

    def _file(self, digest: Bytes32) -> FederationFile:
        return FederationFile.parse(self._store.read(uri_of_digest(digest), MAX_BYTES))
