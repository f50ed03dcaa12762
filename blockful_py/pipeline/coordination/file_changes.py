# SPDX-License-Identifier: Apache-2.0
"""Changes of the federation file, as a party judges them before it agrees."""

from __future__ import annotations

from dataclasses import replace

from blockful_py.errors import BlockfulError, RefusedError
from blockful_py.pipeline.run.catching_up import following
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import Party, RunDirectory
from blockful_py.pipeline.run.stores import Stores
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.catalogue import CatalogueReader
from blockful_py.record.federation_file import MAX_BYTES, FederationFile, uri_of_digest
from blockful_py.record.file_change import Difference, differences, require_allowed
from blockful_py.record.parts import has_lapsed, missing, request_from_bytes
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.interface import FileStore
from blockful_py.types import Uri


class FileChanges:
    """Judges new federation files beside the one that a party has."""

    def __init__(self, run: RunDirectory, contracts: Contracts, store: FileStore) -> None:
        self._run = run
        self._contracts = contracts
        self._store = store

    def review(self, digest: bytes) -> tuple[Difference, ...]:
        """What a file changes, once it and the public files that it names are kept here.

        Raises RefusedError for a change that is not allowed; StorageError when a file cannot be had;
        SettingsError or LearningError for rules that this party cannot go by.
        """
        before, after = self._file(bytes.fromhex(self.require_party().federation)), self._file(digest)
        changed = differences(before, after)
        require_allowed(changed, self.open_requests())
        settings, party = following(self._run, after, digest)
        setup_of(replace(self._run, settings=settings, party=replace(party, user=None)), self._store)
        return changed

    def files(self, digest: bytes) -> tuple[Uri, ...]:
        """The file and the public files that it names."""
        public = self._file(digest).public
        return uri_of_digest(digest), parse_cid(public.measuring), parse_cid(public.initial)

    def open_requests(self) -> tuple[int, ...]:
        """Numbers of the requests that still wait for parts, or whose parts are yet to be carried out."""
        registry, live = self._contracts.participants, self._contracts.live
        archived = Stores.of(self._run, self._contracts).archive
        catalogue = CatalogueReader(live, self._store, archived).read()
        height, waiting = live.node.block_number(), []
        for filed in registry.filed_requests():
            try:
                data = self._store.read(filed.uri)
                request = request_from_bytes(data, live.chain_id, live.address, catalogue)
            except BlockfulError:
                continue  # nobody carries out a request that is unreadable or not signed by its owners
            handed_in = registry.hand_ins(filed.number)
            if missing(catalogue, request) and not has_lapsed(
                catalogue, request, handed_in, filed.deadline, height
            ):
                waiting.append(filed.number)
        return tuple(waiting)

    def require_party(self) -> Party:
        """Whose run it is.  Raises RefusedError for a laboratory's."""
        if self._run.party is None:
            raise RefusedError("a laboratory has no federation file: change its settings instead.")
        return self._run.party

    def _file(self, digest: bytes) -> FederationFile:
        return FederationFile.parse(self._store.read(uri_of_digest(digest), MAX_BYTES))
