# SPDX-License-Identifier: Apache-2.0
"""A verification goes on from a checkpoint: what came after is checked, what stands is not checked again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from blockful_py.errors import (
    FormatError,
    MissingEventsError,
    NodeError,
    ReorganisedError,
    RunError,
    SettingsError,
)
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.contracts import EVENTS
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.verify import Verification
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from tests.chain.pruning import pruned
from tests.federations import AFFECTED, GRAPH, set_back, small, trained
from tests.limits import ANY_SIZE
from tests.record.slots import VERSION, Slots


@dataclass(frozen=True)
class Ground:
    """A federation, and checkpoints before and after its request."""

    federation: Federation
    before: Path
    after: Path

    def since(self, checkpoint: Path) -> Verification:
        return self.federation.verify(since=checkpoint)


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("checkpoint")
    before, after = folder / "before.json", folder / "after.json"
    with trained(small(), folder / "run", chains) as federation:
        assert federation.verify(checkpoint=before).checked == len(GRAPH)
        federation.unlearn()
        outcome = federation.verify(since=before, checkpoint=after)
        assert outcome.passed
        assert (outcome.checked, outcome.known) == (len(AFFECTED), len(GRAPH) - len(AFFECTED))
        yield Ground(federation, before, after)


def test_nothing_is_checked_again_where_nothing_came_after(ground: Ground) -> None:
    outcome = ground.since(ground.after)
    assert outcome.passed
    assert (outcome.checked, outcome.known) == (0, len(GRAPH))


def test_a_checkpoint_written_from_another_is_that_of_a_whole_verification(
    ground: Ground, tmp_path: Path
) -> None:
    ground.federation.verify(checkpoint=tmp_path / "whole.json")
    assert (tmp_path / "whole.json").read_bytes() == ground.after.read_bytes()


def test_models_that_a_request_replaced_since_are_checked_wholly(ground: Ground) -> None:
    federation = ground.federation
    node = federation.catalogue()["x"].node
    store = federation.stores.live
    data = store.read(node.weights, ANY_SIZE)
    store.delete(node.weights)
    try:
        failures = ground.since(ground.before).failures
        assert [(each.model.split()[-1], each.check) for each in failures] == [
            (str(federation.catalogue()["x"].position), "content")
        ]
        assert ground.since(ground.after).passed  # whose files are not read again
    finally:
        store.add(data)


def test_what_was_altered_without_an_event_is_found(ground: Ground) -> None:
    federation = ground.federation
    live, place = federation.contracts.live, federation.catalogue()["a"].position
    slots = Slots(live)
    for alter in (
        lambda: slots.write(slots.uri(place), slots.read(slots.uri(place)) ^ 1),
        lambda: slots.write_field(place.height, place.index, VERSION, 5),
    ):
        with set_back(federation, federation.nodes.live, federation.nodes.archive):
            alter()
            failures = ground.since(ground.after).failures
            assert place in {each.position for each in failures}
    assert ground.since(ground.after).passed


def test_a_failed_verification_writes_no_checkpoint(ground: Ground, tmp_path: Path) -> None:
    federation, path = ground.federation, tmp_path / "none.json"
    store, node = federation.stores.live, federation.catalogue()["b"].node
    data = store.read(node.weights, ANY_SIZE)
    store.delete(node.weights)
    try:
        assert not federation.verify(checkpoint=path).passed
    finally:
        store.add(data)
    assert not path.exists()


def test_a_checkpoint_is_of_the_whole_chain(ground: Ground) -> None:
    with pytest.raises(SettingsError, match="name no models"):
        ground.federation.verify(["x"], since=ground.after)


Alteration = Callable[[dict[str, Any]], object]


def altered(ground: Ground, folder: Path, alter: Alteration) -> Path:
    document = json.loads(ground.after.read_bytes())
    alter(document)
    path = folder / "altered.json"
    path.write_text(json.dumps(document, sort_keys=True, indent=1) + "\n")
    return path


def other_block(side: str) -> Alteration:
    return lambda document: document[side].update(hash="0x" + "ab" * 32)


def later_block(side: str) -> Alteration:
    return lambda document: document[side].update(block=document[side]["block"] + 1_000_000)


@pytest.mark.parametrize("side", ["live", "archive"])
@pytest.mark.parametrize("alter", [other_block, later_block])
def test_a_block_that_the_chain_does_not_have_is_refused(
    ground: Ground, tmp_path: Path, side: str, alter: Callable[[str], Alteration]
) -> None:
    with pytest.raises(ReorganisedError, match="verify the whole chain"):
        ground.since(altered(ground, tmp_path, alter(side)))


@pytest.mark.parametrize(
    "alter",
    [
        lambda document: document["live"].update(contract="0x" + "12" * 20),
        lambda document: document["archive"].update(chain_id=77),
    ],
)
def test_a_checkpoint_of_another_federation_is_refused(
    ground: Ground, tmp_path: Path, alter: Alteration
) -> None:
    with pytest.raises(RunError, match="use a checkpoint of this run"):
        ground.since(altered(ground, tmp_path, alter))


def test_a_file_that_is_no_checkpoint_is_refused(ground: Ground, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="--checkpoint"):
        ground.since(tmp_path / "missing.json")
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(ground.after.read_bytes()[:-40])
    with pytest.raises(FormatError, match="no checkpoint"):
        ground.since(damaged)
    with pytest.raises(FormatError, match="contradicts itself"):
        ground.since(altered(ground, tmp_path, lambda document: document["models"].popitem()))


def first_model(document: dict[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = document["models"]["1:0"]
    return model


@pytest.mark.parametrize(
    "alter",
    [
        lambda document: first_model(document).update(uri=cid_string(file_uri(b"forged"))),
        lambda document: first_model(document).update(version=9),
        lambda document: document["headers"][0].update(version=9),
        lambda document: document.update(head="0x" + "cd" * 32),
        lambda document: document.update(length=document["length"] - 1),
    ],
    ids=["uri", "version", "header", "head", "length"],
)
def test_a_forged_checkpoint_contradicts_the_chains(
    ground: Ground, tmp_path: Path, alter: Alteration
) -> None:
    assert not ground.since(altered(ground, tmp_path, alter)).passed


@pytest.mark.parametrize("chain", ["live", "archive"])
def test_a_forged_number_of_events_contradicts_the_contract(
    ground: Ground, tmp_path: Path, chain: str
) -> None:
    path = altered(ground, tmp_path, lambda document: document[chain].update(events=1))
    with pytest.raises(MissingEventsError, match="the contract has counted"):
        ground.since(path)


def test_a_forged_digest_has_its_model_checked(ground: Ground, tmp_path: Path) -> None:
    path = altered(ground, tmp_path, lambda each: first_model(each).update(digest="0x" + "ef" * 32))
    outcome = ground.since(path)
    assert outcome.passed
    assert outcome.checked == 1


def test_a_node_that_has_pruned_serves_a_verification_since_a_checkpoint(
    ground: Ground, tmp_path: Path
) -> None:
    federation = ground.federation
    shutil.copytree(federation.run.path, tmp_path / "run", ignore=shutil.ignore_patterns(EVENTS))
    kept = json.loads(ground.before.read_bytes())
    nodes = copy(federation.nodes)
    nodes.live = pruned(nodes.live, kept["live"]["block"])
    nodes.archive = pruned(nodes.archive, kept["archive"]["block"])
    with Federation.open(tmp_path / "run", nodes=nodes, settle=False) as reader:
        outcome = reader.verify(since=ground.before)
        assert outcome.passed
        assert outcome.checked == len(AFFECTED)
        with pytest.raises(NodeError, match=r"archive node.*verify --since"):
            reader.verify()
