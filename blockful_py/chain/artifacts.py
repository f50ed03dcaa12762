# SPDX-License-Identifier: Apache-2.0
"""The compiled contracts that ship with the package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from blockful_py.errors import ToolchainError

NAMES = (
    "AlarmRegistry",
    "AppointedCommittee",
    "ArchiveRegistry",
    "Committee",
    "LiveChain",
    "ParticipantRegistry",
    "QuorumMirror",
    "ReaderRegistry",
    "VrfVerifier",
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """ABI, creation bytecode and compiler of one contract."""

    name: str
    abi: tuple[Mapping[str, Any], ...] = field(repr=False)
    bytecode: bytes = field(repr=False)
    compiler: Mapping[str, Any] = field(repr=False)


@cache
def load_artifact(name: str) -> Artifact:
    """Reads `artifacts/<name>.json`.  Raises ToolchainError if it is missing or unreadable."""
    file = resources.files("blockful_py.chain") / "artifacts" / f"{name}.json"
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        return Artifact(
            value["name"], tuple(value["abi"]), bytes.fromhex(value["bytecode"][2:]), value["compiler"]
        )
    except (OSError, ValueError, KeyError) as error:
        raise ToolchainError(
            f"the compiled contract {name} is missing or damaged: run `make contracts`."
        ) from error
