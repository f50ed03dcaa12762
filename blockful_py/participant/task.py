# SPDX-License-Identifier: Apache-2.0
"""A piece of a participant's work, as its process is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

MODULE = "blockful_py.participant.work"
"""The module that does it."""


@dataclass(frozen=True, slots=True)
class ParticipantTask:
    """What is to be done in `run`: the next model, or the part of a request, by its number."""

    run: Path
    account: int = field(repr=False)
    encryption: int = field(repr=False)
    request: int | None = None

    def to_json(self) -> str:
        return json.dumps(
            {
                "run": str(self.run),
                "account": self.account,
                "encryption": self.encryption,
                "request": self.request,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> ParticipantTask:
        document = json.loads(text)
        return cls(Path(document["run"]), document["account"], document["encryption"], document["request"])
