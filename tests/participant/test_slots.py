# SPDX-License-Identifier: Apache-2.0
"""Members and participants have slots for fetching, even while strangers hold all strangers' slots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.child_process import ChildProcesses
from blockful_py.committee import wire
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.service import door
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.committee.service.server import Server
from blockful_py.crypto import curve, eip712
from blockful_py.errors import StoreUnreachableError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.member.endpoints import signer_of
from blockful_py.member.view import MemberView
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.run.contracts import Contracts, open_contracts
from blockful_py.pipeline.run.entering import enter
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.stores import Stores
from blockful_py.storage.cid import cid_string
from blockful_py.storage.gateway import gateway
from blockful_py.storage.store import ContentStore
from tests.committee.service.dealers import Hall, Shelf
from tests.committee.service.desks import SECONDS, connected
from tests.limits import ANY_SIZE
from tests.member.processes import QUICK, WORDS
from tests.participant.conftest import nodes_for
from tests.participant.test_joining import Ground
from tests.storage.machines import serving


class Serving(Hall):
    """A member's view: the registry's participants lead, and `peer` is in every epoch's roster."""

    def __init__(self, contracts: Contracts, store: ContentStore, peer: bytes) -> None:
        self._contracts, self._peer = contracts, peer
        self.gateway: ASGIApp = gateway(store)

    def domain(self) -> eip712.Domain:
        committee = self._contracts.committee
        return wire.domain(committee.chain_id, committee.address)

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()

    def may_lead(self, address: bytes) -> bool:
        return bool(self._contracts.participants.participant(address).since)

    def is_participant(self, address: bytes) -> bool:
        return False

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        return (self._peer,)


@dataclass
class Full:
    """A member without free slots for strangers, and a participant that joined its federation."""

    store: ContentStore
    file: bytes
    nodes: Nodes
    joined: ParticipantFolder
    keys: ReaderKeys
    member: MemberFolder


@pytest.fixture
def full(chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Full]:
    monkeypatch.setattr(door, "ANSWER_SECONDS", SECONDS)
    with ExitStack() as stack:
        public, store = ContentStore(tmp_path / "public"), ContentStore(tmp_path / "own")
        ground = Ground(tmp_path, chains, stack.enter_context(serving(public)).url, public)
        file, party = ground.federation(), ParticipantFolder(tmp_path / "joined")
        member = stack.enter_context(closing(MemberFolder.create(tmp_path / "member", WORDS, QUICK)))
        keys = ground.funded(party.init(WORDS, QUICK))
        nodes = stack.enter_context(nodes_for(chains, keys.account_secret))
        run = join(party, keys, file, str(ground.data[0]), nodes, device="cpu")
        contracts = open_contracts(nodes, run.deployments)
        secret = 7
        hall = Serving(contracts, store, member.address)
        outbox = stack.enter_context(Outbox(OutboxStore(tmp_path / "notes")))
        handler = RequestHandler(secret, hall, DkgParticipant(secret, Shelf()), outbox)
        server = stack.enter_context(Server(handler, gateway=hall.gateway))
        contracts.participants.announce(Endpoint(curve.address(curve.multiply_base(secret)), server.url))
        large = cid_string(store.add_pieces([bytes([i]) * 2**20 for i in range(32)]))
        for _ in range(door.FETCHER_SLOTS):
            asked = f"GET /ipfs/{large}?format=car HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            assert stack.enter_context(connected(server, asked)).recv(12) == b"HTTP/1.1 200"
        yield Full(store, file, nodes, party, keys, member)


def test_a_stranger_waits_and_a_participant_is_served(full: Full) -> None:
    uri = full.store.add(b"of the record")
    with (
        ChildProcesses(MODULE) as processes,
        ParticipantService(full.joined, full.keys, processes) as service,
    ):
        stranger = Stores.of(service.run, service.contracts).live
        stranger._seconds = 1.0
        with pytest.raises(StoreUnreachableError):
            stranger.read(uri, ANY_SIZE)
        assert service._opened.stores.live.read(uri, ANY_SIZE) == b"of the record"


def test_a_member_is_served(full: Full) -> None:
    uri = full.store.add(b"of the record")
    enter(full.member.path / "run", full.file, full.nodes, own={})
    account = signer_of(full.member.keys)
    with MemberView.of(full.member.path / "run", None, account, full.member) as view:
        assert view.stores.live.read(uri, ANY_SIZE) == b"of the record"
