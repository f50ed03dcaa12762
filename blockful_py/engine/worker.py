# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a task: reads the inputs from the store, calls the function, stores the result."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from blockful_py import errors
from blockful_py.engine.tasks import MAX_FILE_BYTES, TaskFunction, code_version
from blockful_py.errors import BlockfulError, EngineError, StorageError
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri


def carry_out(order: str) -> str:
    """Runs an `EngineTask.order`; returns the answer as JSON for `result_of`.

    An error other than BlockfulError is a bug and propagates.
    """
    try:
        return json.dumps({"result": cid_string(_result(json.loads(order)))})
    except BlockfulError as error:
        return json.dumps({"error": type(error).__name__, "text": str(error)})


def result_of(answer: str) -> str:
    """CID of a task's result.  Raises the worker's error."""
    told = json.loads(answer)
    if "result" in told:
        return str(told["result"])
    kind: type[BlockfulError] = getattr(errors, told["error"], EngineError)
    raise kind.__new__(kind, told["text"])  # some classes take arguments other than the text


def _result(call: Mapping[str, Any]) -> Uri:
    host = platform.node()
    if call["code"] != code_version():
        raise EngineError(
            f"a worker on {host} runs another version of blockful or torch (its code is "
            f"{code_version()[:12]}, the driver's {call['code'][:12]}): install the same on every host."
        )
    store = _store(Path(call["store"]), host)
    with _store_errors(f"a worker on {host} lacks what a task needs"):
        inputs = [store.read(parse_cid(cid), MAX_FILE_BYTES) for cid in call["inputs"]]
    result = _function(call["function"], host)(call["settings"], inputs, call["seeds"])
    with _store_errors(f"a worker on {host} cannot store a task's result"):
        return store.add(result)


def _store(folder: Path, host: str) -> ContentStore:
    if not (folder / "pins").is_dir():
        raise EngineError(
            f"a worker on {host} does not find the data in {folder}: every host has to see the driver's "
            "folder at the same path."
        )
    with _store_errors(f"a worker on {host} cannot use the store"):
        return ContentStore(folder)


@contextmanager
def _store_errors(what: str) -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise EngineError(f"{what}: {error}") from None


def _function(path: str, host: str) -> TaskFunction:
    module, _, name = path.partition(":")
    try:
        function: TaskFunction = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise EngineError(
            f"a worker on {host} cannot import {path} ({error}): install its package there."
        ) from None
    return function
