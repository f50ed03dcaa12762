# SPDX-License-Identifier: Apache-2.0
"""A file fetched from another machine as a CAR and block by block, and pushed to it; plain and by TLS.

Then as many small files as a round of a large federation has nodes, one by one and in bundles.

python -m benchmarks.blocks [MiB]       (default 256; one run of each)

The other machine is a process beside; requests are signed, since strangers are paced.  Shares are of
`ContentStore.add`, which hashes, writes and syncs the same blocks without a network.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.services import CONTEXT, LEADER, MEMBER, serve
from blockful_py.committee.service.block_push import push
from blockful_py.committee.service.limits import MIB
from blockful_py.committee.service.member_client import Deadlines, IndexedClient, MemberClient, signed_fetch
from blockful_py.crypto import curve
from blockful_py.storage import ContentStore
from blockful_py.storage.arrivals import FOLDER, Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine
from blockful_py.types import Uri

NODES, NODE_BYTES = 300, 3000
ADDRESS = curve.address(curve.multiply_base(MEMBER))


def seconds(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def fetched(url: str, folder: Path, uri: Uri, size: int, root: bytes | None) -> float:
    """Seconds of a fetch into a new store; with the root here, the leaves are asked for one by one."""
    own, arrivals = ContentStore(folder), Arrivals(folder / FOLDER)
    sign = signed_fetch(LEADER, lambda: 1)
    store = FederatedStore(own, arrivals, lambda: [Machine(url, ADDRESS)], sign=sign, seconds=600)
    if root is not None:
        arrivals.put("root", uri, root)
    took = seconds(lambda: store.keep(uri, size))
    store.delete(uri)
    return took


def small_files(url: str, folder: Path, uris: Sequence[Uri], together: bool) -> tuple[float, float]:
    """Seconds by the clock and of this processor to fetch small files into a new store."""
    own, arrivals = ContentStore(folder), Arrivals(folder / FOLDER)
    store = FederatedStore(
        own, arrivals, lambda: [Machine(url, ADDRESS)], sign=signed_fetch(LEADER, lambda: 1), seconds=600
    )
    begun = time.process_time()

    def read() -> None:
        if together:
            store.prefetch(uris)
        for uri in uris:
            store.read(uri, MIB)

    took = seconds(read)
    return took, time.process_time() - begun


def pushed(url: str, source: ContentStore, uri: Uri) -> float:
    client = MemberClient(url, ADDRESS, LEADER, Deadlines(600, 600))
    return seconds(lambda: push([uri], source, [IndexedClient(1, client)], 1, quorum=1))


@contextmanager
def machine(by_tls: bool, held: Path) -> Iterator[str]:
    """The URL of a member in a process of its own, whose store is in a folder."""
    started, said = CONTEXT.Pipe(duplex=False)
    awaited, over = CONTEXT.Pipe(duplex=False)
    member = CONTEXT.Process(target=serve, args=(said, awaited, by_tls, held))
    member.start()
    yield started.recv()
    over.send(None)
    member.join()


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), os.urandom(size * MIB)
        source = ContentStore(folder / "source")
        alone = seconds(lambda: source.add(data))
        (uri,) = source
        print(f"file of {size} MiB, added at {size / alone:.0f} MiB/s")
        for by_tls in (False, True):
            with machine(by_tls, source.directory) as url:
                car = fetched(url, folder / f"car{by_tls}", uri, size * MIB, None)
                raw = fetched(url, folder / f"raw{by_tls}", uri, size * MIB, source.block(uri))
            with machine(by_tls, folder / f"pushed{by_tls}") as url:
                push_ = pushed(url, source, uri)
            for what, took in (("CAR", car), ("block by block", raw), ("pushed", push_)):
                way = "TLS" if by_tls else "plain"
                print(f"  {way:<6}{what:<16}{size / took:6.0f} MiB/s {alone / took:6.0%}", flush=True)
        nodes = ContentStore(folder / "nodes")
        uris = nodes.add_each([os.urandom(NODE_BYTES)] for _ in range(NODES))
        print(f"{NODES} files of {NODE_BYTES} bytes: seconds by the clock, and of the asking process")
        for by_tls in (False, True):
            way = "TLS" if by_tls else "plain"
            with machine(by_tls, nodes.directory) as url:
                for what, together in (("one by one", False), ("in bundles", True)):
                    took, own = small_files(url, folder / f"{what}{by_tls}", uris, together)
                    print(f"  {way:<6}{what:<16}{took:6.2f} {own:6.2f}", flush=True)


if __name__ == "__main__":
    main()
