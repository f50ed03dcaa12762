# SPDX-License-Identifier: Apache-2.0
"""Engines of local processes, and the one error where no engine answers."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.engine.engine import LocalProcesses, Order, engine_of
from blockful_py.engine.tasks import EngineTask
from blockful_py.engine.worker import result_of
from blockful_py.errors import EngineError, SettingsError
from blockful_py.settings import EngineSettings, Settings
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.store import ContentStore
from tests.limits import ANY_SIZE


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalProcesses]:
    engine = LocalProcesses(1)
    yield engine
    engine.close()


def order(store: Path, function: str, **settings: Any) -> Order:
    task = EngineTask(function, f"tests.engine.workers:{function}", settings)
    return Order(task.order(store), task.title)


def result(engine: LocalProcesses, folder: Path, function: str, **settings: Any) -> bytes:
    store = ContentStore(folder)
    ((key, answer),) = engine.answers({"key": order(folder, function, **settings)})
    assert key == "key"
    return store.read(parse_cid(result_of(answer)), ANY_SIZE)


def test_another_process_computes_and_stays(engine: LocalProcesses, tmp_path: Path) -> None:
    first, second = (int(result(engine, tmp_path, "process_id", turn=turn)) for turn in (1, 2))
    assert first == second != os.getpid()


def test_a_worker_that_is_killed_is_replaced_and_its_task_done_again(
    engine: LocalProcesses, tmp_path: Path
) -> None:
    assert result(engine, tmp_path, "is_killed_once", scar=str(tmp_path / "scar")) == b"alive"


def test_a_task_that_kills_every_worker_ends_in_one_error(
    engine: LocalProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockful_py.engine.engine.ATTEMPTS", 2)
    with pytest.raises(EngineError, match="2 times in a row a worker process died"):
        result(engine, tmp_path, "is_killed")


def test_a_ray_address_that_does_not_answer_is_one_error() -> None:
    with socket.socket() as bound:  # no one listens there
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"no Ray cluster answers at .*{re.escape(address)}"):
            engine_of(EngineSettings("ray", address))


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:99999", "127.0.0.1:port"])
def test_an_address_that_is_none_is_the_same_error(address: str) -> None:
    with pytest.raises(EngineError, match="no Ray cluster answers"):
        engine_of(EngineSettings("ray", address))


@pytest.mark.parametrize(
    "overrides",
    [
        ["engine.kind=ray"],
        ["engine.address='127.0.0.1:6379'"],
        ["engine.workers=2"],
        ["engine.kind=ray", "engine.address='127.0.0.1:6379'", "engine.workers=2"],
    ],
)
def test_settings_that_no_engine_has_are_refused(overrides: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"engine\.(address|workers)"):
        Settings.load(None, overrides)
