# SPDX-License-Identifier: Apache-2.0
"""Keeps the files that the record names, and removes others after a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.crypto.envelope import MAX_SEALED_BYTES, sealed_size
from blockful_py.errors import BlockfulError, StorageError
from blockful_py.keys.shown_files import MAX_SHOWN_BYTES
from blockful_py.learning.form import HEADER_SLACK
from blockful_py.member.office import MemberOffice
from blockful_py.member.view import MemberView
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.replays import Replays
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.pipeline.run.recipients import declared_files
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.federation_file import MAX_BYTES, MAX_PUBLIC_BYTES
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.interface import FileStore
from blockful_py.storage.store import ContentStore
from blockful_py.types import ArchiveReason, Codec, RequestState, Uri

Limits = Mapping[Uri, int]
"""Files, each with its maximum size in bytes."""

UNNAMED_SECONDS = 3600.0
"""Time to keep blocks and files that no current version and no open proposal names."""
LOOK_SECONDS = 60.0
"""Maximum time between two checks when there is no new block."""
RETRY_SECONDS = 5.0
"""Time to the next check when a file could not be fetched."""
EXPIRY_SECONDS = 60.0
"""Time between two removals of expired arrivals."""
UNNAMED_BYTES = 16 * 2**30
"""Maximum bytes of all kept files without a name in the record."""


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """A kept file that the record does not name: the time of this finding, and its bytes."""

    since: float
    size: int


class KeepingDuty:
    """Fetches named files that this member lacks, and removes files that the record does not name.

    A file is removed after this process has found it unnamed for UNNAMED_SECONDS without a break, so a node
    may lag for a while without loss.  It is removed earlier if such files exceed UNNAMED_BYTES.  A file of a
    replaced version is removed at once, since the committee certifies its erasure.
    """

    name = "files"

    def __init__(
        self,
        store: FederatedStore,
        named: Callable[[], Mapping[Uri, int]],
        now: Callable[[], float] = time.monotonic,
        replaced: Callable[[], Collection[Uri]] = tuple,
    ) -> None:
        """Keeps in `store` the files that `named` returns, each with its maximum bytes.

        `named` covers current versions and open proposals, and raises BlockfulError while they are unknown.
        `replaced` returns the files of replaced versions according to the record.
        """
        self._store = store
        self._named = named
        self._replaced = replaced
        self._now = now
        self._unnamed: dict[Uri, _Unnamed] = {}
        self._expired = -math.inf

    def step(self) -> None:
        """Fetches and removes files; raises the last error only after all other files are fetched."""
        named = self._named()
        problem: BlockfulError | None = None
        for uri, limit in named.items():
            try:
                self._store.keep(uri, limit)
            except StorageError as error:
                problem = error
        self._remove(named)
        if self._now() >= self._expired + EXPIRY_SECONDS:
            self._expired = self._now()
            self._store.arrivals.expire(UNNAMED_SECONDS)
        if problem is not None:
            raise problem

    def _remove(self, named: Collection[Uri]) -> None:
        now = self._now()
        replaced = [uri for uri in self._replaced() if uri not in named and self._store.has(uri)]
        self._store.delete(*replaced)
        unnamed = [uri for uri in self._store if uri not in named]
        self._unnamed = {uri: self._unnamed.get(uri) or _Unnamed(now, self._size(uri)) for uri in unnamed}
        total = sum(each.size for each in self._unnamed.values())
        late = []
        for uri, each in sorted(self._unnamed.items(), key=lambda item: item[1].since):
            if each.since <= now - UNNAMED_SECONDS or total > UNNAMED_BYTES:
                late.append(uri)
                total -= each.size
        self._store.delete(*late)

    def _size(self, uri: Uri) -> int:
        try:
            return self._store.own.size(uri)
        except StorageError:  # its root is damaged
            return 0


class FilesDuty:
    """Keeps the files of a member in a federation of machines, where it has its own stores.

    The live store has the public files, the admitted requests, the parts of open requests, and the nodes and
    sealed files of current versions.  The archive's store has the node and the weights of every version since
    it became current.  All members' live stores lose a replaced version at the same time.
    """

    name = "files"

    def __init__(self, office: MemberOffice, now: Callable[[], float] = time.monotonic) -> None:
        self._office = office
        self._now = now
        self._of: MemberView | None = None
        self._duties: tuple[KeepingDuty, ...] = ()
        self._looked: tuple[str, float] = ("", -math.inf)
        self._problem: BlockfulError | None = None

    def step(self) -> None:
        """Runs the duties after each new block of the live chain, every minute, and soon after an error.

        Raises the errors of `KeepingDuty.step`; between two runs, repeats the last one.
        """
        view = self._office.view_if_any()
        if view is None:
            return
        block = view.contracts.live.newest_block()
        pause = LOOK_SECONDS if self._problem is None else RETRY_SECONDS
        if block == self._looked[0] and self._now() < self._looked[1] + pause:
            self._raise_problem()
            return
        if view is not self._of:
            self._of = view
            self._duties = _duties(view)
        self._problem = None
        for duty in self._duties:
            try:
                duty.step()
            except StorageError as error:
                self._problem = error
        self._looked = (block, self._now())
        self._raise_problem()

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise self._problem


def _duties(view: MemberView) -> tuple[KeepingDuty, ...]:
    """One duty for each store; the live store loses a replaced version once the archive's store has it."""
    kept = kept_files(view)
    if not kept:
        return ()
    (archive, every_version), (live, named) = kept
    return (
        KeepingDuty(archive, every_version),
        KeepingDuty(live, named, replaced=partial(_replaced, view, archive.own, NodeFiles(archive.own))),
    )


