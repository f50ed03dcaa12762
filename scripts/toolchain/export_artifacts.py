# SPDX-License-Identifier: Apache-2.0
"""Exports the compiled contracts for Python: blockful_py/chain/artifacts/<Name>.json.

Reads brownie's build folder and settings.  The same sources, compiler and settings give the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "build" / "contracts"
ARTIFACTS = PROJECT / "blockful_py" / "chain" / "artifacts"
CONTRACTS = (
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


def artifact(name: str) -> dict[str, Any]:
    """ABI, creation and runtime bytecode (hex, 0x) and compiler of one contract."""
    build = json.loads((BUILD / f"{name}.json").read_text())
    compiler = build["compiler"]
    settings = yaml.safe_load((PROJECT / "brownie-config.yaml").read_text())["compiler"]["solc"]
    return {
        "format": "blockful-artifact/1",
        "name": name,
        "source": build["sourcePath"],
        "compiler": {
            "version": str(compiler["version"]).removesuffix(".Emscripten.clang"),
            "evmVersion": compiler["evm_version"],
            "language": "Solidity",
            "optimizer": settings["optimizer"],
            "viaIR": settings["viaIR"],
        },
        "abi": build["abi"],
        "bytecode": "0x" + build["bytecode"].removeprefix("0x"),
        "deployedBytecode": "0x" + build["deployedBytecode"].removeprefix("0x"),
    }


def main() -> int:
    missing = [name for name in CONTRACTS if not (BUILD / f"{name}.json").exists()]
    if missing:
        print(f"error: not compiled: {', '.join(missing)}. Run 'brownie compile' first.", file=sys.stderr)
        return 1
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    for name in CONTRACTS:
        text = json.dumps(artifact(name), indent=1, sort_keys=True) + "\n"
        (ARTIFACTS / f"{name}.json").write_text(text)
    print(f"artifacts: {', '.join(CONTRACTS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
