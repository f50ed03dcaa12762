# SPDX-License-Identifier: Apache-2.0
"""What a reader of each page has done before, and what stands for words that every reader fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RUNS = {
    "trained": ("", ".venv/bin/blockful train examples/paper14.toml --run runs/mine"),
    "forgotten": (
        "trained",
        ".venv/bin/blockful unlearn --run runs/mine --start r5 --start r7 --class 3 --paradigm parallel",
    ),
    "demo": ("", ".venv/bin/blockful demo examples/paper14.toml"),
}
"""Runs that pages presuppose: the run that each begins with, and the command that makes it of that one."""


@dataclass(frozen=True)
class Walk:
    """How a page is followed from its top.

    Attributes:
        run: the name in RUNS of what the reader's `runs/` holds.
        before: commands of other pages, which this one presupposes.
        stands_for: words of the page, and what stands in their place here.
        says: words of the page that the commands show.
        processes: whether the page starts a federation of processes.
    """

    run: str = ""
    before: str = ""
    stands_for: Mapping[str, str] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    processes: bool = False


WALKS = {
    "README.md": Walk("demo", processes=True),
    "docs/tutorial/first-certificate.md": Walk(
        says=(
            "14 models checked, 0 failed",
            "the certificate holds: 9 models, class 3",
            "the members who signed no longer hold the data keys of 9 sealed files",
        )
    ),
}
