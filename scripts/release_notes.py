# SPDX-License-Identifier: Apache-2.0
"""Prints the changelog's section on a version, for the page of its release.

    python scripts/release_notes.py v0.1.0

The tag must name the version of both pyproject.toml files, and the changelog must date it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = ("pyproject.toml", "lab/pyproject.toml")


def notes(tag: str, root: Path = ROOT) -> str:
    """The section of the changelog in `root` for `tag`.  Exits if the files disagree."""
    for name in PROJECTS:
        version = tomllib.loads((root / name).read_text(encoding="utf-8"))["project"]["version"]
        if tag != f"v{version}":
            sys.exit(f"the tag is {tag}, {name} has version {version}: tag v{version}.")
    dated = {
        found[1]: found[2].strip()
        for found in re.finditer(
            r"^## \[(\S+)\] - \d{4}-\d\d-\d\d\n(.*?)(?=^## |\Z)",
            (root / "CHANGELOG.md").read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
    }
    if not dated.get(version):
        sys.exit(f"CHANGELOG.md says nothing of {version}: write `## [{version}] - DATE` and what changed.")
    return dated[version]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/release_notes.py TAG")
    print(notes(sys.argv[1]))
