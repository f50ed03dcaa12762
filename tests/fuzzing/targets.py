# SPDX-License-Identifier: Apache-2.0
"""All readers of bytes from others, with initial inputs for each."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import torch

from blockful_py.chain.account_file import address_in
from blockful_py.committee import codec, wire
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.messages import DeliveredKey, KeyDelivery
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.envelope import WRAPPED_BYTES, seal, unseal, unwrap, wrap
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import BlockfulError, FormatError
from blockful_py.learning.weights import from_bytes, to_bytes
from blockful_py.pipeline.review.methods import parse_method
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.model_node import parse_node, sign_statement
from blockful_py.record.proofs.proof import parse_proof
from blockful_py.record.request import Request, Start
from blockful_py.record.request_file import RequestFile
from blockful_py.record.statement import Reference, Statement
from blockful_py.settings import Settings
from blockful_py.storage import ContentStore, car
from blockful_py.storage.cid import cid_string, parse_cid, uri_from_bytes, uri_of
from blockful_py.storage.dag_pb import Link, decode, encode
from blockful_py.storage.gateway import gateway
from blockful_py.types import Codec

KEY = bytes(32)
CONTRACT = bytes(range(20))
DOMAIN = wire.domain(1337, CONTRACT)
SIGNER = wire.MessageSigner(7, DOMAIN, SeededRng(b"pen"))
LEAF = b"leaf"
REQUEST = Request(
    starts=(Start(name="r5", position="1:4"),), classes=(3,), paradigm="parallel", method="retrain", created=7
)
LENT = KeyDelivery(
    (
        DeliveredKey(
            uri_of(LEAF, Codec.RAW), wrap(KEY, curve.multiply_base(7), b"context", SeededRng(b"lent"))
        ),
    )
)

GATEWAY = tempfile.TemporaryDirectory(prefix="fuzzing-")


@dataclass(frozen=True)
class Target:
    """A target whose `read` returns or raises BlockfulError; `seeds` are bytes that it nearly or fully
    accepts."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def from_file(read: Callable[[Path], object], mode: int = 0o644) -> Callable[[bytes], object]:
    """Reads a file that holds the bytes."""
    folder = tempfile.TemporaryDirectory(prefix="fuzzing-")
    path = Path(folder.name) / "file"
    path.touch(mode)

    def reading(data: bytes, _: object = folder) -> object:
        path.write_bytes(data)
        return read(path)

    return reading


def request_file() -> bytes:
    document = RequestFile(
        chain_id=1337,
        contract="0x" + CONTRACT.hex(),
        owners=("0x" + curve.address(curve.G).hex(),),
        request=REQUEST,
        typed_data=eip712.typed_data(eip712.Domain(1337, CONTRACT), REQUEST.typed()),
    )
    return document.model_dump_json().encode()


def node() -> bytes:
    statement = Statement(
        name="r5",
        user=5,
        round=0,
        owner="0x" + curve.address(curve.multiply_base(7)).hex(),
        weights=cid_string(uri_of(LEAF, Codec.RAW)),
        references=(Reference(name="r1", position="1:0", accuracy=0.5),),
        accuracy=0.5,
        training={"epochs": 1},
        created=7,
    )
    return sign_statement(statement, 7, 1337, CONTRACT).to_bytes()


def signers(data: bytes) -> object:
    return parse_node(data).signer(1337, CONTRACT)


def complete(path: Path) -> object:
    return RequestFile.read(path).signed()


def lent_keys(data: bytes) -> object:
    """A borrower's reading of a member's answer."""
    return [unwrap(each.wrapped, 7, b"context") for each in codec.decode(KeyDelivery, data).keys]


