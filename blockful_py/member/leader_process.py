# SPDX-License-Identifier: Apache-2.0
"""Leads a request in a child process, so that the member that started it can stop at any time.

    python -m blockful_py.member.leader_process

Its task is a `LeaderProcess` as JSON.  A leader may end at any point: the next one continues its work
(docs/explanation/committee.md).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from blockful_py.chain.signer import Signer
from blockful_py.child_process import serve_task
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.resume import take_up
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes


@dataclass(frozen=True, slots=True)
class LeaderProcess:
    """The task of a leader process, which leads a request of `run`.

    Attributes:
        account: private key of the account that pays for transactions.
        leader: secret of a voting key, or of a leader's key that the members accept.
        request: number of the filed request to lead, among machines; None to resume the run's open job.
    """

    run: Path
    place: ChainEndpoints
    account: int = field(repr=False)
    leader: int = field(repr=False)
    request: int | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"run": str(self.run), "place": self.place.to_json(self.run)})

    @classmethod
    def from_json(cls, text: str) -> LeaderProcess:
        document = json.loads(text)
        run = Path(document["run"])
        place = ChainEndpoints.from_json(document["place"], run)
        return cls(**{**document, "run": run, "place": place})


def lead(task: str) -> None:
    """Leads the request of a task.  Raises BlockfulError when it fails."""
    spec = LeaderProcess.from_json(task)
    with Nodes(spec.place, Signer(spec.account.to_bytes(32, "big"))) as nodes:
        if spec.request is None and RunDirectory.open(spec.run).party is not None:
            with PartyRun.of_member(spec.run, nodes, spec.leader) as party:
                party.end_broken_off()
        elif spec.request is None:
            with Federation.open(spec.run, nodes=nodes, secret=spec.leader) as federation:
                take_up(federation)
        else:
            with PartyRun.of_member(spec.run, nodes, spec.leader) as party:
                party.lead(spec.request)


if __name__ == "__main__":
    sys.exit(serve_task(lead))
