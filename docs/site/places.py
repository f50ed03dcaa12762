# SPDX-License-Identifier: Apache-2.0
"""Paths on the site of the repository's files: files of docs/ at its root, all others under their path.

The front page is the repository's README.md.  The list of pages, docs/README.md, makes room for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

FRONT, LISTING, LISTED = "README.md", "docs/README.md", "contents.md"
LINK_OR_CODE = re.compile(
    r"^ *```.*?^ *```|(?P<before>\[[^\]]*\]\()(?P<target>[^)\s#:]+)(?P<after>(?:#[^)\s]*)?\))|`[^`\n]*`",
    re.MULTILINE | re.DOTALL,
)


def on_site(path: str) -> str:
    """The path on the site of a file of the repository."""
    return LISTED if path == LISTING else path.removeprefix("docs/")


def in_repository(uri: str, root: Path) -> str:
    """The path in the repository of a page of the site."""
    if uri == LISTED:
        return LISTING
    return f"docs/{uri}" if uri != FRONT and (root / "docs" / uri).exists() else uri


def outside(root: Path) -> set[str]:
    """Files outside docs/ that belong to the site: the README, and all files that pages link to."""
    wanted = [FRONT, *(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))]
    found = set(wanted)
    while wanted:
        page = wanted.pop()
        if page.endswith(".md"):
            linked = set(_targets(page, (root / page).read_text(encoding="utf-8")))
            new = {each for each in linked - found if (root / each).is_file()}
            found |= new
            wanted += new
    return {path for path in found if not path.startswith("docs/")}


def relinked(page: str, text: str) -> str:
    """The text of a page of the repository with its links adapted to the site."""
    folder = PurePosixPath(on_site(page)).parent

    def link(match: re.Match[str]) -> str:
        if match["target"] is None:
            return match[0]
        place = on_site(_resolved(page, match["target"]))
        return match["before"] + os.path.relpath(place, folder) + match["after"]

    return LINK_OR_CODE.sub(link, text)


def _targets(page: str, text: str) -> Iterator[str]:
    """Paths in the repository of all files that a page links to, pictures included."""
    for match in LINK_OR_CODE.finditer(text):
        if match["target"] is not None:
            yield _resolved(page, match["target"])


def _resolved(page: str, target: str) -> str:
    return os.path.normpath(PurePosixPath(page).parent / target)
