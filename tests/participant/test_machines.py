# SPDX-License-Identifier: Apache-2.0
"""A federation of machines does what the laboratory does, and nobody has another's data."""

from __future__ import annotations

import hashlib

import pytest

from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Paradigm
from tests.federations import GRAPH, STARTS, small
from tests.member.leaders import until
from tests.participant.conftest import Machines

KEYS = "blockful_py.pipeline.jobs.context.random_keys"


def key_of(content: bytes) -> bytes:
    """A data key that follows from the content, so that both modes give equal files."""
    return hashlib.sha256(b"key" + content).digest()


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """The same federation in one process, one model a block."""
    settings = small(chain={"packaging_interval": 0, "block_size": 1_000})
    patch = pytest.MonkeyPatch()
    patch.setattr(
        "blockful_py.pipeline.run.identities.Identities.data_key", lambda self, content: key_of(content)
    )
    patch.setattr(KEYS, key_of)
    with Federation.create(
        settings, tmp_path_factory.mktemp("laboratory") / "run", nodes=chains
    ) as federation:
        federation.train()
        yield federation
    patch.undo()


def publish(machines: Machines) -> None:
    for name in GRAPH:
        with machines.participants[name].run() as party:
            party.train_next()


def test_same_data_seeds_and_order_give_the_same_weights_and_places(
    machines: Machines, laboratory: Federation
) -> None:
    publish(machines)
    with machines.participants["a"].run() as party:
        models = party.federation.catalogue().models
    expected = laboratory.catalogue().models
    assert {name: each.position for name, each in models.items()} == {
        name: each.position for name, each in expected.items()
    }
    assert {name: each.node.weights for name, each in models.items()} == {
        name: each.node.weights for name, each in expected.items()
    }


def test_a_parallel_request_goes_through_the_graph(machines: Machines, laboratory: Federation) -> None:
    laboratory.unlearn(classes=[3])
    owners = [machines.participants[name] for name in STARTS]
    with owners[0].run() as party:
        number = party.request(("s",), Forget.of_classes([3]), Paradigm.PARALLEL, None, 100_000)
        party.take_part(number)

    def is_done() -> bool:
        return all(machines_version(machines, name) == 1 for name in ("s", "x", "y"))

    until(is_done)


def machines_version(machines: Machines, name: str) -> int:
    with machines.participants["a"].run() as party:
        return party.federation.catalogue()[name].version
