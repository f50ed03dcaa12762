# SPDX-License-Identifier: Apache-2.0
"""Client of the IPFS node API for blocks and pins.

Supports Kubo from 0.13 on and js-ipfs, which take the codec of `block/put` differently.  Sources:
https://docs.ipfs.tech/reference/kubo/rpc/, ipfs-http-server of js-ipfs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.errors import (
    BlockNotFoundError,
    FormatError,
    IntegrityError,
    StorageError,
    StoreUnreachableError,
)
from blockful_py.extras import needed_by
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Codec, Uri

OLDEST_KUBO = (0, 13)
"""The first release whose `block/put` accepts any codec."""
_CODECS = {Codec.RAW: "raw", Codec.DAG_PB: "dag-pb"}
_PIN_FACTOR = 10
"""Factor on the time to find a block: pinning walks all blocks of a file."""
_REMOVED_AT_ONCE = 100
_GRACE = 10.0
"""Seconds beyond the node's own limit."""
_VAIN_SECONDS = 2.0
"""Seconds for offline reads: js-ipfs waits for peers even then."""
_PIECE = 2**16
_MAX_ANSWER = 2**26
"""Maximum bytes of a JSON answer: half a million pins."""

Options = dict[str, str]


class IpfsApi:
    """One node's HTTP API; thread-safe, since each request has its own connection."""

    def __init__(self, address: str, seconds: float) -> None:
        """Connects to the multiaddr `address`; the node may search `seconds` for a block.

        Raises StorageError if the address is malformed, nothing answers there, or the node is of an unknown
        kind.
        """
        self.address = address
        self._seconds = seconds
        self._library = _library()
        try:
            self._client = self._library.http.build_client_sync(address, "api/v0", timeout=seconds + _GRACE)
        except (self._library.exceptions.Error, ValueError) as error:
            raise StorageError(
                f"{address!r} is not the address of an IPFS node's API ({error}): expected something like "
                "/ip4/127.0.0.1/tcp/5001, which `ipfs config Addresses.API` prints."
            ) from None
        self._is_kubo = self._recognise()

    def put_block(self, uri: Uri, block: bytes) -> None:
        """Sends a block without pinning it.  Raises StorageError if the node returns another CID."""
        body, headers = self._library.multipart.stream_bytes(block, chunk_size=len(block) or 1)
        codec = _CODECS[uri.codec]
        options = {"cid-codec": codec, "mhlen": "32"} if self._is_kubo else {"format": codec, "version": "1"}
        answer = self._ask(
            "/block/put", options={**options, "mhtype": "sha2-256"}, data=body, headers=headers
        )
        if not answer:
            raise self._broke_off("it answered with nothing")
        named = answer[0].get("Key")
        if named != cid_string(uri):
            raise StorageError(
                f"the IPFS node at {self.address} names block {cid_string(uri)} "
                f"{str(named)[:80]!r}: its version is not supported."
            )

    def get_block(self, uri: Uri, offline: bool = False) -> bytes:
        """A verified block; also fetched from the node's peers unless `offline`.

        Raises BlockNotFoundError if the node does not find it in time, and IntegrityError if its bytes do not
        hash to the CID.
        """
        waits_in_vain = offline and not self._is_kubo
        seconds = min(self._seconds, _VAIN_SECONDS) if waits_in_vain else self._seconds
        options = {"timeout": f"{seconds:g}s", "offline": str(offline).lower()}
        try:
            block = self._fetch("/block/get", (cid_string(uri),), options, MAX_BLOCK_SIZE)
        except _RefusedError as error:
            raise BlockNotFoundError(
                f"the IPFS node at {self.address} does not find block {cid_string(uri)} ({error.reason}): "
                "it was deleted, or no node that has it can be reached."
            ) from None
        if hashlib.sha256(block).digest() != uri.digest:
            raise IntegrityError(
                f"the bytes that the IPFS node at {self.address} gives for {cid_string(uri)} do not hash to "
                "it: its repository is damaged; check it with `ipfs repo verify`."
            )
        return block

    def remove_blocks(self, uris: Sequence[Uri]) -> None:
        """Removes blocks in order, except blocks of pinned files; ignores missing ones."""
        names = iter([cid_string(uri) for uri in uris])
        while batch := tuple(islice(names, _REMOVED_AT_ONCE)):
            for answer in self._ask("/block/rm", batch, {"force": "true"}):
                problem = str(answer.get("Error") or "")
                if problem and "pinned" not in problem and "not found" not in problem:
                    raise StorageError(
                        f"the IPFS node at {self.address} does not remove block {answer.get('Hash')} "
                        f"({problem[:200]}): check the node's log, then delete again."
                    )

    def pin(self, uri: Uri) -> None:
        """Pins a file.  Raises StorageError if one of its blocks is missing."""
        seconds = self._seconds * _PIN_FACTOR
        options = {"recursive": "true", "offline": "true", "timeout": f"{seconds:g}s"}
        try:
            self._ask("/pin/add", (cid_string(uri),), options, timeout=seconds + _GRACE)
        except _RefusedError as error:
            raise StorageError(
                f"the IPFS node at {self.address} does not pin {cid_string(uri)} ({error.reason}): its "
                "garbage collector may have taken a block of it meanwhile; add the file again."
            ) from None

    def unpin(self, uri: Uri) -> None:
        """Unpins a file; does nothing if it is not pinned."""
        try:
            self._ask("/pin/rm", (cid_string(uri),), {"recursive": "true"})
        except _RefusedError as error:
            if "not pinned" not in error.reason:
                raise

    def is_pinned(self, uri: Uri) -> bool:
        try:
            self._ask("/pin/ls", (cid_string(uri),), {"type": "recursive"})
        except _RefusedError as error:
            if "not pinned" not in error.reason:
                raise
            return False
        return True

    def pins(self) -> Iterator[Uri]:
        """Yields the pinned files by CID, except CIDs of kinds that we never write."""
        for answer in self._ask("/pin/ls", options={"type": "recursive", "cid-base": "base32"}):
            keys = answer.get("Keys")
            for name in sorted(keys) if isinstance(keys, dict) else ():
                with suppress(FormatError):
                    yield parse_cid(name)

    def _recognise(self) -> bool:
        """Whether the node is a Kubo.  Raises StorageError if it is not usable."""
        answer = self._ask("/version")
        version = str(answer[0].get("Version", "")) if answer else ""
        numbers = version.split("-")[0].split(".")
        if len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
            raise StorageError(f"the server at {self.address} is not an IPFS node: check storage.api.")
        is_kubo = "Golang" in answer[0]
        if is_kubo and tuple(map(int, numbers[:2])) < OLDEST_KUBO:
            raise StorageError(
                f"the IPFS node at {self.address} is version {version[:40]}; "
                f"{'.'.join(map(str, OLDEST_KUBO))} or later is needed: update it."
            )
        return is_kubo

    def _ask(
        self, path: str, arguments: Sequence[str] = (), options: Options | None = None, **more: Any
    ) -> list[dict[str, Any]]:
        """The JSON objects of the node's answer, one per line."""
        answer = self._fetch(path, arguments, options or {}, _MAX_ANSWER, **more)
        try:
            documents = [parse_json(line) for line in answer.splitlines() if line.strip()]
        except ValueError:
            documents = [None]
        if not all(isinstance(document, dict) for document in documents):
            raise StorageError(
                f"the server at {self.address} is not an IPFS node, or broke off: check storage.api and the "
                "node's log, then run the command again; kept files are still there."
            )
        return documents

    def _fetch(self, path: str, arguments: Sequence[str], options: Options, limit: int, **more: Any) -> bytes:
        """The body of an answer, truncated somewhere beyond `limit` bytes.

        The library's public `request` reads answers of any size; the method below it does not.
        """
        request = {"auth": None, "data": None, "headers": None, "timeout": None, **more}
        params = [*options.items(), *(("arg", argument) for argument in arguments)]
        body = bytearray()
        with self._readable(), ExitStack() as stack:
            closables, pieces = self._client._request("POST", path, params, chunk_size=_PIECE, **request)
            for closable in closables:
                stack.callback(closable.close)
            for piece in pieces:
                body += piece
                if len(body) > limit:
                    break
        return bytes(body)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turns the library's errors into a StorageError with advice."""
        known = self._library.exceptions
        try:
            yield
        except known.StatusError as error:
            raise _RefusedError(self.address, " ".join(str(error).split())[:300]) from None
        except known.TimeoutError:
            raise StoreUnreachableError(
                f"the IPFS node at {self.address} did not answer in time: check whether it is overloaded, or "
                "raise storage.seconds, then run the command again; kept files are still there."
            ) from None
        except (known.Error, OSError) as error:
            raise self._broke_off(" ".join(str(error).split())[:200]) from None

    def _broke_off(self, reason: str) -> StoreUnreachableError:
        return StoreUnreachableError(
            f"the IPFS node at {self.address} cannot be reached, or broke off ({reason}): start it "
            "(`ipfs daemon`) or check storage.api, then run the command again; kept files are still there."
        )


class _RefusedError(StorageError):
    """The node refused the request; `reason` is its message."""

    def __init__(self, address: str, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the IPFS node at {address} refuses: {reason}. See the node's log.")


def _library() -> Any:
    """ipfshttpclient over plain `requests`: its patch of urllib3 uses a removed option."""
    os.environ.setdefault("PY_IPFS_HTTP_CLIENT_PATCH_REQUESTS", "no")
    with needed_by("storage.api"):
        import ipfshttpclient
        import ipfshttpclient.http
    return ipfshttpclient
