# SPDX-License-Identifier: Apache-2.0
"""Serves the blocks of kept files over HTTP, as a trustless IPFS gateway.

    GET or HEAD /ipfs/<cid>?format=raw    one block
    GET or HEAD /ipfs/<cid>?format=car    all blocks below it, as CAR v1, depth first, each once
    POST /ipfs/?format=car                a bundle: the blocks named in the body, as CAR v1

A bundle's body is up to MOST_BUNDLED binary CIDs, the first of which is the CAR's root; blocks that are not
here are left out.  All served content is sealed or public, and the client verifies it.  A block that has
arrived, but whose file the record does not name yet, is answered with 503: ask again.  Source:
https://specs.ipfs.tech/http-gateways/trustless-gateway/ of 2026-03-05, without paths below a CID, ranges
(`entity-bytes`) and duplicates in CARs; bundles are ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from blockful_py.errors import BlockNotFoundError, BusyError, FormatError, StorageError
from blockful_py.storage import car
from blockful_py.storage.bounds import MOST_BUNDLED
from blockful_py.storage.cid import CID_SIZE, cid_string, parse_cid, uri_from_bytes
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Uri

PREFIX = "/ipfs/"
PROBE = "bafkqaaa"
"""The identity CID of no bytes, which clients use to recognise a trustless gateway."""

GetBlock = Callable[[Uri], bytes]


class KeptBlocks(Protocol):
    """Blocks of kept files."""

    def kept_block(self, uri: Uri) -> bytes:
        """A verified block.

        Raises BlockNotFoundError, IntegrityError, or BusyError for a block that arrived but is not kept yet.
        """


class BlockForm(Enum):
    """Form of an answer: its name in queries, media type, and file extension."""

    RAW = ("raw", "application/vnd.ipld.raw", "bin")
    CAR = ("car", car.MEDIA_TYPE, "car")

    @property
    def media_type(self) -> str:
        return self.value[1]

    @property
    def content_type(self) -> str:
        return self.media_type + ("; version=1; order=dfs; dups=n" if self is BlockForm.CAR else "")


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """A parsed request; `uri` is None for the probe, `root_only` means a CAR with `dag-scope=block`."""

    uri: Uri | None
    form: BlockForm
    root_only: bool = False

    @property
    def etag(self) -> str:
        name = PROBE if self.uri is None else cid_string(self.uri)
        return f'"{name}.{"block." if self.root_only else ""}{self.form.value[0]}"'


class RefusedRequestError(Exception):
    """A request that is answered with `status` and a reason."""

    def __init__(self, status: int, reason: str) -> None:
        self.status = status
        super().__init__(reason)


def gateway(store: KeptBlocks) -> ASGIApp:
    """The application; it limits neither connections nor time."""

    async def answer(request: Request) -> Response:
        try:
            rest = request.scope["path"].removeprefix(PREFIX)  # a route drops a line feed at its end
            asked = parse(rest, request.query_params, request.headers.get("accept", ""))
            if matches(request.headers.get("if-none-match", ""), asked.etag):
                return Response(status_code=304, headers=_headers(asked))
            return await run_in_threadpool(_found, store, asked, request.method == "HEAD")
        except RefusedRequestError as error:
            return PlainTextResponse(str(error), error.status)
        except BlockNotFoundError:
            status = 412 if "only-if-cached" in request.headers.get("cache-control", "") else 404
            return PlainTextResponse("this block belongs to no kept file.", status)
        except BusyError as error:
            return PlainTextResponse(str(error), 503, {"retry-after": "1"})
        except StorageError:
            return PlainTextResponse("this store cannot be read at present.", 500)

    async def bundle(request: Request) -> Response:
        try:
            uris = _names(await _within(request, MOST_BUNDLED * CID_SIZE))
            form = _form(request.query_params.get("format"), request.headers.get("accept", ""))[0]
            if form is not BlockForm.CAR:
                raise RefusedRequestError(406, "a bundle is served as a CAR.")
        except RefusedRequestError as error:
            return PlainTextResponse(str(error), error.status)
        pieces = car.write(uris[0], _kept(store, uris))
        return StreamingResponse(pieces, media_type=form.content_type)

    blocks = Route(PREFIX + "{rest:path}", answer, methods=["GET"])
    return Router([Route(PREFIX, bundle, methods=["POST"]), blocks], redirect_slashes=False)


async def _within(request: Request, most: int) -> bytes:
    """The body of a request, read up to `most` bytes.  Raises RefusedRequestError."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise RefusedRequestError(413, f"a bundle has up to {MOST_BUNDLED} blocks.")
    return bytes(body)


def _names(body: bytes) -> list[Uri]:
    """The blocks that a bundle's body names, each once.  Raises RefusedRequestError."""
    if not body or len(body) % CID_SIZE:
        raise RefusedRequestError(400, f"a bundle's body is CIDs of {CID_SIZE} bytes each.")
    try:
        names = [uri_from_bytes(body[at : at + CID_SIZE]) for at in range(0, len(body), CID_SIZE)]
    except FormatError as error:
        raise RefusedRequestError(400, str(error)) from None
    return list(dict.fromkeys(names))


