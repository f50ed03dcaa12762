# SPDX-License-Identifier: Apache-2.0
"""Does one piece of a participant's work in a child process, so that an idle participant loads no torch.

    python -m blockful_py.participant.work

Its task is a `ParticipantTask` as JSON. It may end at any point: the participant repeats all work that the
chain and the journal do not show as done.
"""

from __future__ import annotations

import sys

from blockful_py.chain.signer import Signer
from blockful_py.child_process import serve_task
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.task import ParticipantTask
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes


def do(task: str) -> None:
    """Does the task.  Raises BlockfulError if it cannot be completed."""
    work = ParticipantTask.from_json(task)
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
