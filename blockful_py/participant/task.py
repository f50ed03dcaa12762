# SPDX-License-Identifier: Apache-2.0
"""The task that a participant hands to its child process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

MODULE = "blockful_py.participant.work"
"""The module that the child process runs."""


@dataclass(frozen=True, slots=True)
class ParticipantTask:
    """A task in `run`: train the next model, or do the part of the request with the given number."""

    run: Path
    account: int = field(repr=False)
    encryption: int = field(repr=False)
    request: int | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"run": str(self.run)})

    @classmethod
    def from_json(cls, text: str) -> ParticipantTask:
        document = json.loads(text)
        return cls(**{**document, "run": Path(document["run"])})
