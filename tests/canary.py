# SPDX-License-Identifier: Apache-2.0
"""A module that a federation file names, and that writes a file when it is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

NAME = "canary_of_others"
TRAINER, NET = f"{NAME}:trainer", f"{NAME}:Net"
SOURCE = """
from pathlib import Path

Path(__file__).with_suffix(".imported").touch()


class Trainer:
    def train(self, assignments):
        return [each.start for each in assignments]


trainer = Trainer()
Net = None
"""


@dataclass(frozen=True)
class Canary:
    """A module on the path of this process."""

    folder: Path

    @property
    def was_imported(self) -> bool:
        """Whether a process that finds the module has imported it."""
        return self._trace.exists()

    def forget(self) -> None:
        """Makes the next import visible again."""
        sys.modules.pop(NAME, None)
        self._trace.unlink(missing_ok=True)

    @property
    def _trace(self) -> Path:
        return self.folder / f"{NAME}.imported"


@contextmanager
def canary_in(folder: Path) -> Iterator[Canary]:
    (folder / f"{NAME}.py").write_text(SOURCE, encoding="utf-8")
    canary = Canary(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield canary
    canary.forget()
