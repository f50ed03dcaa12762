# SPDX-License-Identifier: Apache-2.0
"""One federation whose s, t, x and y were redacted once, and proofs of its models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.proving import prove
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.fields import octets
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.checking import check_record
from blockful_py.record.proofs.proof import Proof
from tests.federations import readable, set_back, small, trained


@dataclass(frozen=True, repr=False)
class Scene:
    """The federation, the changes by its request, and a proof of `x` (version 1)."""

    federation: Federation
    unlearned: Unlearned
    proof: Proof

    def anchors(self) -> Anchors:
        """The trust anchors of a user of this federation's chains."""
        contracts = self.federation.contracts
        return Anchors(
            frozenset({contracts.live.block_hash(contracts.live.height())}),
            frozenset({contracts.committee.key_id(1)}),
            frozenset({contracts.archive.head()}),
        )

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """Whatever happens on both chains and in the live store is undone."""
        folder, nodes = self.federation.stores.live.directory, self.federation.nodes
        kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        try:
            with readable(self.federation), set_back(self.federation, nodes.live, nodes.archive):
                yield
        finally:
            for path, data in kept.items():
                path.write_bytes(data)


@pytest.fixture(scope="package")
def scene(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with trained(small(), tmp_path_factory.mktemp("proofs") / "run", chains) as federation:
        unlearned = federation.unlearn()
        yield Scene(federation, unlearned, prove(federation, ["x"]))


@pytest.fixture(scope="package")
def anchors(scene: Scene) -> Anchors:
    """By the proof itself, which this test suite made."""
    record = check_record(scene.proof.record)
    assert scene.proof.archive is not None
    found = Anchors(
        frozenset({record.block_hashes[record.last]}),
        frozenset(record.key_ids().values()),
        frozenset({octets(scene.proof.archive.head)}),
    )
    assert found == scene.anchors()
    return found
