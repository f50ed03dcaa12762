# SPDX-License-Identifier: Apache-2.0
"""Data files of the participants in a federation on one machine; each party is named after its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from blockful_py.errors import SettingsError

PUBLIC = "public"
"""The founder's folder of public rows."""


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """The participants' files in order, and the columns of labels and of persons if given.

    `are_tables`: whether no file has images.
    """

    files: dict[str, str]
    label: str | None = None
    person: str | None = None
    are_tables: bool = True

    @classmethod
    def read(cls, paths: Sequence[Path], label: str | None, person: str | None = None) -> Self:
        """Reads and checks every file.  Raises as `OwnFile.read`; SettingsError for a name that is taken."""
        from blockful_py.participant.bringing import OwnFile

        if (label or person) is not None and not paths:
            column = "--person" if label is None else "--label"
            raise SettingsError(f"{column} is a column of --data: give both, or neither.")
        if len(paths) == 1:
            raise SettingsError("a federation has at least two participants: give --data once for each.")
        found: dict[str, str] = {}
        read = [OwnFile.read(path, label, person) for path in paths]
        for each in read:
            if each.name in found or each.name.startswith("member-") or each.name in TAKEN:
                raise SettingsError(
                    f"{each.path} would be participant {each.name!r}, a name that is taken: rename the file."
                )
            found[each.name] = str(each.path.resolve())
        return cls(found, label, person, not any(each.rows.images() for each in read))

    def settings(self, public: Path) -> tuple[str, ...]:
        """Setting overrides for a federation made of these files; empty without files."""
        if not self.files:
            return ()
        users = len(self.files)
        chosen = {
            "federation.users": users,
            "federation.wave": users,
            "federation.situation": "parties",
            "learning.dataset": "parties",
            "learning.data_files": str(public),
            "unlearning.classes": [0],
        }
        if self.are_tables:
            chosen["learning.model"] = "mlp"
        return tuple(f"{key}={json.dumps(value)}" for key, value in chosen.items())


TAKEN = frozenset({"chains", "explorer", "founder", "data", "shared", PUBLIC})
"""Names of other entries in the folder of such a federation."""

NONE = OwnFiles({})
