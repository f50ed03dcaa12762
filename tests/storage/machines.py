# SPDX-License-Identifier: Apache-2.0
"""Machines that serve their stores on the loopback interface, and such that answer as none should."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from blockful_py.committee.service.server import Server
from blockful_py.crypto import curve
from blockful_py.storage import ContentStore, car, parse_cid
from blockful_py.storage.arrivals import FOLDER, Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine
from blockful_py.storage.gateway import gateway
from blockful_py.types import Uri

SECRET = 7
ADDRESS = curve.address(curve.multiply_base(SECRET))
SECONDS = 600.0


def store_at(
    folder: Path,
    machines: Sequence[Machine] = (),
    seconds: float = SECONDS,
    patience: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
) -> tuple[FederatedStore, list[tuple[str, str]]]:
    """A machine's store in a folder, and its reports of other machines."""
    reports: list[tuple[str, str]] = []
    own, arrivals = ContentStore(folder), Arrivals(folder / FOLDER)
    report: Callable[[str, str], None] = lambda url, reason: reports.append((url, reason))  # noqa: E731
    return FederatedStore(
        own, arrivals, lambda: machines, report, seconds=seconds, patience=patience, now=now
    ), reports


@contextmanager
def serving(store: ContentStore) -> Iterator[Machine]:
    """A machine that serves a store and nothing else."""
    with Server(None, gateway=gateway(store)) as server:
        yield Machine(server.url, ADDRESS)


Pieces = Iterator[bytes] | Sequence[bytes]


@dataclass
class Liar:
    """Answers a request for a block or a CAR with what `answer` yields; None is 404.

    Attributes:
        headers: further ones of each answer.
        sent: bytes of bodies that were taken from it.
        asked: the form and the CID of each request.
    """

    answer: Callable[[str, Uri], Pieces | None]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    sent: int = 0
    asked: list[tuple[str, Uri]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def lying(liar: Liar) -> Iterator[Machine]:
    """The liar's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = (parse_qs(url.query)["format"][0], parse_cid(url.path.rpartition("/")[2]))
            liar.asked.append(asked)
            pieces = liar.answer(*asked)
            self.send_response(404 if pieces is None else liar.status)
            for name, value in liar.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                for piece in pieces or ():
                    self.wfile.write(piece)
                    liar.sent += len(piece)

        def log_message(self, *_arguments: object) -> None:
            pass

    with answering(Handler) as machine:
        try:
            yield machine
        finally:
            liar.over.set()


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[Machine]:
    """A machine that answers each request by this handler."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield Machine(f"http://127.0.0.1:{server.server_address[1]}", ADDRESS)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def honest(store: ContentStore) -> Callable[[str, Uri], Pieces | None]:
    """The answers of an honest machine, for liars to begin with."""

    def answer(form: str, uri: Uri) -> Pieces | None:
        if form == "raw":
            return [store.block(uri)]
        from blockful_py.storage.unixfs import blocks_of

        return list(car.write(uri, ((each, store.block(each)) for each in blocks_of(uri, store.block))))

    return answer
