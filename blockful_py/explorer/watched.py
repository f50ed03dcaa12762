# SPDX-License-Identifier: Apache-2.0
"""The watched federation: its contracts, its public files, and the jobs of its run if there is one."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from blockful_py.chain.contract import Contract
from blockful_py.chain.logs import PAUSE, TRIES
from blockful_py.chain.node import Node
from blockful_py.chain.rpc import RpcError
from blockful_py.errors import BlockNotFoundError, IntegrityError
from blockful_py.explorer.sources import ARCHIVE, LIVE, IndexSources, ReceiptSource, SentReceipt, SourceLog
from blockful_py.member.endpoints import Urls, place_for
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.entering import RUN, enter
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.federation_file import FederationFile
from blockful_py.types import Uri


class NodeReceipts:
    """Receipts from a chain's node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def receipts(self, hashes: Sequence[bytes]) -> Sequence[SentReceipt | None]:
        found = self._found(hashes)
        numbers = list(dict.fromkeys(each["blockNumber"] for each in found if each))
        blocks = self._asked([("eth_getBlockByNumber", (number, False)) for number in numbers])
        times = {n: int(b["timestamp"], 16) for n, b in zip(numbers, blocks, strict=True) if b}
        return [
            SentReceipt(int(each["gasUsed"], 16), times.get(each["blockNumber"], 0)) if each else None
            for each in found
        ]

    def _found(self, hashes: Sequence[bytes]) -> list[Any]:
        """JSON-RPC receipts; None if the node pruned one.

        Missing receipts are requested again, since the node may lag.
        """
        found: dict[bytes, Any] = dict.fromkeys(hashes)
        for attempt in range(TRIES):
            missing = [each for each, receipt in found.items() if receipt is None]
            if not missing:
                break
            if attempt:
                time.sleep(PAUSE)
            asked = [("eth_getTransactionReceipt", ("0x" + each.hex(),)) for each in missing]
            found.update(zip(missing, self._asked(asked), strict=True))
        return [found[each] for each in hashes]

    def _asked(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        answers = self._node.rpc.batch(calls)
        return [None if isinstance(each, RpcError) else each for each in answers]


class EitherStore:
    """Files from either store: nodes of replaced versions are in the archive's."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def read_file(self, uri: Uri, limit: int) -> bytes:
        try:
            return self._stores.live.read(uri, limit)
        except (BlockNotFoundError, IntegrityError):
            return self._stores.archive.read(uri, limit)


class Watched(OpenedRun):
    """An open federation, for reading.

    Attributes:
        name: display name.
        jobs: run directories whose jobs are shown, by name.
    """

    name: str = ""
    jobs: tuple[tuple[str, Path], ...] = ()

    @property
    def demo_clock(self) -> bool:
        """Whether the record's times come from a run's own chains rather than the real world."""
        return self.run.place.own

    @property
    def files(self) -> EitherStore:
        return EitherStore(self.stores)

    def sources(self) -> IndexSources:
        """Sources of the index; the archive chain's contracts only once the committee has an epoch."""
        contracts, followers = self.contracts, self.contracts.followers
        logs: list[tuple[str, str, Contract]] = [
            ("committee", LIVE, contracts.committee),
            ("participants", LIVE, contracts.participants),
            ("alarms", LIVE, contracts.alarms),
            ("readers", LIVE, contracts.readers),
        ]
        if followers is not None:
            logs += [("mirror", ARCHIVE, followers.mirror), (ARCHIVE, ARCHIVE, followers.archive)]
        logs.append((LIVE, LIVE, contracts.live))
        receipts: dict[str, ReceiptSource] = {
            LIVE: NodeReceipts(self.nodes.live),
            ARCHIVE: NodeReceipts(self.nodes.archive),
        }
        return IndexSources([SourceLog(*each) for each in logs], receipts, self.files)


def folder_of(folder: Path, what: bytes) -> Path:
    """A separate subfolder of `folder` for each watched federation."""
    return folder / hashlib.sha256(what).hexdigest()[:16]


@contextmanager
def watched_run(directory: Path, urls: Urls | None, kept: Path) -> Iterator[Watched]:
    """The federation of a run directory; `kept` is the explorer's folder for events.

    Starts the run's own chains, if it has some and `urls` names no others, and shares them with concurrent
    commands.  Raises RunError, NodeError or DeploymentError if it cannot be opened.
    """
    run = RunDirectory.open(directory)
    place = run.place if urls is None else place_for(run.place, urls)
    with Watched.attach(run, place=place, kept=kept, shared=True) as watched:
        watched.name = directory.resolve().name
        watched.jobs = ((watched.name, directory),)
        yield watched


@contextmanager
def watched_federation(
    file: bytes, urls: Urls | None, folder: Path, jobs: Sequence[Path] = ()
) -> Iterator[Watched]:
    """The federation of a federation file, for a non-member.

    Fetches public files from the members and keeps them in `folder` as the chains require.  Raises as
    `enter`: SettingsError if the file is not the federation's, DeploymentError, NodeError.
    """
    parsed = FederationFile.parse(file)
    chain = parsed.chain
    if urls is not None:
        chain = replace(chain, live_url=urls.live, archive_url=urls.archive)
    with ExitStack() as stack:
        nodes = stack.enter_context(Nodes(ChainEndpoints.of(chain, folder)))
        run = enter(folder / RUN, file, nodes)
        watched = stack.enter_context(Watched.attach(run, nodes))
        watched.name = parsed.name
        watched.jobs = tuple((each.resolve().parent.name, each) for each in jobs)
        yield watched
