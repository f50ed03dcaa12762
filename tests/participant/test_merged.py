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
from blockful_py.record.shown import MERGED, Shown, checked_in, shown
from blockful_py.types import Checked, Paradigm
from tests.federations import promised, small, trained
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_sums import in_force, is_carried_out, same

pytestmark = pytest.mark.slow

LEARNING = {"model": "merged", "epochs": 1, "root_factor": 2}
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


SHARES = {"s": 1.0, "t": 0.5}
"""Owners' disclosures."""


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for name, share in SHARES.items():
        machines.participants[name].disclose(share)
    return machines.publish()


def test_owners_make_the_parts_that_a_laboratory_makes(published: Machines, laboratory: Federation) -> None:
    with published.participants["z"].run() as party:
        assert same(party, laboratory)


def test_a_class_needs_the_parts_of_its_starts(published: Machines, laboratory: Federation) -> None:
    """Two owners sign; each hands in a part that it trained without the class, and a member adds them up.

    Members check both trainings, which have the laboratory's bits all the same.
    """
    forget = Forget.of_classes([3])
    with published.participants["s"].run() as party:
        file = party.sign(party.draft(("s", "t"), forget, Paradigm.PARALLEL, None))
        assert "parts of models that are no starts keep a class" in str(
            party.federation.advice(file.request).caveat
        )
    with published.participants["t"].run() as party:
        number = party.file(party.sign(party.asked(file)))
    for name, share in SHARES.items():
        check = published.take(name, number).spot_check
        assert check is not None and check.from_initial
        assert share <= check.challenged / check.intervals <= share + 1 / check.intervals
    told = require_same(published, laboratory, number, Checked.RECOMPUTED)
    assert "Of the starts, 2 of 2 showed a training without the data" in told.kind


@pytest.mark.parametrize("paradigm", Paradigm)
def test_samples_need_the_part_of_their_owner(
    published: Machines, laboratory: Federation, paradigm: Paradigm
) -> None:
    row = [*Paradigm].index(paradigm)
    with published.participants["s"].run() as party:
        number = party.request((), Forget.of_samples([(3, row)]), paradigm, None)
    assert published.take("s", number).spot_check is not None
    require_same(published, laboratory, number, Checked.RECOMPUTED)


def test_a_client_needs_nobody(published: Machines, laboratory: Federation) -> None:
    with published.participants["b"].run() as party:
        number = party.request((), Forget.of_clients([2]), Paradigm.SEQUENTIAL, None)
        assert party.take_part(number) == ()
    assert require_same(published, laboratory, number, Checked.EXACT).kind == MERGED
    with published.participants["y"].run() as party:
        assert not in_force(party.federation)["b"][OWN].any()
    promised(published.contracts)


def require_same(published: Machines, laboratory: Federation, number: int, checked: Checked) -> Shown:
    """The request ends with the bits that it has in a laboratory; the certificate in a few words."""
    with published.participants["y"].run() as party:
        request = party.filed(number)
        starts = [start.name for start in request.starts]
        laboratory.unlearn(starts=starts, forget=request.forget, paradigm=Paradigm(request.paradigm))
        until(lambda: is_carried_out(party, number))
        assert same(party, laboratory)
        certificate = party.certificate(number)
        assert party.federation.verify().passed and party.federation.audit().passed
    assert checked_in(request, check_certificate(certificate).record.nodes.values()) is checked
    return shown(certificate.statement)
