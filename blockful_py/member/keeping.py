# SPDX-License-Identifier: Apache-2.0
"""Keeps what stands, so that owners may switch off: a member serves these files to everybody by CID."""

from __future__ import annotations

from collections.abc import Iterable

from blockful_py.errors import BlockfulError, RunError
from blockful_py.member.office import MemberOffice, MemberView
from blockful_py.record.model_node import parse_node
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.federated import FederatedStore
from blockful_py.types import Codec, Uri


class KeepingDuty:
    """Fetches and keeps, in a federation of machines, the files that the record names.

    The live store has the public files, the filed requests, and the nodes and sealed files of the current
    versions; what is current no more goes.  The archive's store has every version.
    """

    name = "files"

    def __init__(self, office: MemberOffice) -> None:
        self._office = office
        self._settled: str | None = None

    def step(self) -> None:
        """Raises the first error of a file that could not be had; the others are kept."""
        try:
            view = self._office.view()
        except RunError:
            return  # the run may come after the member
        if view.run.party is None:
            return
        block = view.contracts.live.newest_block()
        if block == self._settled:
            return
        live, archive = view.stores.live, view.stores.archive
        if not isinstance(live, FederatedStore) or not isinstance(archive, FederatedStore):
            return  # IPFS nodes keep files
        problems = _kept(live, _public(view))
        if view.contracts.followers is not None:
            current = _current(view)
            problems += _kept(live, current)
            old, more = _archived(view, archive)
            problems += more
            if not more:
                for uri in old - set(current):
                    live.delete(uri)
        if problems:
            raise problems[0]
        self._settled = block


def _public(view: MemberView) -> list[Uri]:
    """What everybody needs: the files that the federation file names, itself, and the requests."""
    party = view.run.party
    if party is None:
        return []
    files = [parse_cid(party.measuring), parse_cid(party.initial)]
    if view.contracts.participants.file_digest() == bytes.fromhex(party.federation):
        files.append(Uri(bytes.fromhex(party.federation), Codec.RAW))
    return files + [filed.uri for filed in view.contracts.participants.filed_requests()]


def _current(view: MemberView) -> list[Uri]:
    """Nodes and sealed files of the current versions."""
    models = view.catalogue.read().models.values()
    return [uri for placed in models for uri in (placed.uri, *placed.node.sealed)]


def _archived(view: MemberView, store: FederatedStore) -> tuple[set[Uri], list[BlockfulError]]:
    """All archived versions' files, kept in the archive's store; and why some are not."""
    files: set[Uri] = set()
    problems: list[BlockfulError] = []
    archive = view.contracts.archive
    for stored in archive.records(0, archive.length()):
        try:
            node = parse_node(store.read(stored.record.uri))
        except BlockfulError as error:
            problems.append(error)
            continue
        files |= {stored.record.uri, *node.sealed}
        problems += _kept(store, [node.weights])
    return files, problems


def _kept(store: FederatedStore, files: Iterable[Uri]) -> list[BlockfulError]:
    problems = []
    for uri in files:
        try:
            store.keep(uri)
        except BlockfulError as error:
            problems.append(error)
    return problems
