# SPDX-License-Identifier: Apache-2.0
"""One piece of a participant's work, in a child process: a participant that waits holds no torch.

    python -m blockful_py.participant.work

Its task is a `Work` as JSON.  It may end at any point: the participant does again what the chain and the
journal do not show as done.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.chain.signer import Signer
from blockful_py.child_process import serve_task
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes

MODULE = "blockful_py.participant.work"


@dataclass(frozen=True, slots=True)
class Work:
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
    def from_json(cls, text: str) -> Work:
        document = json.loads(text)
        return cls(Path(document["run"]), document["account"], document["encryption"], document["request"])


def do(task: str) -> None:
    """Raises BlockfulError when the work is not done."""
    work = Work.from_json(task)
    keys = ReaderKeys(work.account, work.encryption)
    place = RunDirectory.open(work.run).place
    with (
        Nodes(place, Signer(keys.account_secret.to_bytes(32, "big"))) as nodes,
        PartyRun.of_participant(work.run, nodes, keys) as party,
    ):
        if work.request is None:
            party.train_next()
        else:
            party.take_part(work.request)


if __name__ == "__main__":
    sys.exit(serve_task(do))