def _kept(store: KeptBlocks, uris: Iterable[Uri]) -> Iterator[car.Block]:
    for uri in uris:
        with suppress(StorageError, BusyError):  # such as a damaged one, or one that has only just arrived
            yield uri, store.kept_block(uri)


def parse(rest: str, query: Mapping[str, str], accept: str) -> BlockRequest:
    """Parses the rest of a request's path, its query and its Accept header.

    Raises RefusedRequestError.
    """
    form, parameters = _form(query.get("format"), accept)
    uri = None if rest == PROBE else _uri(rest)
    if form is BlockForm.RAW:
        return BlockRequest(uri, form)
    wanted = parameters | {
        name: query[f"car-{name}"] for name in ("version", "order", "dups") if f"car-{name}" in query
    }
    served = {"version": ("1",), "order": ("dfs", "unk", ""), "dups": ("n", "")}
    if any(wanted.get(name, right[0]) not in right for name, right in served.items()):
        raise RefusedRequestError(406, f"a CAR is served as {form.content_type}.")
    if "entity-bytes" in query:
        raise RefusedRequestError(400, "parts of files are not served: ask for their blocks.")
    scope = query.get("dag-scope", "all")
    if scope not in ("all", "entity", "block"):
        raise RefusedRequestError(400, "dag-scope is all, entity or block.")
    return BlockRequest(uri, form, scope == "block")


def matches(header: str, etag: str) -> bool:
    """Whether an If-None-Match header includes this tag."""
    tags = (each.strip().removeprefix("W/") for each in header.split(","))
    return any(each in (etag, "*") for each in tags)


def _form(wanted: str | None, accept: str) -> tuple[BlockForm, dict[str, str]]:
    """The requested form and its media type's parameters; the query takes precedence over the header."""
    offered = dict(_media(each) for each in accept.split(","))
    if wanted is not None:
        for form in BlockForm:
            if wanted == form.value[0]:
                return form, offered.get(form.media_type, {})
        raise RefusedRequestError(406, "the formats raw and car are served.")
    for media_type, parameters in offered.items():
        for form in BlockForm:
            if media_type == form.media_type:
                return form, parameters
    if offered.keys() <= {"", "*/*"}:
        raise RefusedRequestError(400, "name a format: ?format=raw or ?format=car.")
    raise RefusedRequestError(406, f"{BlockForm.RAW.media_type} and {BlockForm.CAR.media_type} are served.")


def _media(entry: str) -> tuple[str, dict[str, str]]:
    """Media type and parameters of an entry of an Accept header."""
    kind, *rest = (part.strip().lower() for part in entry.split(";"))
    pairs = (part.partition("=") for part in rest)
    return kind, {name.strip(): value.strip(' "') for name, _, value in pairs}


def _uri(rest: str) -> Uri:
    if not re.fullmatch(r"[a-z2-7]+", rest):
        raise RefusedRequestError(400, "the path is /ipfs/ and a CID in base32, without anything below it.")
    try:
        return parse_cid(rest)
    except FormatError as error:
        raise RefusedRequestError(400, str(error)) from None


def _headers(asked: BlockRequest) -> dict[str, str]:
    name = PROBE if asked.uri is None else cid_string(asked.uri)
    return {
        "cache-control": "public, max-age=29030400, immutable",
        "content-disposition": f'attachment; filename="{name}.{asked.form.value[2]}"',
        "content-location": f"{PREFIX}{name}?format={asked.form.value[0]}",
        "etag": asked.etag,
        "vary": "accept",
        "x-content-type-options": "nosniff",
        "x-ipfs-path": PREFIX + name,
        "x-ipfs-roots": name,
    }


def _found(store: KeptBlocks, asked: BlockRequest, head: bool) -> Response:
    headers, kind = _headers(asked), asked.form.content_type
    root = b"" if asked.uri is None else store.kept_block(asked.uri)
    if asked.form is BlockForm.RAW:
        return Response(root, headers=headers, media_type=kind)
    pieces: Iterator[bytes] = iter(())
    if not head:
        pieces = iter([PROBE_CAR]) if asked.uri is None else _car(store, asked.uri, asked.root_only)
    return StreamingResponse(pieces, headers=headers | {"accept-ranges": "none"}, media_type=kind)


def _car(store: KeptBlocks, root: Uri, root_only: bool) -> Iterator[bytes]:
    uris = iter([root]) if root_only else blocks_of(root, store.kept_block)
    return car.write(root, ((uri, store.kept_block(uri)) for uri in uris))


PROBE_CAR = bytes.fromhex("19a265726f6f747381d82a4500015500006776657273696f6e01")
"""A CAR without blocks whose root is the probe."""
