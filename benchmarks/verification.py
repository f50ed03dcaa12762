# SPDX-License-Identifier: Apache-2.0
"""Models verified a second, on one core, from a snapshot of their transactions.

    python -m benchmarks.verification [--models 1000] [--repeats 5] [--output verification.json]

CPU time of one process, median of `--repeats` runs.  Blocks of 50 models, each model with two references;
every second one was replaced once, for one request.  The node's time to hand out transactions is left out,
and so is the comparison of both chains' events, which `blockful verify` makes once for all models.

    openings     the chameleon hash alone: one opening a model
    signatures   the owner's signature alone, of statements that are parsed
    record       every check of a model, nodes and weights from memory, not hashed
    nodes        the same, nodes from a store on disk that hashes them, weights of one byte
    all in       the same, with weights of 55 kB
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import process_time

from blockful_py.crypto import chameleon, curve, merkle, payload
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster
from blockful_py.ledger.protocols import Store
from blockful_py.record.checks import check_opening
from blockful_py.record.events import CheckedHistory
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, Redaction, parse_node, sign_statement
from blockful_py.record.request import Request, Start
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Claimed
from blockful_py.record.verify import Verification, Verifier
from blockful_py.storage.cid import cid_string
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Header, ModelTransaction, Point, Position, Uri

BLOCK = 50
CHAIN_ID, CONTRACT = 1337, bytes(19) + b"\x01"
OWNER = 4711
WEIGHTS = 55_000  # bytes


class Memory:
    """A store in memory."""

    def __init__(self) -> None:
        self.files: dict[Uri, bytes] = {}

    def add(self, data: bytes) -> Uri:
        uri = file_uri(data)
        self.files[uri] = data
        return uri

    def read(self, uri: Uri, limit: int) -> bytes:
        return self.files[uri]

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        yield self.files[uri][begin:]

    def prefetch(self, uris: Iterable[Uri]) -> None:
        pass

    def has(self, uri: Uri) -> bool:
        return uri in self.files

    def delete(self, *uris: Uri) -> None:
        for uri in uris:
            del self.files[uri]


@dataclass
class Snapshot:
    """A live chain as it was read, and its one group key."""

    headers_: list[Header]
    models: dict[Position, ModelTransaction]
    hashes: list[bytes]
    key: Point
    chain_id: int = CHAIN_ID
    address: bytes = CONTRACT

    def height(self) -> int:
        return len(self.headers_)

    def block_hash(self, height: int) -> bytes:
        return self.hashes[height]

    def headers(self, heights: Sequence[int]) -> list[Header]:
        return [self.headers_[height - 1] for height in heights]

    def transactions(self, positions: Sequence[Position]) -> list[ModelTransaction]:
        return [self.models[position] for position in positions]

    def roster(self, epoch: int) -> tuple[Roster, int]:
        return Roster((self.key,), 1, False, self.key), 1


def snapshot(count: int, store: Store, size: int) -> Snapshot:
    """A chain of `count` models, their nodes and weights of `size` bytes in `store`."""
    rng = SeededRng(b"verification")
    _, key = chameleon.keygen(rng)
    found = Snapshot([], {}, [payload.genesis_block_hash(CHAIN_ID, CONTRACT)], key)
    start = Start(name="m0", position="1:0")
    request = Request(starts=(start,), classes=(3,), paradigm="parallel", method="gradient_ascent", created=9)
    request = request.signed([OWNER], CHAIN_ID, CONTRACT)
    for first in range(0, count, BLOCK):
        height = first // BLOCK + 1
        for index in range(min(BLOCK, count - first)):
            place = Position(height, index)
            node = made_up(first + index, place, request, store.add(rng(size)))
            found.models[place] = transaction(place, node, store.add(node.to_bytes()), key, rng)
        leaves = [payload.block_leaf(t.position, t.ch) for p, t in found.models.items() if p.height == height]
        parent, root = found.hashes[-1], merkle.root(leaves)
        label = chameleon.label(CHAIN_ID, CONTRACT, Position.of_header(height).packed)
        content = payload.header_payload(parent, root, height, len(leaves))
        ch, _ = chameleon.hash_message(key, label, chameleon.message(0, content))
        found.headers_.append(Header(height, parent, ch, None, 0, 1, root, height, len(leaves)))
        found.hashes.append(payload.block_hash(parent, ch, root, height))
    return found


def made_up(number: int, place: Position, request: Request, weights: Uri) -> ModelNode:
    """A model that references the first two of the block before; replaced when its number is odd."""
    below = [Position(place.height - 1, index) for index in (0, 1)] if place.height > 1 else []
    statement = Statement(
        name=f"m{number}",
        user=number + 1,
        round=place.height,
        owner="0x" + curve.address(curve.multiply_base(OWNER)).hex(),
        weights=cid_string(weights),
        references=tuple(Reference(name=f"r{each}", position=str(each), accuracy=0.9) for each in below),
        accuracy=0.9,
        training={"architecture": "mlp", "epochs": 1, "seed": number, "rate": 0.1},
        created=place.height,
    )
    node = sign_statement(statement, OWNER, CHAIN_ID, CONTRACT)
    if number % 2 == 0 or place.height == 1:
        return node
    claims = Claimed(ad_f=0.0, ad_r=0.9)
    redaction = Redaction(version=1, weights=cid_string(weights), request=request, claims=claims)
    return node.model_copy(update={"redaction": redaction})


def transaction(place: Position, node: ModelNode, uri: Uri, key: Point, rng: SeededRng) -> ModelTransaction:
    references = tuple(reference.place() for reference in node.statement.references)
    owner, version = bytes.fromhex(node.statement.owner[2:]), 1 if node.redaction else 0
    content = payload.transaction_payload(uri, owner, payload.references_hash(references))
    label = chameleon.label(CHAIN_ID, CONTRACT, place.packed)
    ch, opening = chameleon.hash_message(key, label, chameleon.message(version, content))
    logged = opening if version else None
    return ModelTransaction(place, ch, logged, uri, version, 1, owner, True, references)


def rate(count: int, repeats: int, run: Callable[[], None]) -> float:
    """Models a second of CPU time; no run remembers openings of the one before."""
    taken = []
    for _ in range(repeats):
        chameleon.first_opening.cache_clear()
        start = process_time()
        run()
        taken.append(process_time() - start)
    return count / median(taken)


def verify(live: Snapshot, store: Store) -> Verification:
    return Verifier(live, live, store).verify_all(CheckedHistory((), ()))


def verified(live: Snapshot, store: Store) -> Callable[[], None]:
    def run() -> None:
        outcome = verify(live, store)
        assert outcome.passed, outcome.failures[0]

    return run


def measure(count: int, repeats: int) -> dict[str, float]:
    memory = Memory()
    live = snapshot(count, memory, WEIGHTS)
    nodes = [parse_node(memory.read(each.uri, MAX_NODE_BYTES)) for each in live.models.values()]
    moved = replace(live, models={p: replace(t, ch=t.ch ^ 1) for p, t in live.models.items()})
    assert len(verify(moved, memory).failures) == count

    def openings() -> None:
        for each in live.models.values():
            check_opening(live, live.key, each, "")

    def signatures() -> None:
        for node in nodes:
            node.signer(CHAIN_ID, CONTRACT)

    rates = {
        "openings": rate(count, repeats, openings),
        "signatures": rate(count, repeats, signatures),
        "record": rate(count, repeats, verified(live, memory)),
    }
    for name, size in (("nodes", 1), ("all in", WEIGHTS)):
        with tempfile.TemporaryDirectory() as folder:
            store = ContentStore(Path(folder) / "store")
            stored = snapshot(count, store, size)
            rates[name] = rate(count, repeats, verified(stored, store))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=1000, help="models on the chain (default 1000)")
    parser.add_argument("--repeats", type=int, default=5, help="runs, of which the median counts (default 5)")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    rates = measure(options.models, options.repeats)
    for name, found in rates.items():
        print(f"{name:12}{found:8.0f} models/s {1e6 / found:8.0f} us")
    if options.output:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        report = {"machine": machine, "models": options.models, "repeats": options.repeats, "rates": rates}
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
