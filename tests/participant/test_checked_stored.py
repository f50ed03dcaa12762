# SPDX-License-Identifier: Apache-2.0
"""Clean models stored at publication whose trainings members repeat in part; and a forged one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.errors import RefusedError
from blockful_py.forget import Forget
from blockful_py.learning.intervals import Recorder, weights_digest
from blockful_py.learning.models import Architecture
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.jobs import increments
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.shown import shown
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Checked, Paradigm
from blockful_py.unlearning.stored_increments import store_clean_models
from tests.federations import GRAPH
from tests.participant.conftest import Machines
from tests.participant.test_checked_waves import certified
from tests.participant.test_waves import wait_out

pytestmark = pytest.mark.processes

BLOCKS = 100
FORGED = 3
"""The class that b's stored clean model knows."""


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {
        "learning": {"increments": (FORGED, 4), "clean_references": True},
        "unlearning": {"parallel": "auto", "sequential": "auto", "blocks": BLOCKS},
    }


def altered(weights: Weights) -> Weights:
    return {name: tensor + 1 for name, tensor in weights.items()}


def forging(*arguments: Any) -> Any:
    """The owner stores other weights than its training gives."""
    made = store_clean_models(*arguments)
    forged = {
        name: replace(each, weights=altered(each.weights)) for name, each in made.get(FORGED, {}).items()
    }
    return {**made, FORGED: forged}


class Forger(Recorder):
    """Commits to the stored weights as the last interval's result."""

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (fitted,) = super().__call__(architecture, jobs)
        forged = altered(fitted.weights)
        self.states[-1] = weights_digest(forged) + self.states[-1][64:]
        return (Fitted(forged, fitted.curve),)


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """Every owner lets members repeat all of its trainings, and stores clean models; b's is forged."""
    for name in GRAPH:
        machines.participants[name].disclose(1.0)
        with machines.participants[name].run() as party, pytest.MonkeyPatch.context() as patch:
            if name == "b":
                patch.setattr(increments, "store_clean_models", forging)
            party.train_next()
    return machines


def asked(machines: Machines, name: str, label: int) -> int:
    with machines.participants[name].run() as party:
        return party.request((name,), Forget.of_classes([label]), Paradigm.PARALLEL, None)


def stored(party: PartyRun, name: str, label: int) -> Weights:
    entry = party.federation.catalogue()[name].node.increment(label)
    assert entry is not None and entry.checkable
    return party.federation.weights.read(parse_cid(entry.weights))


def test_stored_clean_models_are_checked_from_the_initial_weights_on(published: Machines) -> None:
    number = asked(published, "y", 4)
    parts = {name: published.take(name, number) for name in ("a", "b", "s", "x", "t")}
    with published.participants["y"].run() as party:
        ahead = stored(party, "y", 4)
        for name in ("x", "t"):
            assert equal(party.federation.weights.read(parts[name].weights), stored(party, name, 4))
        (parts["y"],) = party.take_part(number)
    assert all(node.spot_check and node.spot_check.from_initial for node in parts.values())
    certificate = certified(published, number)
    with published.participants["a"].run() as party:
        assert equal(party.federation.weights.read(parts["y"].weights), ahead)
    check_certificate(certificate)
    told = shown(certificate.statement)
    assert told.review is Checked.SPOT_CHECKED
    assert "The clean models that they start from were checked too, down to the initial weights" in told.kind


def test_a_forged_one_is_left_out_and_one_that_is_not_shown_is_named(published: Machines) -> None:
    """b's owner cannot show the training of what it stored; a's lets nobody check any more."""
    number = asked(published, "z", FORGED)
    published.participants["a"].disclose(0.0)
    assert published.take("a", number).redaction is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        assert published.take("b", number).spot_check
    with (
        published.participants["z"].run() as party,
        pytest.raises(RefusedError, match="does not lead to the committed state"),
    ):
        party.take_part(number)
    wait_out(published, BLOCKS // 2 + 1)
    check = published.take("z", number).spot_check
    assert check and not check.from_initial
    told = shown(certified(published, number).statement)
    assert told.review is Checked.SPOT_CHECKED
    assert "Not all clean models that they start from were checked." in told.kind
