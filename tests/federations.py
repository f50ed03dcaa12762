# SPDX-License-Identifier: Apache-2.0
"""A small federation for tests: seven users, two starts, four waves; it trains in a moment.

    a    b
    |\\  /|
    | z  |
    s    t        starts
    |\\   |
    | x  |        a -> x as well as s -> x
     \\|  |
      y -+

Affected by s and t: x and y.  Untouched: a, b and z.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from blockful_py.chain.node import Node
from blockful_py.errors import KeyDestroyedError, ReorganisedError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.history import check_promises
from blockful_py.settings import Settings
from blockful_py.storage.cid import cid_string
from blockful_py.types import ModelTransaction, Uri
from tests.limits import ANY_SIZE

GRAPH = {
    "a": (),
    "b": (),
    "s": ("a",),
    "t": ("b",),
    "z": ("a", "b"),
    "x": ("a", "s"),
    "y": ("t", "x"),
}
STARTS = ("s", "t")
AFFECTED = ("s", "t", "x", "y")
UNTOUCHED = ("a", "b", "z")
BLOCKS = 3
"""Blocks that hold the affected models: s and t share one."""

TOML = """
[federation]
scenario = "scripted"
situation = "all_hold"
users = 7

[federation.graph]
a = []
b = []
s = ["a"]
t = ["b"]
z = ["a", "b"]
x = ["a", "s"]
y = ["t", "x"]

[learning]
epochs = 1
root_factor = 1

[unlearning]
starts = ["s", "t"]
classes = [3]
parallel = "gradient_ascent"
sequential = "retrain"

[committee]
size = 4

[chain]
packaging_interval = 0
"""


def small(**sections: dict[str, Any]) -> Settings:
    """Settings of the small federation; keyword arguments change sections."""
    document: dict[str, dict[str, Any]] = {
        "federation": {"scenario": "scripted", "situation": "all_hold", "users": 7, "graph": GRAPH},
        "learning": {"epochs": 1, "root_factor": 1},
        "unlearning": {
            "starts": STARTS,
            "classes": (3,),
            "parallel": "gradient_ascent",
            "sequential": "retrain",
        },
        "committee": {"size": 4},
        "chain": {"packaging_interval": 0},
    }
    for section, changes in sections.items():
        document[section] = {**document.get(section, {}), **changes}
    return Settings.parse(document)


def on(chains: Nodes) -> tuple[str, str]:
    """Settings for a command's `--set` that have it use these chains."""
    return f'chain.live_url="{chains.live.url}"', f'chain.archive_url="{chains.archive.url}"'


def trained(settings: Settings, directory: Path, nodes: Nodes) -> Federation:
    """A federation with all models published."""
    federation = Federation.create(settings, directory, nodes=nodes)
    federation.train()
    return federation


def transactions(federation: Federation) -> dict[str, ModelTransaction]:
    """The live chain's transactions by model."""
    models = federation.catalogue().models
    found = federation.contracts.live.transactions([placed.position for placed in models.values()])
    return dict(zip(models, found, strict=True))


def weights(federation: Federation) -> dict[str, str]:
    """CIDs of the current weights, by model."""
    return {name: cid_string(placed.node.weights) for name, placed in federation.catalogue().models.items()}


def versions(federation: Federation) -> dict[str, int]:
    return {name: placed.version for name, placed in federation.catalogue().models.items()}


def store_weights(federation: Federation, weights: Weights) -> Uri:
    """Seals weights into the live store and gives the members their key."""
    sealed = federation.context.keys.seal(weights)
    federation.context.keys.keyring.deliver({sealed.uri: sealed.key})
    return federation.stores.live.add_pieces(sealed.pieces())


@contextmanager
def readable(federation: Federation) -> Iterator[None]:
    """Restores files of the live store and data keys that are gone afterwards."""
    kept = {uri: federation.stores.live.read(uri, ANY_SIZE) for uri in federation.stores.live}
    keys = {uri: key for uri in kept if (key := _key_of(federation, uri)) is not None}
    try:
        yield
    finally:
        for data in kept.values():
            federation.stores.live.add(data)
        federation.context.keys.keyring.deliver(keys)


def _key_of(federation: Federation, uri: Uri) -> bytes | None:
    try:
        return federation.context.keys.keyring.find((uri,))[uri]
    except KeyDestroyedError:
        return None


@contextmanager
def put_back(*nodes: Node) -> Iterator[None]:
    """Undoes all changes on the chains of `nodes`."""
    marks = [(node, node.rpc.call("evm_snapshot")) for node in nodes]
    try:
        yield
    finally:
        for node, mark in marks:
            assert node.rpc.call("evm_revert", mark)


@contextmanager
def set_back(federation: Federation, *nodes: Node) -> Iterator[None]:
    """Calls `put_back`; a federation that reads the chains meanwhile takes it for a reorganisation."""
    with put_back(*nodes):
        yield
    with suppress(ReorganisedError):
        federation.contracts.require_unchanged()


def promised(contracts: Contracts, *, unfinished: bool = False) -> None:
    """Checks that both chains' events keep every promise; `unfinished` allows it for the newest decisions."""
    assert check_promises(contracts.live, contracts.archive, unfinished=unfinished).violations == ()


def forgets(federation: Federation, number: int) -> None:
    """Checks that a request succeeds, exactly once, and that everything verifies."""
    before, archived = versions(federation), federation.contracts.archive.length()
    unlearned = federation.unlearn(classes=[number])
    assert unlearned.nodes.keys() == set(AFFECTED)
    assert unlearned.counted == unlearned.formula
    assert versions(federation) == {name: before[name] + (name in AFFECTED) for name in GRAPH}
    assert federation.contracts.archive.length() == archived + len(AFFECTED)
    assert federation.verify().passed
    assert federation.audit().passed
    promised(federation.contracts)
