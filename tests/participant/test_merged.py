# SPDX-License-Identifier: Apache-2.0
"""Merged models among machines: every level, with the laboratory's bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.sums import OWN
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.shown import checked_in
from blockful_py.types import Checked, Paradigm
from tests.federations import promised, small, trained
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_sums import in_force, is_carried_out, same

pytestmark = pytest.mark.slow

LEARNING = {"model": "merged", "options": {"network": "mlp"}, "epochs": 1, "root_factor": 2}
RULES = {
    "federation": {"situation": "few_hold"},
    "learning": LEARNING,
    "unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000},
}


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return RULES


@pytest.fixture(scope="module")
def laboratory(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with trained(small(**RULES), tmp_path_factory.mktemp("laboratory") / "run", chains) as federation:
        yield federation


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    return machines.publish()


def test_owners_make_the_parts_that_a_laboratory_makes(published: Machines, laboratory: Federation) -> None:
    with published.participants["z"].run() as party:
        assert same(party, laboratory)


def test_a_class_needs_the_parts_of_its_starts(published: Machines, laboratory: Federation) -> None:
    """Two owners sign; each hands in a part that it trained without the class, and a member adds them up."""
    forget = Forget.of_classes([3])
    with published.participants["s"].run() as party:
        file = party.sign(party.draft(("s", "t"), forget, Paradigm.PARALLEL, None))
        assert "parts of models that are no starts keep a class" in str(
            party.federation.advice(file.request).caveat
        )
    with published.participants["t"].run() as party:
        number = party.file(party.sign(party.asked(file)))
    for name in ("s", "t"):
        with published.participants[name].run() as party:
            assert [node.name for node in party.take_part(number)] == [name]
    require_same(published, laboratory, number, Checked.RECOMPUTED)


@pytest.mark.parametrize("paradigm", Paradigm)
def test_samples_need_the_part_of_their_owner(
    published: Machines, laboratory: Federation, paradigm: Paradigm
) -> None:
    row = [*Paradigm].index(paradigm)
    with published.participants["s"].run() as party:
        number = party.request((), Forget.of_samples([(3, row)]), paradigm, None)
        assert [node.name for node in party.take_part(number)] == ["s"]
    require_same(published, laboratory, number, Checked.RECOMPUTED)


def test_a_client_needs_nobody(published: Machines, laboratory: Federation) -> None:
    with published.participants["b"].run() as party:
        number = party.request((), Forget.of_clients([2]), Paradigm.SEQUENTIAL, None)
        assert party.take_part(number) == ()
    require_same(published, laboratory, number, Checked.EXACT)
    with published.participants["y"].run() as party:
        assert not in_force(party.federation)["b"][OWN].any()
    promised(published.contracts)


def require_same(published: Machines, laboratory: Federation, number: int, checked: Checked) -> None:
    """The request ends with the bits that it has in a laboratory."""
    with published.participants["y"].run() as party:
        request = party.filed(number)
        starts = [start.name for start in request.starts]
        laboratory.unlearn(starts=starts, forget=request.forget, paradigm=Paradigm(request.paradigm))
        until(lambda: is_carried_out(party, number))
        assert same(party, laboratory)
        certificate = party.certificate(number)
        assert party.federation.verify().passed and party.federation.audit().passed
    assert checked_in(request, check_certificate(certificate).record.nodes.values()) is checked