def of_gateway(folder: Path) -> Callable[[bytes], object]:
    """Asks the gateway of a store with LEAF for a path, query and Accept header, one on each line."""
    store = ContentStore(folder)
    store.add(LEAF)
    served = gateway(store)

    async def receive() -> MutableMapping[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    def ask(data: bytes) -> int:
        statuses: list[int] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        path, query, accept = [*data.split(b"\n", 2), b"", b""][:3]
        scope = {"type": "http", "method": "GET", "path": unquote(path.decode("latin-1"))}
        asyncio.run(served(scope | {"query_string": query, "headers": [(b"accept", accept)]}, receive, send))
        if statuses != [200]:
            assert statuses in ([400], [404], [406]), statuses
            raise FormatError(f"it is refused with {statuses[0]}")
        return statuses[0]

    return ask


TARGETS = {
    "cid": Target(lambda data: uri_from_bytes(data), (uri_of(LEAF, Codec.RAW).digest,)),
    "cid-text": Target(
        lambda data: parse_cid(data.decode("utf-8", "surrogateescape")),
        (cid_string(uri_of(LEAF, Codec.RAW)).encode(), cid_string(uri_of(LEAF, Codec.DAG_PB)).encode()),
    ),
    "block": Target(decode, (encode((Link(uri_of(LEAF, Codec.RAW), 4, 4),)),)),
    "car": Target(
        lambda data: list(car.read(data)),
        (b"".join(car.write(uri_of(LEAF, Codec.RAW), [(uri_of(LEAF, Codec.RAW), LEAF)])),),
    ),
    "gateway": Target(
        of_gateway(Path(GATEWAY.name)),
        (
            b"/ipfs/" + cid_string(uri_of(LEAF, Codec.RAW)).encode() + b"\nformat=raw",
            b"/ipfs/bafkqaaa\n\napplication/vnd.ipld.car; version=1; dups=n",
            b"/ipfs/%2e%2e/" + cid_string(uri_of(LEAF, Codec.RAW)).encode() + b"\nformat=car&dag-scope=block",
        ),
    ),
    "weights": Target(from_bytes, (to_bytes({"w": torch.ones(2, 3), "b": torch.zeros(2)}),)),
    "node": Target(signers, (node(),)),
    "method": Target(
        lambda data: parse_method(data.decode("utf-8", "surrogateescape")),
        (b"retrain {}", b'gradient_ascent {"alpha":1.0,"epsilon":0.0}'),
    ),
    "sealed": Target(lambda data: b"".join(unseal(KEY, [data])), (b"".join(seal(KEY, io.BytesIO(LEAF))),)),
    "wrapped-key": Target(lambda data: unwrap(data, 7, b"context"), (bytes(WRAPPED_BYTES), b"\2" * 33)),
    "lent-keys": Target(lent_keys, (codec.encode(LENT),)),
    "signature": Target(
        lambda data: signature.recover(KEY, signature.compact(data)),
        (signature.sign(7, KEY), bytes(65)),
    ),
    "proof": Target(parse_proof, (b'{"format":"blockful-proof/1","record":{}}',)),
    "certificate": Target(parse_certificate, (b'{"format":"blockful-erasure/3","statement":{}}',)),
    "message": Target(
        lambda data: wire.receive(DOMAIN, data),
        (SIGNER.question("approve", 1, KEY, 1, CONTRACT, b"{}").envelope,),
    ),
    "charter": Target(
        lambda data: codec.decode(Charter, data),
        (codec.encode(Charter(1337, CONTRACT, 2, 0, 0, (CONTRACT,), (1,), 1, KEY)),),
    ),
    "request": Target(from_file(complete), (request_file(),)),
    "settings": Target(
        from_file(Settings.load),
        (b"seed = 1\n[learning]\nepochs = 5\n", b"a = [[1]]"),
    ),
    "account": Target(
        from_file(address_in, 0o600), (b'{"version": 3, "address": "' + b"11" * 20 + b'", "crypto": {}}',)
    ),
}


def survives(target: Target, data: bytes) -> bool:
    """Whether the bytes were read; a legitimate refusal gives False, any other error is raised."""
    try:
        target.read(data)
    except BlockfulError:
        return False
    return True
