# SPDX-License-Identifier: Apache-2.0
"""A wheel of the checkout, installed outside of it in an environment of its own, where there is no Node.js.

Only the packages that it depends on are the checkout's: they are not downloaded again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.cli.commands import SECONDS, WIDE

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")


@dataclass(frozen=True)
class Installed:
    """An environment whose `bin` is all that a shell finds programs in.

    Attributes:
        wheel: the file that was installed.
        programs: the folder of `blockful` and `python`.
    """

    wheel: Path
    programs: Path

    @classmethod
    def into(cls, folder: Path) -> Installed:
        """Builds the wheel from a copy of the sources, and installs it."""
        source, environment = folder / "source", folder / "venv"
        shutil.copytree(
            ROOT / "blockful_py", source / "blockful_py", ignore=shutil.ignore_patterns("__pycache__")
        )
        for name in NEEDED:
            shutil.copy(ROOT / name, source)
        _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source))
        (wheel,) = folder.glob("*.whl")
        shutil.rmtree(source)
        venv.create(environment, symlinks=True)
        own = sysconfig.get_paths(
            "venv", {"base": str(environment), "platbase": str(environment), "installed_base": ""}
        )
        packages = Path(own["purelib"])
        theirs = {sysconfig.get_paths()[each] for each in ("purelib", "platlib")}
        (packages / "checkout.pth").write_text("\n".join(sorted(theirs)))
        programs = Path(own["scripts"])
        _pip(f"--python={programs / 'python'}", "install", "--no-deps", str(wheel))
        return cls(wheel, programs)

    def shell(self, script: str, folder: Path) -> str:
        """The output of a script, which runs in `folder` and stops at the first command that fails."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            ["/bin/sh", "-eu", "-c", script],
            cwd=folder,
            env={**kept, **WIDE, "PATH": str(self.programs)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments, "--no-index"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
