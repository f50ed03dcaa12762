# SPDX-License-Identifier: Apache-2.0
"""Compiles Solidity files outside the project's contracts: test harnesses, variants."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
COMPILER = PROJECT / ".home" / "solcx" / "solc-v0.8.30"
SETTINGS: dict[str, Any] = {
    "evmVersion": "shanghai",
    "optimizer": {"enabled": True, "runs": 600},
    "viaIR": True,
    "remappings": ["@chainlink=node_modules/@chainlink", "@openzeppelin=node_modules/@openzeppelin"],
    "outputSelection": {"*": {"*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"]}},
}


def compile_files(*files: str) -> dict[str, dict[str, Any]]:
    """ABI and creation bytecode by contract name; `files` are relative to the project.

    Raises:
        RuntimeError: the compiler is missing, or reports errors, which form the message.
    """
    if not COMPILER.exists():
        raise RuntimeError(
            f"{COMPILER.relative_to(PROJECT)} is missing: run scripts/toolchain/install_solc.py"
        )
    sources = {file: {"content": (PROJECT / file).read_text()} for file in files}
    request = json.dumps({"language": "Solidity", "sources": sources, "settings": SETTINGS})
    command = [str(COMPILER), "--standard-json", "--allow-paths", "."]
    answer = subprocess.run(command, input=request, cwd=PROJECT, capture_output=True, text=True, check=True)
    output = json.loads(answer.stdout)
    errors = [each["formattedMessage"] for each in output.get("errors", ()) if each["severity"] == "error"]
    if errors:
        raise RuntimeError("\n".join(errors))
    return {
        name: {"abi": built["abi"], "bytecode": "0x" + built["evm"]["bytecode"]["object"]}
        for file in files
        for name, built in output["contracts"].get(file, {}).items()
    }
