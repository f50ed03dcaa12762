# SPDX-License-Identifier: Apache-2.0
"""Shared sums among machines: heads with the laboratory's bits, for every level of a request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from blockful_py.forget import Forget
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD, UNIT
from blockful_py.learning.models.ridge import head_of
from blockful_py.learning.sums import SHIFT, part_of, total_of
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.shown import shown
from blockful_py.types import Checked, Paradigm
from tests.federations import promised, small, trained
from tests.member.leaders import until
from tests.participant.conftest import Machines

pytestmark = pytest.mark.slow

LEARNING = {"epochs": 20, "root_factor": 3, "model": "analytic", "options": {"features": 8}}
UNLEARNING = {"parallel": "auto", "sequential": "auto", "blocks": 100_000}


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"learning": {**LEARNING, "shares_sums": True}, "unlearning": UNLEARNING}


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    settings = small(learning=LEARNING, unlearning=UNLEARNING)
    with trained(settings, tmp_path_factory.mktemp("laboratory") / "run", chains) as federation:
        yield federation


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    return machines.publish()


def canaries(laboratory: Federation, user: UserData) -> Iterator[bytes]:
    """Features of an owner's samples and their sums, in several types."""
    network = laboratory.setup.architecture.sums(initial_weights(laboratory.setup.federation))
    features, labels = network.features(user.train.x), user.train.y.numpy()
    rows, sums = features[:, :-1], part_of(features, labels, 10)[:, :12]
    for numbers, kinds in ((rows, ("u1", "<f8", "<f4", "<i8")), (sums, ("<i4", "<i8", "<f8"))):
        for kind in kinds:
            yield from (row.tobytes() for row in numbers.astype(kind) if np.count_nonzero(row) > 5)


def require_same(party: PartyRun, laboratory: Federation) -> None:
    """All heads in force are those of the laboratory's sums, which everybody sees."""
    ours, theirs = party.federation.models(), laboratory.models()
    assert ours.keys() == theirs.keys()
    for name, model in ours.items():
        numbers, unit = head_of(total_of(theirs[name].weights), int(theirs[name].weights[SHIFT]))
        assert np.array_equal(model.weights[HEAD].numpy(), numbers), name
        assert int(model.weights[UNIT]) == unit or not numbers.any()


def test_members_open_the_heads_of_a_laboratorys_sums(published: Machines, laboratory: Federation) -> None:
    with published.participants["z"].run() as party:
        require_same(party, laboratory)


def test_samples_and_sums_are_on_their_owners_disk_alone(published: Machines, laboratory: Federation) -> None:
    user = laboratory.setup.users[0]
    own = {"data", "participant-a"}
    files = [path for path in published.folder.rglob("*") if path.is_file()]
    others = [path for path in files if path.relative_to(published.folder).parts[0] not in own]
    stored = b"".join(path.read_bytes() for path in others)
    assert len(stored) > 1 << 22
    assert not any(canary in stored for canary in canaries(laboratory, user))


PARALLEL, SEQUENTIAL = Paradigm
REQUESTS = {
    "a class": (PARALLEL, "s", Forget.of_classes([3]), ("s", "x", "y")),
    "samples": (PARALLEL, "t", Forget.of_samples([(4, 1)]), ("t", "y")),
    "samples, in sequence": (SEQUENTIAL, "s", Forget.of_samples([(3, 0), (3, 1)]), ("s", "x", "y")),
    "a client": (PARALLEL, "b", Forget.of_clients([2]), ("b", "t", "z", "y")),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_in_turn_give_the_laboratorys_heads(
    published: Machines, laboratory: Federation, name: str
) -> None:
    paradigm, start, forget, reached = REQUESTS[name]
    with published.participants[start].run() as party:
        starts = () if forget.owners() else (start,)
        number = party.request(starts, forget, paradigm, None)
        assert [node.name for node in party.take_part(number)] == [start] * bool(forget.samples)
    laboratory.unlearn(starts=[start], forget=forget, paradigm=paradigm)
    with published.participants["y"].run() as party:
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)
        require_same(party, laboratory)
        certificate = party.certificate(number)
        assert {each.name for each in certificate.statement.replaced} == {*reached}
        assert party.federation.verify().passed and party.federation.audit().passed
    check_certificate(certificate)
    said = shown(certificate.statement)
    assert said.review is Checked.EXACT and said.warnings == ()
    assert said.kind.startswith("Exact given the graph, recomputed: ")
    promised(published.contracts)
