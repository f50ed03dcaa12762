# SPDX-License-Identifier: Apache-2.0
"""A federation continues after requests, and trains on no forgotten samples again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from blockful_py.engine.jobs import Job, JobState, Kind
from blockful_py.errors import RunError, SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.federation import TrainedModel, train_federation
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.weights import equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.resume import resume
from blockful_py.pipeline.run.lease import rounds_of, training_text
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import small, trained

ORGANIC = {"scenario": "organic", "users": 4, "graph": None}
THREE, FIRST, LEAVER = Forget.of_classes([3]), Forget.of_samples([(2, 0)]), Forget.of_clients([4])


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """Users 1, 2 and 4 asked for a class, for a sample and to leave, after r1 to r4."""
    settings = small(federation=ORGANIC, unlearning={"starts": ("r1", "r2")})
    federation = trained(settings, tmp_path_factory.mktemp("going_on") / "run", chains)
    for start, forget in {"r1": THREE, "r2": FIRST, "r4": LEAVER}.items():
        federation.unlearn([start], forget=forget)
    return federation


def trained_beside(
    federation: Federation, before: dict[str, TrainedModel], opted_out: dict[int, tuple[Forget, ...]]
) -> dict[str, TrainedModel]:
    """The models of the second round, trained beside the pipeline."""
    setup = federation.setup.with_rounds(2)
    users = [replace(user, train=retained_after(user, opted_out.get(user.index, ()))) for user in setup.users]
    waves = train_federation(setup.federation, users, before.values(), left={4})
    return {model.name: model for wave in waves for model in wave}


def test_later_models_are_trained_without_what_their_owners_opted_out_of(federation: Federation) -> None:
    asked = {1: (THREE,), 2: (FIRST,), 4: (LEAVER,)}
    assert federation.opted_out() == asked
    before = federation.models()
    federation.train(rounds=2)
    after = federation.models()
    expected = trained_beside(federation, before, asked)
    assert after.keys() - before.keys() == expected.keys() == {"r5", "r6", "r7"}
    assert all(equal(after[name].weights, expected[name].weights) for name in expected)
    taught_again = trained_beside(federation, before, {})
    assert not equal(after["r5"].weights, taught_again["r5"].weights)
    assert not equal(after["r6"].weights, taught_again["r6"].weights)
    assert federation.verify().passed
    assert federation.train(rounds=2) == ()


def test_later_requests_leave_it_out_too(federation: Federation) -> None:
    federation.train(rounds=2)
    catalogue = federation.catalogue()
    asked = federation.draft_request(["r6"], Forget.of_classes([8])).request
    found = federation.context.history.earlier_forgets([catalogue["r5"], catalogue["r7"]], asked)
    assert found == {"r5": (THREE,), "r7": ()}
    federation.unlearn(["r6"], [8])
    assert federation.opted_out()[2] == (FIRST, Forget.of_classes([8]))
    assert federation.verify().passed


def test_a_training_of_more_rounds_is_resumed_to_their_end(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = Publisher.publish

    def interrupted(publisher: Publisher, models: Sequence[TrainedModel], *rest: object) -> object:
        if "r10" in {model.name for model in models}:
            raise KeyboardInterrupt
        return publish(publisher, models, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Publisher, "publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            federation.train(rounds=4)
    with pytest.raises(RunError, match="a training up to 4 rounds is unfinished"):
        federation.train(rounds=3)
    resume(federation)
    last = {f"r{number}" for number in range(1, 16)} - {"r8", "r12"}
    assert federation.catalogue().models.keys() == last  # r16 would be user 4's too


def test_a_scenario_of_one_round_is_not_gone_on_with(federation: Federation) -> None:
    setup = federation.setup
    paper = replace(setup.federation.scenario, scenario="paper14", users=14)
    scripted = replace(setup, federation=replace(setup.federation, scenario=paper))
    with pytest.raises(SettingsError, match="choose scenario 'organic'"):
        scripted.with_rounds(2)


def job(kind: Kind, asked: str) -> Job:
    return Job(7, kind, asked, JobState.OPEN, "", 0.0, None, ())


def test_an_open_training_says_how_many_rounds_it_trains() -> None:
    assert rounds_of(None, None) is None
    assert rounds_of(None, 3) == 3
    assert rounds_of(job(Kind.TRAIN, training_text(None)), None) is None
    assert rounds_of(job(Kind.TRAIN, training_text(2)), None) == 2
    assert rounds_of(job(Kind.TRAIN, training_text(2)), 2) == 2
    with pytest.raises(RunError, match="up to the rounds of the settings is unfinished"):
        rounds_of(job(Kind.TRAIN, training_text(None)), 2)
    with pytest.raises(RunError, match="job 7 does not say"):
        rounds_of(job(Kind.TRAIN, "{}"), None)
    assert rounds_of(job(Kind.PARALLEL, "{}"), 2) == 2  # the lifecycle refuses it
