# SPDX-License-Identifier: Apache-2.0
"""Tasks of a job: pure functions of settings, files and seeds, which any process can run.

Workers receive and return only CIDs; the files are in a store that driver and workers share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri

MAX_FILE_BYTES = 1 << 30
"""Maximum size in bytes of an input or a result."""

TaskFunction = Callable[[Mapping[str, Any], Sequence[bytes], Sequence[int]], bytes]
"""Maps settings, the bytes of the input files, and seeds to the bytes of the result."""


@dataclass(frozen=True, slots=True)
class EngineTask:
    """A call of a `TaskFunction`.

    Attributes:
        title: for display, such as "train r5".
        function: the function's import path, `package.module:function`.
        settings: JSON.
        inputs: files of the store.
        cpus: number of computing threads.
        gpu: share of a GPU, from 0 to 1.
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
        """SHA-256, in hexadecimal, of everything that determines the result, including the code version."""
        return sha256(json.dumps(self._call(), sort_keys=True).encode()).hexdigest()

    def order(self, store: Path) -> str:
        """The message to a worker, as JSON: the call and the store's folder."""
        return json.dumps({**self._call(), "store": str(store)})

    def _call(self) -> dict[str, Any]:
        return {
            "code": code_version(),
            "function": self.function,
            "settings": dict(self.settings),
            "inputs": [cid_string(uri) for uri in self.inputs],
            "seeds": list(self.seeds),
        }


NUMERIC = ("numpy", "scikit-learn", "torch")
"""Packages whose versions may change the bits of a result."""


@cache
def code_version() -> str:
    """SHA-256, in hexadecimal, of the package's sources and the versions of NUMERIC."""
    root = Path(__file__).resolve().parents[1]
    digest = sha256()
    for path in sorted(root.rglob("*.py")):
        content = sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    for name in NUMERIC:
        digest.update(f"{name} {_version(name)}\n".encode())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