def kept_files(view: MemberView) -> tuple[tuple[FederatedStore, Callable[[], Limits]], ...]:
    """The stores of a member, each with a function that names the files to keep there.

    Empty in a laboratory, and when IPFS nodes keep the files.
    """
    live, archive = view.stores.live, view.stores.archive
    if not (isinstance(live, FederatedStore) and isinstance(archive, FederatedStore)):
        return ()
    declared = _Declared(view)
    return (
        (archive, partial(_every_version, view, NodeFiles(archive))),
        (live, lambda: _merged(_public(view), _current(view), _handed_in(view), declared())),
    )


class _Declared:
    """The files on recipients of models, if they count and can be read.

    They are read again for another file or catalogue, and while one cannot be read.
    """

    def __init__(self, view: MemberView) -> None:
        self._view = view
        self._seen: tuple[int, Catalogue] | None = None
        self._files: Limits = {}

    def __call__(self) -> Limits:
        view = self._view
        number = len(view.contracts.participants.declarations())
        if view.contracts.followers is None or not number:
            return {}
        catalogue = view.record.catalogue.read()
        if self._seen is None or self._seen[0] != number or self._seen[1] is not catalogue:
            self._files, complete = declared_files(view.contracts, catalogue, view.stores.live)
            self._seen = (number, catalogue) if complete else None
        return self._files


class NodeFiles:
    """The files of a version, by its node: the node itself, its weights, then its increments."""

    def __init__(self, store: FileStore) -> None:
        self._store = store
        self._files: dict[Uri, tuple[Uri, ...]] = {}

    def __getitem__(self, node: Uri) -> tuple[Uri, ...]:
        """Reads the node if necessary.  Raises StorageError when it is unavailable."""
        if node not in self._files:
            self._files[node] = (node, *parse_node(self._store.read(node, MAX_NODE_BYTES)).sealed)
        return self._files[node]


def _public(view: MemberView) -> Limits:
    """Files for everybody: federation files, current and proposed, the files they name, and requests."""
    party, participants = view.run.party, view.contracts.participants
    if party is None or participants.file_digest() is None:
        return {}  # they exist only after the federation is founded
    digest = bytes.fromhex(party.federation)
    own = [Uri(digest, Codec.RAW)] if participants.file_digest() == digest else []
    requests = [filed.uri for filed in participants.filed_requests() if _is_kept(view, filed)]
    public = [parse_cid(party.measuring), parse_cid(party.initial)]
    return _merged(
        dict.fromkeys(requests, MAX_REQUEST_BYTES),
        dict.fromkeys(own, MAX_BYTES),
        dict.fromkeys(public, MAX_PUBLIC_BYTES),
        view.agreed_files(),
    )


