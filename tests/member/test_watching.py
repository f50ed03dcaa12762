# SPDX-License-Identifier: Apache-2.0
"""Duties are called on new blocks, and otherwise seldom."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from blockful_py.errors import NodeError, RunError
from blockful_py.member.watching import FRESH_SECONDS, LOOK_SECONDS, ChainWatch, WhenChanged


@dataclass
class Chain:
    """A chain's contract that counts its calls."""

    block: str
    asked: int = 0

    def newest_block(self) -> str:
        self.asked += 1
        return self.block


@dataclass
class Office:
    """An office with both chains, or without a run."""

    live: Chain = field(default_factory=lambda: Chain("live 1"))
    archive: Chain = field(default_factory=lambda: Chain("archive 1"))
    has_run: bool = True

    looks: int = 0

    def one_look(self) -> AbstractContextManager[None]:
        self.looks += 1
        return nullcontext()

    def view(self) -> Any:
        if not self.has_run:
            raise RunError("there is no run")
        followers = SimpleNamespace(archive=self.archive)
        return SimpleNamespace(contracts=SimpleNamespace(live=self.live, followers=followers))


@dataclass
class Steps:
    """A duty that counts its steps."""

    name: str = "steps"
    made: int = 0
    problem: Exception | None = None

    def step(self) -> None:
        self.made += 1
        if self.problem:
            raise self.problem


@dataclass
class Time:
    """A clock that a test sets."""

    at: float = 0.0

    def __call__(self) -> float:
        return self.at

    def after(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def clock() -> Time:
    return Time()


def watched(office: Office, clock: Time) -> tuple[WhenChanged, Steps]:
    duty = Steps()
    watch = ChainWatch(office, clock)  # type: ignore[arg-type]
    return WhenChanged(watch, duty, clock), duty


def test_a_new_block_of_either_chain_is_looked_at(clock: Time) -> None:
    office = Office()
    when_changed, duty = watched(office, clock)
    for _ in range(3):
        when_changed.step()
        clock.after(FRESH_SECONDS)
    assert duty.made == 1
    office.live.block = "live 2"
    when_changed.step()
    assert duty.made == 2
    clock.after(FRESH_SECONDS)
    office.archive.block = "archive 2"
    when_changed.step()
    assert duty.made == 3


def test_without_new_blocks_it_is_called_seldom(clock: Time) -> None:
    when_changed, duty = watched(Office(), clock)
    when_changed.step()
    clock.after(LOOK_SECONDS - 0.01)
    when_changed.step()
    assert duty.made == 1
    clock.after(0.01)
    when_changed.step()
    assert duty.made == 2


def test_a_step_that_failed_is_made_again(clock: Time) -> None:
    when_changed, duty = watched(Office(), clock)
    duty.problem = NodeError("no node answers")
    for _ in range(2):
        with pytest.raises(NodeError):
            when_changed.step()
    duty.problem = None
    when_changed.step()
    when_changed.step()
    assert duty.made == 3


def test_duties_share_one_look_at_the_chains(clock: Time) -> None:
    office = Office()
    watch = ChainWatch(office, clock)  # type: ignore[arg-type]
    for duty in [WhenChanged(watch, Steps(), clock) for _ in range(9)]:
        duty.step()
    assert (office.live.asked, office.archive.asked) == (1, 1)


def test_before_there_is_a_run_the_duty_decides(clock: Time) -> None:
    when_changed, duty = watched(Office(has_run=False), clock)
    when_changed.step()
    when_changed.step()
    assert duty.made == 2
