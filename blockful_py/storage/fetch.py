# SPDX-License-Identifier: Apache-2.0
"""Fetches blocks from gateways of other machines, which may send anything, late or never."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from blockful_py import pinned_http
from blockful_py.errors import (
    BusyError,
    CommitteeError,
    FormatError,
    IntegrityError,
    SettingsError,
    StorageError,
    StoreUnreachableError,
)
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.car import MEDIA_TYPE, Block, CarReader
from blockful_py.storage.cid import cid_bytes, cid_string
from blockful_py.types import Address, Codec, Uri

CONNECTIONS = 2
"""Connections per machine, fewer than it grants one address; more would share a slow line."""
RATE = 2**16
"""Bytes per second that a machine must sustain beyond its patience."""
RAW, CAR = "raw", "car"
"""Forms of an answer."""
_ACCEPT = {RAW: "application/vnd.ipld.raw", CAR: MEDIA_TYPE + "; version=1; dups=n"}

Keep = Callable[[Uri, bytes], None]
"""Stores a verified block of the file."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that serves blocks.

    Attributes:
        address: address of the key to which its certificate is bound; None accepts any certificate.
        inside: whether the URL may lead to this host or a private network.
        owner: account of the participant that announced it; None for members' and listed machines.
    """

    url: str
    address: Address | None
    inside: bool = True
    owner: Address | None = None


Sign = Callable[[Machine], dict[str, str]]
"""Returns headers that authenticate a request to a machine; empty for a stranger."""


def unsigned(machine: Machine) -> dict[str, str]:
    """Headers of an unauthenticated request: none."""
    return {}


class AbsentError(StorageError):
    """A machine does not have a block."""


class Fetch:
    """The fetch of one file into an assembly."""

    def __init__(self, assembly: Assembly, keep: Keep, sign: Sign, patience: float) -> None:
        """Each machine must send a further complete block within `patience` seconds."""
        self._assembly = assembly
        self._sign = sign
        self._keep = keep
        self._patience = patience

    def ask(self, endpoint: Machine, seconds: float) -> None:
        """Asks one machine for all missing blocks, for at most `seconds`.

        Raises AbsentError if it lacks a block, BusyError if it accepts no more connections at present,
        StoreUnreachableError if it is unreachable, slow or sends wrong data, and FormatError if the file
        itself is not acceptable.
        """
        try:
            asyncio.run(self._within(endpoint, seconds))
        except BusyError:
            raise
        except (CommitteeError, SettingsError) as error:
            raise StoreUnreachableError(str(error)) from None

    async def _within(self, endpoint: Machine, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds) as limit:
                while nodes := [uri for uri in self._assembly.missing if uri.codec is Codec.DAG_PB]:
                    await self._car(endpoint, nodes[0])
                await self._leaves(endpoint)
        except TimeoutError:
            waited = "in time" if limit.expired() else f"for {self._patience:g} s"
            raise StoreUnreachableError(f"it sent no block {waited}") from None

    async def _leaves(self, endpoint: Machine) -> None:
        """Fetches the missing leaves over a few connections; requests no more after an error."""
        left, errors = list(reversed(self._assembly.missing)), list[Exception]()

        async def fetch() -> None:
            while left and not errors:
                try:
                    async with asyncio.timeout(self._patience):
                        await self._leaf(endpoint, left.pop())
                except Exception as error:
                    errors.append(error)

        await asyncio.gather(*(fetch() for _ in range(CONNECTIONS)))
        if errors:
            del errors[1:]
            raise errors.pop()  # an error in a list of its own frame would outlive the fetch

    async def _leaf(self, endpoint: Machine, uri: Uri) -> None:
        block = bytearray()
        try:
            async with body(endpoint, self._sign, RAW, uri) as pieces:
                async for piece in pieces:
                    block += piece
                    if len(block) > MAX_BLOCK_SIZE:
                        raise StoreUnreachableError(f"it sends a block of more than {MAX_BLOCK_SIZE} bytes")
            if hashlib.sha256(block).digest() != uri.digest:
                raise StoreUnreachableError(
                    f"the bytes that it sends for {cid_string(uri)} do not hash to it"
                )
            self._take(uri, bytes(block))
        finally:
            block.clear()  # an error's traceback has this frame, and may be kept

    async def _car(self, endpoint: Machine, root: Uri) -> None:
        """Fetches the blocks below a node in one stream."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._patience) as limit, body(endpoint, self._sign, CAR, root) as pieces:
            async for uri, block in blocks_in(pieces, self._assembly):
                if self._assembly.is_missing(uri):
                    self._take(uri, block)
                    limit.reschedule(loop.time() + self._patience)
        if self._assembly.is_missing(root):
            raise StoreUnreachableError(f"it sends a CAR without {cid_string(root)}")

    def _take(self, uri: Uri, block: bytes) -> None:
        self._assembly.take(uri, block)
        self._keep(uri, block)


@asynccontextmanager
async def body(
    endpoint: Machine, sign: Sign, form: str, uri: Uri | None, bundle: Sequence[Uri] = ()
) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body of a machine's answer, in pieces: `uri` in this form, or a bundle if it is None.

    Raises AbsentError, BusyError or StoreUnreachableError.
    """
    path = "" if uri is None else cid_string(uri)
    opened = pinned_http.stream(
        "GET" if uri else "POST",
        endpoint.url,
        f"/ipfs/{path}?format={form}",
        endpoint.address,
        {"accept": _ACCEPT[form]} | sign(endpoint),
        b"".join(map(cid_bytes, bundle)),
        inside=endpoint.inside,
    )
    async with opened as answer:
        if answer.status_code in (404, 405):
            raise AbsentError(f"it does not have {path or 'bundles'}")
        if answer.status_code == 503:
            raise BusyError("it is busy")
        if answer.status_code != 200:
            raise StoreUnreachableError(f"it answers {answer.status_code}")
        yield answer.aiter_raw()


async def blocks_in(pieces: AsyncIterator[bytes], asked: Container[Uri]) -> AsyncIterator[Block]:
    """Yields the blocks of a CAR.

    Raises StoreUnreachableError if it is malformed or has any but those asked for, each once.
    """
    reader, sent = CarReader(), set[Uri]()
    try:
        async for piece in pieces:
            for uri, block in list(reader.feed(piece)):
                if uri in sent or uri not in asked:
                    raise StoreUnreachableError(f"it sends {cid_string(uri)}, which was not requested")
                sent.add(uri)
                yield uri, block
        reader.end()
    except (FormatError, IntegrityError) as error:
        raise StoreUnreachableError(f"it sends an invalid CAR: {error}") from None