def _current(view: MemberView) -> Limits:
    if view.contracts.followers is None:
        return {}
    models, most = view.record.catalogue.read().models.values(), _most_of_weights(view)
    return _merged(*(_of_version(placed.uri, placed.node, most) for placed in models))


def _is_kept(view: MemberView, filed: FiledRequest) -> bool:
    """Whether a request's file is kept: always if admitted; if undecided, only once it has arrived."""
    if filed.state is RequestState.FILED:
        return view.stores.live.has(filed.uri)
    return filed.is_admitted


def _handed_in(view: MemberView) -> Limits:
    """The parts of requests that are not executed yet, as far as they can be read here.

    With them, the files that show open requests' trainings to auditors.  Nodes of auxiliary models stay: by
    them a member finds the keys to destroy once a request is over.  Parts that do not count are not fetched
    for it.
    """
    if view.contracts.followers is None:
        return {}
    most, files = _most_of_weights(view), list[Limits]()
    commitments, replays = Commitments(view.contracts.participants, view.stores.live), Replays(view.contracts)
    for status in view.docket.admitted():
        if status.stage.is_open:
            files.append(dict.fromkeys(replays.shown(status, commitments), MAX_SHOWN_BYTES))
        parts = status.parts if status.stage.is_open else status.auxiliary_parts
        unused = filter(view.stores.live.has, status.unused_parts)
        files.append(dict.fromkeys(unused, MAX_NODE_BYTES))
        for uri in parts.values():
            with suppress(BlockfulError):
                node = parse_node(view.stores.live.read(uri, MAX_NODE_BYTES))
                of_node = {uri: MAX_NODE_BYTES}
                files.append(_of_version(uri, node, most) if status.stage.is_open else of_node)
    return _merged(*files)


def _of_version(uri: Uri, node: ModelNode, most: int) -> Limits:
    """A version's node, its weights and increments of at most `most` bytes, and its owner's other files."""
    weights = node.models if node.sealed else ()
    disclosed = set(node.sealed) - set(weights)
    return {
        **dict.fromkeys(disclosed, MAX_SEALED_BYTES),
        **dict.fromkeys(weights, most),
        uri: MAX_NODE_BYTES,
    }


def _most_of_weights(view: MemberView) -> int:
    """Bytes of sealed weights, which have the form of the shared initialisation."""
    party, store = view.run.party, view.stores.live
    if party is None or not isinstance(store, FederatedStore):
        return MAX_SEALED_BYTES
    initial = parse_cid(party.initial)
    store.keep(initial, MAX_PUBLIC_BYTES)
    return sealed_size(store.own.size(initial) + HEADER_SLACK)


def _merged(*limits: Limits) -> Limits:
    """All files; a file named several times may have the largest of its limits."""
    merged: dict[Uri, int] = {}
    for uri, limit in (item for each in limits for item in each.items()):
        merged[uri] = max(limit, merged.get(uri, 0))
    return merged


def _replaced(view: MemberView, archive: ContentStore, files: NodeFiles) -> list[Uri]:
    """Nodes and sealed files of replaced versions whose node and weights are in the archive's store.

    Empty while this member leads a request.
    """
    if view.contracts.followers is None or request_under_way(view.run.journal) is not None:
        return []
    uris: list[Uri] = []
    for stored in view.record.archive.read():
        record = stored.record
        if record.reason is ArchiveReason.SUPERSEDED and archive.has(record.uri):
            with suppress(StorageError):  # the archive's node is damaged
                version = files[record.uri]
                uris += version if all(archive.has(uri) for uri in version[1:2]) else ()
    return uris


def _every_version(view: MemberView, files: NodeFiles) -> Limits:
    if view.contracts.followers is None:
        return {}
    archived = (stored.record.uri for stored in view.record.archive.read())
    current = (placed.uri for placed in view.record.catalogue.read().models.values())
    nodes, weights = dict.fromkeys((*archived, *current), MAX_NODE_BYTES), list[Uri]()
    for node in nodes:
        with suppress(StorageError):  # fetched or reported under its own name
            weights += files[node][1:2]
    return _merged(nodes, dict.fromkeys(weights, _most_of_weights(view)))
