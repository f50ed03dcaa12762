# SPDX-License-Identifier: Apache-2.0
"""Version of the code that determines a task's result."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
