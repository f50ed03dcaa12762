# SPDX-License-Identifier: Apache-2.0
"""Installs requirement files: `install_packages.py ENVIRONMENT FILE...` (a virtual environment).

Uses uv if it is on PATH or pip can install it; otherwise, or if uv fails, pip.  A file `*.lock.txt` is
installed by its hashes, without other packages.  Any other file is torch's: on Linux without an NVIDIA driver
it gets the CPU build, if PyTorch's own index answers.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

UV = Path(__file__).resolve().parents[1] / "requirements" / "uv.lock.txt"
LOCKED = ("--no-deps", "--require-hashes")
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
ANSWER_S = 10
OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
"""uv's option for each setting of pip, because uv does not read pip's configuration."""
VARIABLES = {"cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}


def configured(listing: str) -> dict[str, str]:
    """The settings of `pip install` in the output of `pip config list`; the environment takes precedence."""
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        for name, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", listing, re.MULTILINE):
            found[name] = ast.literal_eval(value)
    return found


def as_options(settings: dict[str, str]) -> list[str]:
    return [
        word
        for name, option in OPTIONS.items()
        for each in settings.get(name, "").split()
        for word in (option, each)
    ]


def cpu_builds(address: str = CPU_BUILDS) -> list[str]:
    """The index of torch's CPU builds, if it is wanted and answers."""
    if sys.platform != "linux" or has_nvidia_driver():
        return []
    try:
        with urlopen(f"{address}/torch/", timeout=ANSWER_S):  # noqa: S310
            return [address]
    except OSError:
        return []


def has_nvidia_driver() -> bool:
    return shutil.which("nvidia-smi") is not None or Path("/proc/driver/nvidia/version").exists()


def install(environment: Path, file: Path) -> None:
    """Installs a requirement file.  Raises CalledProcessError when pip fails, too."""
    locked = file.name.endswith(".lock.txt")
    indexes = [] if locked else cpu_builds()
    arguments = ["install", *(LOCKED if locked else ()), "-r", str(file)]
    if not by_uv(environment, arguments, indexes):
        by_pip(environment, *arguments, *(f"--extra-index-url={each}" for each in indexes)).check_returncode()


def by_uv(environment: Path, arguments: list[str], indexes: list[str]) -> bool:
    """Installs with uv; returns whether that succeeded.  Like pip, takes the best version of all indexes."""
    uv = shutil.which("uv") or own_uv(environment)
    if uv is None:
        return False
    listed = subprocess.run([pip(environment), "config", "list"], capture_output=True, text=True, check=False)
    settings = configured(listed.stdout)
    options = [
        *as_options(settings),
        *(f"--index={each}" for each in indexes),
        "--index-strategy=unsafe-best-match",
    ]
    variables = {variable: settings[name] for name, variable in VARIABLES.items() if name in settings}
    command = [uv, "pip", *arguments, "--quiet", f"--python={environment / 'bin' / 'python'}", *options]
    if subprocess.run(command, env={**os.environ, **variables}, check=False).returncode:
        print("setup: uv failed, continuing with pip", flush=True)
        return False
    return True


def own_uv(environment: Path) -> str | None:
    program = environment / "bin" / "uv"
    if not program.exists():
        by_pip(environment, "install", *LOCKED, "-r", str(UV))
    return str(program) if program.exists() else None


def by_pip(environment: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Installs with pip, without byte-compilation, since few of the packages' modules are ever imported."""
    return subprocess.run(
        [pip(environment), *arguments, "-qq", "--disable-pip-version-check", "--no-compile"], check=False
    )


def pip(environment: Path) -> Path:
    return environment / "bin" / "pip"


def torch_build(environment: Path) -> str:
    """The version of an environment's torch, and the reason for its build."""
    (file,) = environment.glob("lib/python*/site-packages/torch/version.py")
    build = runpy.run_path(str(file))
    kind = f"with CUDA {build['cuda']}" if build["cuda"] else "without CUDA"
    driver = "an NVIDIA driver was found" if has_nvidia_driver() else "no NVIDIA driver was found"
    return f"torch {build['__version__']}, {kind} ({driver})"


def main(environment: Path, *files: Path) -> None:
    for file in files:
        install(environment, file)
        if file.name == "torch.txt":
            print(f"setup: {torch_build(environment)}", flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
