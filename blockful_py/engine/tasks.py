# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job: pure functions of settings, files and seeds, which any process can carry out.

Only CIDs go to a worker and come back; the files are in a store that both reach.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from blockful_py.engine.code_version import code_version
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri

MAX_FILE_BYTES = 1 << 30
"""Bytes of an input or a result."""

TaskFunction = Callable[[Mapping[str, Any], Sequence[bytes], Sequence[int]], bytes]
"""Settings, the bytes of the input files and seeds to the bytes of the result."""


@dataclass(frozen=True, slots=True)
class EngineTask:
    """A call of a `TaskFunction`.

    Attributes:
        title: for people, such as "train r5".
        function: the function's import path, `package.module:function`.
        settings: JSON.
        inputs: files of the store.
        cpus: threads that it computes with.
        gpu: share of a GPU that it takes, from 0 to 1.
    """

    title: str
    function: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Uri, ...] = ()
    seeds: tuple[int, ...] = ()
    cpus: int = 1
    gpu: float = 0.0

    @property
    def key(self) -> str:
        """SHA-256, in hexadecimal, of all that the result depends on, the code's version included."""
        return sha256(json.dumps(self._call(), sort_keys=True).encode()).hexdigest()

    def order(self, store: Path) -> str:
        """What a worker is told, as JSON: the call, and the folder of the store."""
        return json.dumps({**self._call(), "store": str(store)})

    def _call(self) -> dict[str, Any]:
        return {
            "code": code_version(),
            "function": self.function,
            "settings": dict(self.settings),
            "inputs": [cid_string(uri) for uri in self.inputs],
            "seeds": list(self.seeds),
        }
