# SPDX-License-Identifier: Apache-2.0
"""Contracts and stores that stop the job at a chosen moment, like a power cut."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import Call
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.errors import ChainError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import Followers, open_contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.storage.store import ContentStore
from blockful_py.types import Receipt, Uri

Sent = tuple[Receipt | ChainError, ...]
Send = Callable[[Sequence[Call]], Sent]


class PowerCut(BaseException):
    """A simulated power cut, which no code handles."""


def cut() -> None:
    raise PowerCut


def die() -> None:
    """Ends the process like a power cut."""
    os.kill(os.getpid(), signal.SIGKILL)


class Fuse:
    """A fuse that blows at the moment `blows_at`, counted from 0, or never if that is None."""

    def __init__(self, blows_at: int | None, blow: Callable[[], None] = cut) -> None:
        self.blows_at = blows_at
        self._blow = blow
        self.moments = 0

    def pass_by(self) -> None:
        self.moments += 1
        if self.blows_at is not None and self.moments > self.blows_at:
            self._blow()

    def cutting(self, send: Send, calls: Sequence[Call]) -> Sent:
        """Sends the calls before the one at which the fuse blows."""
        whole = len(calls) if self.blows_at is None else self.blows_at - self.moments
        sent = send(calls[:whole]) if whole > 0 else ()
        for _ in calls:
            self.pass_by()
        return sent


class FusedArchive(ArchiveRegistryContract):
    fuse: Fuse

    def send_each(self, calls: Sequence[Call]) -> Sent:
        return self.fuse.cutting(super().send_each, calls)


class FusedLive(LiveChainContract):
    fuse: Fuse

    def send_each(self, calls: Sequence[Call]) -> Sent:
        return self.fuse.cutting(super().send_each, calls)


class FusedStore(ContentStore):
    """A store that asks its fuse before every addition or deletion."""

    adding: Fuse = Fuse(None)
    deleting: Fuse = Fuse(None)

    def add(self, data: bytes) -> Uri:
        self.adding.pass_by()
        return super().add(data)

    def add_each(self, files: Iterable[Iterable[bytes]]) -> tuple[Uri, ...]:
        return super().add_each(self._each(files))

    def _each(self, files: Iterable[Iterable[bytes]]) -> Iterator[Iterable[bytes]]:
        for data in files:
            self.adding.pass_by()
            yield data

    def delete(self, *uris: Uri) -> None:
        for uri in uris:
            self.deleting.pass_by()
            super().delete(uri)


def fused(
    directory: Path,
    nodes: Nodes,
    *,
    sending: int | None = None,
    adding: int | None = None,
    deleting: int | None = None,
    blow: Callable[[], None] = cut,
) -> Federation:
    """The federation of a run directory, which stops before the given transaction, addition or deletion."""
    run = RunDirectory.open(directory)
    deployed = open_contracts(nodes, run.deployments)
    fuse = Fuse(sending, blow)
    archive = FusedArchive(nodes.archive, deployed.archive.address, nodes.archive_sender)
    live = FusedLive(nodes.live, deployed.live.address, nodes.live_sender)
    archive.fuse = live.fuse = fuse
    contracts = replace(deployed, live=live, followers=Followers(deployed.mirror, archive))
    federation = Federation(run, nodes, contracts)
    store = FusedStore(run.live_store)
    store.adding, store.deleting = Fuse(adding), Fuse(deleting)
    federation.stores = replace(federation.stores, live=store)
    return federation
