# SPDX-License-Identifier: Apache-2.0
"""Finds Node.js, Ganache and Anvil."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from blockful_py.errors import ToolchainError

MINIMUM_NODE = 18
LAZILY = "require('v8').setFlagsFromString('--no-validate-asm');"
"""Makes Node.js compile Ganache's pairing library (asm.js) lazily, which halves its start time."""


def ganache_command(*, end_with_parent: bool) -> list[str]:
    """The command that starts Ganache, without its options.

    With `end_with_parent`, Ganache ends when its standard input closes, so it never outlives the process that
    holds the other end.

    Raises ToolchainError if Node.js is missing or too old, or Ganache is not installed.
    """
    node = node_program()
    script = _npm_program("ganache")
    if script is None:
        raise ToolchainError(
            "Ganache is not installed: run `make setup` in a clone, or `npm install -g ganache@7.9.2`, "
            "or give the URL of a running node."
        )
    guard = "process.stdin.resume();process.stdin.on('close',()=>process.exit(0));" if end_with_parent else ""
    run = f"process.argv.splice(1,0,{str(script)!r});require(process.argv[1]);"
    return [node, "-e", LAZILY + guard + run, "--"]


def ganache_is_installed() -> bool:
    """Whether `node` and Ganache are installed, in any version."""
    return shutil.which("node") is not None and _npm_program("ganache") is not None


def anvil_command() -> list[str]:
    """The command that starts Anvil.  Raises ToolchainError if it is not installed."""
    for folder in _folders():
        for program in sorted(folder.glob("node_modules/@foundry-rs/anvil-*/bin/anvil*")):
            return [str(program)]
    path = shutil.which("anvil")
    if path is None:
        raise ToolchainError(
            "Anvil is not installed: run `make setup` in a clone, or use Ganache, "
            "or give the URL of a running node."
        )
    return [path]


def node_program() -> str:
    """Path of Node.js.  Raises ToolchainError if it is missing or older than version 18."""
    node = shutil.which("node")
    advice = (
        f"install Node.js {MINIMUM_NODE} or later (https://nodejs.org), or give the URL of a running node"
    )
    if node is None:
        raise ToolchainError(f"no program `node` was found on PATH: {advice}.")
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{node} cannot be run: {advice}.") from error
    version = re.match(r"v(\d+)\.", done.stdout)
    if version is None:
        raise ToolchainError(f"`{node} --version` printed {done.stdout[:40]!r}: {advice}.")
    if int(version[1]) < MINIMUM_NODE:
        raise ToolchainError(f"{node} is version {done.stdout.strip()}, too old: {advice}.")
    return node


def _npm_program(name: str) -> Path | None:
    """Script of an npm package's program, from a project's node_modules or from PATH."""
    for folder in _folders():
        program = folder / "node_modules" / ".bin" / name
        if program.exists():
            return program.resolve()
    path = shutil.which(name)
    return Path(path).resolve() if path else None


def _folders() -> Iterator[Path]:
    """The current folder and its parents, then the parents of this package."""
    here = Path.cwd()
    yield here
    yield from here.parents
    yield from Path(__file__).resolve().parents
