# SPDX-License-Identifier: Apache-2.0
"""Members recompute merged models: at publication, at every level of a request, in both paradigms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from blockful_py.engine.jobs import JobState
from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.models import merged
from blockful_py.learning.sums import INHERITED, OWN, with_part
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.shown import checked_by_members
from blockful_py.settings import Settings
from blockful_py.types import Checked, Paradigm
from tests.federations import put_back, readable, set_back, small, trained


def settings() -> Settings:
    learning = {"model": "merged", "options": {"network": "mlp"}, "epochs": 1, "root_factor": 1}
    unlearning = {"parallel": "auto", "sequential": "auto"}
    return small(federation={"situation": "few_hold"}, learning=learning, unlearning=unlearning)


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return trained(settings(), tmp_path_factory.mktemp("merged") / "run", chains)


@pytest.fixture
def federation(origin: Federation) -> Iterator[Federation]:
    with readable(origin), put_back(origin.nodes.live, origin.nodes.archive):
        yield origin
    if origin.context.journal.open_job() is not None:
        origin.context.journal.close_job(JobState.ABORTED)


LEVELS = {
    "class": (Forget.of_classes([3]), None, Checked.RECOMPUTED),
    "client": (Forget.of_clients([3]), ["s"], Checked.EXACT),
    "sample": (Forget.of_samples([(3, 0), (4, 1)]), None, Checked.RECOMPUTED),
}


@pytest.mark.parametrize("level", LEVELS)
def test_both_paradigms_give_the_same_bits_at_every_level(federation: Federation, level: str) -> None:
    forget, starts, expected = LEVELS[level]
    before = {name: model.weights for name, model in federation.models().items()}
    found: list[dict[str, Weights]] = []
    for paradigm in Paradigm:
        with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
            done = federation.unlearn(starts=starts, forget=forget, paradigm=paradigm)
            assert done.request.method == 'subtract {"merged":true}'
            assert checked_by_members(done.request) is expected
            assert federation.verify().passed and federation.audit().passed
            found.append({name: model.weights for name, model in federation.models().items()})
    parallel, sequential = found
    assert all(equal(parallel[name], sequential[name]) for name in parallel)
    assert not parallel["s"][OWN].equal(before["s"][OWN])
    assert parallel["s"][OWN].any() == (level != "client")
    assert parallel["y"][OWN].equal(before["y"][OWN])


def test_requests_one_after_the_other_give_the_same_bits_in_any_order(federation: Federation) -> None:
    asked = [(["s", "t"], Forget.of_classes([3])), (["t"], Forget.of_samples([(4, 0)]))]
    found: list[dict[str, Weights]] = []
    for order in (asked, asked[::-1]):
        with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
            for starts, forget in order:
                federation.unlearn(starts=starts, forget=forget)
            found.append({name: model.weights for name, model in federation.models().items()})
    assert all(equal(found[0][name], found[1][name]) for name in found[0])


def test_a_request_that_leaves_a_part_is_refused_before_it_is_signed(federation: Federation) -> None:
    for starts, forget, said in (
        (["s"], Forget.of_classes([3]), "t would keep sums of class 3"),
        (["x"], Forget.of_clients([1]), "a would keep sums of client 1"),
    ):
        with pytest.raises(UnlearningError, match=said):
            federation.unlearn(starts=starts, forget=forget)
    with pytest.raises(UnlearningError, match="'retrain' changes the weights of a network"):
        federation.unlearn(method="retrain", paradigm=Paradigm.SEQUENTIAL)
    federation.unlearn(starts=["s", "t"], forget=Forget.of_classes([3]))
    again = federation.unlearn(starts=["s"], forget=Forget.of_classes([3]))
    assert {*again.nodes} == {"s", "x", "y"}  # the part of t lacks the class already


def doubled(weights: Weights) -> Weights:
    return {**weights, INHERITED: weights[INHERITED] * 2}


def with_other_base(weights: Weights) -> Weights:
    return {**weights, "base.head.bias": weights["base.head.bias"] + 1}


def with_twice_the_weight(weights: Weights) -> Weights:
    """A part that would count twice in the mean of its descendants."""
    return {**weights, OWN: (2 * weights[OWN].long()).clamp(max=2**31 - 1).to(torch.int32)}


LIES: dict[str, tuple[Callable[[Weights], Weights], str]] = {
    "inherits more": (doubled, "inherits others than its references'"),
    "another base": (with_other_base, "this merged model's base is not the shared one, in 'base.head.bias'"),
    "twice the weight": (with_twice_the_weight, "the own part of a merged model is no change of weights"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_model_that_is_not_its_references_and_a_part_is_refused(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    lied, said = LIES[lie]

    def lying(weights: Weights, part: Tensor) -> Weights:
        return lied(with_part(weights, part))  # type: ignore[arg-type]

    monkeypatch.setattr(merged, "with_part", lying)
    with pytest.raises(QuorumError, match=said):
        trained(settings(), tmp_path / "run", chains)
