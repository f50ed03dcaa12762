# SPDX-License-Identifier: Apache-2.0
"""A crash in the middle of a step, then the same command again: the normal result, nothing repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.engine.jobs import JobState, Kind
from blockful_py.errors import RunError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.history import check_promises
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding, Rules
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm, RequestState
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask
from tests.faults.fuse import PowerCut, fused
from tests.faults.ground import Ground
from tests.faults.states import State, assert_archived_before_replaced
from tests.federations import AFFECTED, GRAPH, small, versions

SETTINGS = small(chain={"packaging_interval": 0, "chunk_models": 2})
"""Two archive chunks and two live ones for s and t, x and y."""


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground.lay(SETTINGS, tmp_path_factory.mktemp("crashes"), chains)


@pytest.fixture
def run(ground: Ground, tmp_path: Path) -> Iterator[Path]:
    with ground.copied(tmp_path / "run") as copy:
        yield copy


CASES = [
    (Paradigm.PARALLEL, {"adding": 5}),
    (Paradigm.PARALLEL, {"deleting": 3}),
    (Paradigm.SEQUENTIAL, {"sending": 3}),
]
"""Crashes in the middle of a step; `test_every_step` has the ones between steps."""


@pytest.mark.parametrize(("paradigm", "moment"), CASES)
def test_a_crash_and_the_same_request_again(
    ground: Ground, run: Path, paradigm: Paradigm, moment: dict[str, int]
) -> None:
    crashing = fused(run, ground.nodes, **moment)
    with pytest.raises(PowerCut):
        crashing.unlearn(paradigm=paradigm)
    assert_archived_before_replaced(crashing)
    resumed = Federation.open(run, nodes=ground.nodes)
    assert_archived_before_replaced(resumed)
    assert resumed.verify().passed
    unlearned = resumed.unlearn(paradigm=paradigm)
    assert State.of(resumed) == ground.undisturbed[paradigm]
    assert unlearned.affected == AFFECTED
    (job,) = (job for job in jobs_of(resumed.run) if job.kind is not Kind.TRAIN)
    assert job.state is JobState.DONE


def test_between_two_live_chunks_the_record_says_that_it_is_not_settled(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=3).unlearn()
    halfway = fused(run, ground.nodes)
    assert versions(halfway) == dict.fromkeys(GRAPH, 0) | {"s": 1, "t": 1}
    assert {failure.model.split()[1]: failure.check for failure in halfway.verify().failures} == {
        "s": "settled",
        "t": "settled",
    }
    assert len(halfway.verify().pending) == 1
    assert halfway.settle() == "unlearn s, t, x, y"
    assert halfway.verify().passed
    assert halfway.settle() is None
    assert halfway.verify().pending == ()


def missing(catalogue: Catalogue, request: Request) -> tuple[str, ...]:
    """Answers that a request filed now would still wait for."""
    filed = FiledRequest(1, b"", file_uri(b""), 1, 2**32 - 1, 0, b"", RequestState.ADMITTED)
    return RequestStanding(filed, request, catalogue, (), (), 0, Rules(1, True)).missing


def test_what_passing_left_alone_is_missing_until_the_last_live_chunk(
    ground: Ground, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start s unlearns nothing, so only y is replaced with the starts, in the second chunk."""

    def unlearn(task: UnlearningTask, name: str, *arguments: Any) -> Weights:
        return task.models[name].weights if name == "s" else retrain_model(task, name, *arguments)

    monkeypatch.setattr("blockful_py.unlearning.gradient_ascent.retrain_model", unlearn)
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=3).unlearn()
    halfway = fused(run, ground.nodes)
    assert versions(halfway) == dict.fromkeys(GRAPH, 0) | {"s": 1, "t": 1}
    redaction = halfway.catalogue()["s"].node.redaction
    assert redaction is not None
    assert missing(halfway.catalogue(), redaction.request) == ("x", "y")
    assert halfway.settle() == "unlearn s, t, y"
    assert versions(halfway) == dict.fromkeys(GRAPH, 0) | {"s": 1, "t": 1, "y": 1}
    assert missing(halfway.catalogue(), redaction.request) == ()


def test_what_only_the_archive_has_is_pending(ground: Ground, run: Path) -> None:
    """The models are all right, since none has changed yet."""
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=1).unlearn()
    contracts = fused(run, ground.nodes).contracts
    allowed = check_promises(contracts.live, contracts.archive, unfinished=True)
    assert (len(allowed.pending), allowed.violations) == (1, ())
    found = check_promises(contracts.live, contracts.archive, unfinished=False).violations
    assert [(each.promise, each.position) for each in found] == [("archived", None)]
    assert "blockful resume" in found[0].detail


def test_the_bytes_to_forget_stay_until_the_live_chain_has_changed(ground: Ground, run: Path) -> None:
    before = fused(run, ground.nodes)
    files = set(before.stores.live)
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=3).unlearn()
    assert files <= set(before.stores.live)


def test_another_request_waits_for_the_unfinished_one(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=1).unlearn()
    federation = Federation.open(run, nodes=ground.nodes)
    unfinished = r"a parallel request to forget class 3 from s, t .* is unfinished"
    for other in ({"classes": [4]}, {"starts": ["s"]}, {"paradigm": "sequential"}):
        with pytest.raises(RunError, match=unfinished):
            federation.unlearn(**other)
    federation.unlearn()
    federation.unlearn(starts=["t"], classes=[4])
    assert versions(federation) == dict.fromkeys(GRAPH, 0) | {"s": 1, "x": 1, "t": 2, "y": 2}
    assert federation.verify().passed


def test_a_request_that_was_resumed_reports_what_it_replaced(ground: Ground, run: Path) -> None:
    with pytest.raises(PowerCut):
        fused(run, ground.nodes, sending=2).unlearn()
    unlearned = Federation.open(run, nodes=ground.nodes).unlearn()
    assert unlearned.nodes.keys() == set(AFFECTED)
