# SPDX-License-Identifier: Apache-2.0
"""Installs a Solidity compiler for brownie, slither and forge, and prints its kind.

Tries in this order: the installed compiler; a native one, downloaded by py-solc-x; a launcher of the npm
package `solc` of the same version, which is the same compiler built to WebAssembly.  Also writes brownie's
network list.  All files go to `.home`, which git ignores.

Environment: SOLC_DOWNLOAD_TIMEOUT, maximum seconds for the download (20; 0 skips it).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "0.8.30"
PROJECT = Path(__file__).resolve().parents[2]
HOME = PROJECT / ".home"
COMPILER = HOME / "solcx" / f"solc-v{VERSION}"

LAUNCHER = """#!/usr/bin/env node
'use strict';
const path = require('path');
require(path.join(__dirname, '..', '..', 'scripts', 'toolchain', 'solc-shim.cjs')).main('{version}');
"""


class CompilerMissingError(Exception):
    """No compiler could be installed."""


def answers(compiler: Path) -> bool:
    """Whether `compiler --version` names the wanted version."""
    try:
        output = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return output.returncode == 0 and f"Version: {VERSION}" in output.stdout


def download_native(timeout_s: float) -> bool:
    """Downloads the native compiler with py-solc-x; returns False on failure, or after `timeout_s`."""
    command = [sys.executable, "-c", f"import solcx; solcx.install_solc('{VERSION}', show_progress=False)"]
    environment = os.environ | {"SOLCX_BINARY_PATH": str(COMPILER.parent)}
    try:
        subprocess.run(command, env=environment, capture_output=True, timeout=timeout_s, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        COMPILER.unlink(missing_ok=True)
        return False
    return answers(COMPILER)


def install_launcher() -> str:
    """Writes the launcher of the npm compiler and returns the compiler's full version.

    Raises:
        CompilerMissingError: node or the npm package is missing, or has another version.
    """
    if shutil.which("node") is None:
        raise CompilerMissingError("no native compiler could be downloaded and 'node' is not on PATH")
    query = subprocess.run(
        ["node", "-p", "require('solc').version()"], cwd=PROJECT, capture_output=True, text=True, timeout=120
    )
    version = query.stdout.strip()
    if query.returncode != 0 or not version.startswith(f"{VERSION}+"):
        raise CompilerMissingError(
            f"no native compiler could be downloaded and the npm package solc {VERSION} is not installed "
            f"(found: {version or 'none'})"
        )
    COMPILER.write_text(LAUNCHER.format(version=version))
    COMPILER.chmod(0o755)
    return version


def install_compiler() -> str:
    """Ensures that a compiler answers; returns a line for the user that names it."""
    COMPILER.parent.mkdir(parents=True, exist_ok=True)
    if answers(COMPILER):
        kind = "npm, through a launcher" if COMPILER.read_bytes()[:2] == b"#!" else "native"
        return f"solc {VERSION}: already installed ({kind})"
    COMPILER.unlink(missing_ok=True)
    timeout_s = float(os.environ.get("SOLC_DOWNLOAD_TIMEOUT", "20"))
    if timeout_s > 0 and download_native(timeout_s):
        return f"solc {VERSION}: native compiler downloaded"
    return f"solc {install_launcher()}: npm package, through a launcher"


def install_networks() -> None:
    """Writes brownie's network list, so that `development` is our network and not brownie's default."""
    target = HOME / ".brownie" / "network-config.yaml"
    (target.parent / "packages").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PROJECT / "scripts" / "toolchain" / "network-config.yaml", target)


def main() -> int:
    try:
        print(install_compiler())
    except CompilerMissingError as error:
        print(
            f"error: {error}. Install Node 18 or later and run 'npm install', or go online once.",
            file=sys.stderr,
        )
        return 1
    install_networks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
