# SPDX-License-Identifier: Apache-2.0
"""A participant reports a node that leaves events out, and continues once it lists them."""

from __future__ import annotations

import json
import shutil

import pytest

from blockful_py.chain import logs
from blockful_py.child_process import ChildProcesses
from blockful_py.errors import MissingEventsError
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.run.contracts import EVENTS
from blockful_py.pipeline.run.nodes import Nodes
from tests.lossy import LossyNode
from tests.participant.conftest import Machines

pytestmark = pytest.mark.processes


def looked(service: ParticipantService) -> tuple[list[str], list[int]]:
    """The models and the requests that the participant sees."""
    requests = service.contracts.participants.filed_requests()
    return list(service.catalogue().models), [each.number for each in requests]


@pytest.mark.parametrize("contract", ["live", "participants"])
def test_a_participant_believes_no_answer_that_lacks_events(
    machines: Machines, chains: Nodes, monkeypatch: pytest.MonkeyPatch, contract: str
) -> None:
    """It believes neither that nobody has published nor that there are no requests."""
    monkeypatch.setattr(logs, "PAUSE", 0.0)
    reader = machines.participants["b"]
    if not machines.contracts.live.height():
        with machines.participants["a"].run() as party:
            party.train_next()
    shutil.rmtree(reader.folder.run / EVENTS, ignore_errors=True)  # it reads all events anew
    file = reader.folder.run / "run.json"
    before = file.read_bytes()
    with LossyNode(chains.live.url) as node:
        document = json.loads(before)
        document["chains"]["live_url"] = node.url
        file.write_text(json.dumps(document))
        node.losses.leave_out(getattr(machines.contracts, contract).address, -1)
        try:
            with ParticipantService(reader.folder, reader.keys, ChildProcesses(MODULE)) as service:
                with pytest.raises(MissingEventsError, match=f"the node at {node.url} lists"):
                    looked(service)
                node.losses.mend()
                assert looked(service) == (["a"], [])
        finally:
            file.write_bytes(before)
