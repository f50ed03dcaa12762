# SPDX-License-Identifier: Apache-2.0
"""IPFS nodes that die, as of `kill -9`, at a chosen request of a chosen step of a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from blockful_py.engine.jobs import Act, Step
from blockful_py.engine.journal import Journal, StepResult
from blockful_py.storage.ipfs_api import IpfsApi
from tests.ipfs.nodes import IpfsNode


@dataclass(frozen=True)
class Moment:
    """Before the request of this path and number (from 0) in steps of a kind; without a path, before the
    step of this number.

    Attributes:
        store: of the node that dies, "live" or "archive".
    """

    act: Act
    store: str
    path: str = ""
    number: int = 0


@contextmanager
def killed(moment: Moment, node: IpfsNode) -> Iterator[None]:
    """The node dies at the moment, which must come."""
    fetch, take, finish = IpfsApi._fetch, Journal.take, Journal.finish
    under_way: list[Act] = []
    seen = 0

    def pass_by() -> None:
        nonlocal seen
        seen += 1
        if seen == moment.number + 1:
            node.kill()

    def deadly_fetch(self: IpfsApi, path: str, *rest: Any, **more: Any) -> bytes:
        if self.address == node.api and (under_way, path) == ([moment.act], moment.path):
            pass_by()
        return fetch(self, path, *rest, **more)

    def deadly_take(self: Journal, steps: Sequence[Step]) -> None:
        take(self, steps)
        under_way[:] = [step.act for step in steps]
        for step in steps:
            if step.act is moment.act and not moment.path:
                pass_by()

    def deadly_finish(self: Journal, step: Step, result: StepResult) -> None:
        under_way.remove(step.act)
        finish(self, step, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IpfsApi, "_fetch", deadly_fetch)
        patch.setattr(Journal, "take", deadly_take)
        patch.setattr(Journal, "finish", deadly_finish)
        yield
    assert seen > moment.number, moment
