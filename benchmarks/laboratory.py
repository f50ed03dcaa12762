# SPDX-License-Identifier: Apache-2.0
"""A real request on two embedded chains with its processor seconds by stage, for `benchmarks.simulation`.

Members and chains are in this process, and torch takes one thread, so that processor time is the request's
time on an idle core.  Every member computes its review itself, as on a machine of its own.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

import torch

from benchmarks.instruments import replaced
from blockful_py.chain.settlement import ARCHIVE, Settlement
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.member import Member
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.costs import Operations
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import journaled_sends, redaction
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.settings import Settings

ROUNDS = {
    Coordinator: ("certify_redaction", "release"),
    Member: (
        "approve",
        "commit",
        "attest",
        "sign",
        "vote_redaction",
        "recommit",
        "attest_cosigning",
        "cosign",
    ),
}


@dataclass
class Laboratory:
    """The cost of one request.

    Attributes:
        stages: s, by stage of the request.
        calls: s within each call of `ROUNDS`, added up.
        gas, bytes: by chain; of call data.
        transactions: of both chains together.
    """

    paradigm: str
    models: int
    members: int
    blocks: int
    stages: dict[str, float]
    calls: dict[str, float]
    gas: dict[str, int]
    bytes: dict[str, int]
    transactions: int
    counted: Operations
    formula: Operations

    @property
    def seconds(self) -> float:
        """From the first new weights to the last transaction; the erasure after it is left out."""
        return sum(self.stages.values())


@dataclass
class _Timing:
    calls: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    bytes: dict[str, int] = field(default_factory=lambda: {"live": 0, "archive": 0})

    @contextmanager
    def watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, names in ROUNDS.items():
                for name in names:
                    timed = self._timed(name, getattr(owner, name))
                    stack.enter_context(replaced(owner, name, timed))
            stack.enter_context(replaced(Stopwatch, "__call__", _processor_time))
            stack.enter_context(replaced(ContentReviewer, "review_redaction", _alone))
            settle = self._weighed(journaled_sends.settlement_of)
            stack.enter_context(replaced(redaction, "settlement_of", settle))
            yield

    def _weighed(self, settle: Callable[..., Settlement]) -> Callable[..., Settlement]:
        def weighed(*arguments: Any) -> Settlement:
            settlement = settle(*arguments)
            for call in settlement.calls:
                self.bytes["archive" if call.chain == ARCHIVE else "live"] += len(call.data)
            return settlement

        return weighed

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            begun = process_time()
            try:
                return function(*arguments, **named)
            finally:
                self.calls[name] += process_time() - begun

        return call


def _alone(
    reviewer: ContentReviewer,
    draft: RedactionDraft,
    review: Callable[[ContentReviewer, RedactionDraft], None] = ContentReviewer.review_redaction,
) -> None:
    """Reviews as a member that shares nothing with the members before it."""
    reviewer._reviewed.clear()
    review(reviewer, draft)


@contextmanager
def _processor_time(watch: Stopwatch, stage: str) -> Iterator[None]:
    begun = process_time()
    try:
        yield
    finally:
        watch.seconds[stage] = watch.seconds.get(stage, 0.0) + process_time() - begun


def settings(models: int, members: int) -> Settings:
    """A chain of models, each by a user of its own."""
    graph = {f"r{n}": (f"r{n - 1}",) if n > 1 else () for n in range(1, models + 1)}
    return Settings.parse(
        {
            "federation": {"scenario": "scripted", "situation": "all_hold", "users": models, "graph": graph},
            "learning": {"epochs": 1, "root_factor": 1},
            "unlearning": {
                "starts": ("r1",),
                "classes": (0,),
                "parallel": "gradient_ascent",
                "sequential": "retrain",
            },
            "committee": {"size": members},
            "chain": {"packaging_interval": 0, "devnet": "embedded"},
        }
    )


def measured(models: int, members: int, repeats: int = 1) -> list[Laboratory]:
    """Measures `repeats` requests of each paradigm, each for another class, on one federation."""
    torch.set_num_threads(1)
    found = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Federation.create(settings(models, members), Path(folder) / "run") as federation,
    ):
        federation.train()
        for number in range(2 * repeats):
            paradigm = ("parallel", "sequential")[number % 2]
            timing = _Timing()
            with timing.watching():
                unlearned = federation.unlearn(paradigm=paradigm, classes=(number,))
            found.append(_laboratory(unlearned, members, timing))
        assert federation.verify().passed
    return found


def _laboratory(unlearned: Unlearned, members: int, timing: _Timing) -> Laboratory:
    gas = {"live": 0, "archive": 0}
    for each in unlearned.executed:
        gas["archive" if each.chain == ARCHIVE else "live"] += each.receipt.gas_used
    return Laboratory(
        paradigm=str(unlearned.paradigm),
        models=len(unlearned.nodes),
        members=members,
        blocks=unlearned.counted.ch_blocks,
        stages=dict(unlearned.seconds),
        calls=dict(timing.calls),
        gas=gas,
        bytes=timing.bytes,
        transactions=len(unlearned.executed),
        counted=unlearned.counted,
        formula=unlearned.formula,
    )
