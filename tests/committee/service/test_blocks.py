# SPDX-License-Identifier: Apache-2.0
"""Blocks are pushed to members: only missing ones, from known senders, within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.service import door
from blockful_py.committee.service import server as module
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.block_push import NO_SUBJECT, push
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MAX_NAMES, Extent
from blockful_py.committee.service.member_client import IndexedClient, MemberClient, identify, signed_fetch
from blockful_py.committee.service.messages import BlockNames, Empty
from blockful_py.committee.service.server import Server
from blockful_py.crypto import curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import (
    BlockNotFoundError,
    MessageError,
    QuorumError,
    RefusedError,
    StoreUnreachableError,
    TooLongError,
)
from blockful_py.storage import ContentStore, car, cid_string, uri_of
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine
from blockful_py.storage.gateway import gateway
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Codec, Uri
from tests.committee.service.dealers import DOMAIN, LEADER, Hall, Party, party
from tests.committee.service.desks import SECONDS, Desk, connected, raw, request
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN

LONG = PATTERN + PATTERN[::-1] + b"end"
PEER = wire.MessageSigner(curve.random_scalar(SeededRng(b"another leader")), DOMAIN)
EPOCH = 1


class CountingCustody(BlockCustody):
    """Records the kinds and sizes of the questions that it answers."""

    def __init__(self, store: ContentStore, arrivals: Arrivals, taken: list[tuple[MessageKind, int]]) -> None:
        super().__init__(store, arrivals)
        self._taken = taken

    def had(self, sender: bytes, asked: BlockNames) -> BlockNames:
        self._taken.append((MessageKind.HAS_BLOCKS, len(codec.encode(asked))))
        return super().had(sender, asked)

    def keep(self, sender: bytes, body: bytes) -> Empty:
        self._taken.append((MessageKind.KEEP_BLOCKS, len(body)))
        return super().keep(sender, body)


class Cellar(Hall):
    """The world of a member with its own store, and two leaders."""

    def __init__(self, folder: Path, most: int) -> None:
        self.store = ContentStore(folder)
        self.arrivals = Arrivals(folder / "arrivals", most)
        self.taken: list[tuple[MessageKind, int]] = []
        self.custody_of_blocks = CountingCustody(self.store, self.arrivals, self.taken)
        self.gateway = gateway(self.store)

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()

    def may_lead(self, address: bytes) -> bool:
        return address in (LEADER.address, PEER.address)

    def is_participant(self, address: bytes) -> bool:
        return False

    def block_custody(self) -> BlockCustody:
        return self.custody_of_blocks

    def file(self, uri: Uri) -> bytes:
        """Fetches the file from this machine alone."""
        return FederatedStore(self.store, self.arrivals, lambda: ()).read(uri, ANY_SIZE)


@dataclass
class Members:
    """Members and their cellars."""

    party: Party
    cellars: list[Cellar]

    def places(self, signer: wire.MessageSigner = LEADER) -> list[IndexedClient]:
        clients = self.party.clients
        return [
            IndexedClient(index, MemberClient(each.url, each.address, signer, each.deadlines))
            for index, each in enumerate(clients, start=1)
        ]

    def one(self, signer: wire.MessageSigner = LEADER) -> MemberClient:
        return self.places(signer)[0].client


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    cellars: list[Cellar] = []

    def cellar(index: int) -> Cellar:
        cellars.append(Cellar(tmp_path / str(index), 2**30))
        return cellars[-1]

    with party(4, hall=cellar) as gathered:
        yield Members(gathered, cellars)


@pytest.fixture
def crowded(members: Members, monkeypatch: pytest.MonkeyPatch) -> Iterator[Members]:
    """Strangers that never read hold all slots that the first member gives them."""
    monkeypatch.setattr(door, "ANSWER_SECONDS", SECONDS)
    name = cid_string(members.cellars[0].store.add_pieces([bytes([i]) * 2**20 for i in range(32)]))
    with ExitStack() as stack:
        for _ in range(door.FETCHER_SLOTS):
            whole = get(f"/ipfs/{name}?format=car")
            opened = stack.enter_context(connected(members.party.servers[0], whole))
            assert opened.recv(12) == b"HTTP/1.1 200"
        yield members


def get(path: str, line: str = "") -> bytes:
    signed = f"Authorization: {line}\r\n" if line else ""
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{signed}\r\n".encode()


@pytest.fixture
def source(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "source")


def test_files_are_pushed_to_all_members_once(members: Members, source: ContentStore) -> None:
    files = [source.add(LONG), source.add(b"small"), source.add(PATTERN + b"shared")]
    done = push(files, source, members.places(), EPOCH, quorum=4)
    assert done == (1, 2, 3, 4)
    for cellar in members.cellars:
        kinds = [kind for kind, _ in cellar.taken]
        assert kinds == [MessageKind.HAS_BLOCKS, *[MessageKind.KEEP_BLOCKS] * 2]
        assert all(size <= kind.row.limits.question_bytes(Extent(0, 0)) for kind, size in cellar.taken)
        cellar.taken.clear()
    push(files, source, members.places(), EPOCH, quorum=4)
    for cellar in members.cellars:
        assert [kind for kind, _ in cellar.taken] == [MessageKind.HAS_BLOCKS]
        assert [cellar.file(uri) for uri in files] == [LONG, b"small", PATTERN + b"shared"]
        assert cellar.arrivals.used() == {LEADER.address.hex(): 0}


def test_a_kept_file_is_not_pushed_again_nor_what_another_file_has(
    members: Members, source: ContentStore
) -> None:
    for cellar in members.cellars:
        cellar.store.add(PATTERN + PATTERN[::-1])
    push([source.add(LONG)], source, members.places(PEER), EPOCH, quorum=4)
    for cellar in members.cellars:
        assert [size < 1000 for kind, size in cellar.taken if kind is MessageKind.KEEP_BLOCKS] == [True]
        assert cellar.file(source.add(LONG)) == LONG


def test_a_push_that_broke_off_goes_on(members: Members, source: ContentStore) -> None:
    uri = source.add(LONG)
    first = list(blocks_of(uri, source.block))[:2]
    body = b"".join(car.write(uri, ((each, source.block(each)) for each in first)))
    members.one().ask(MessageKind.KEEP_BLOCKS, EPOCH, NO_SUBJECT, body)
    (cellar, *_) = members.cellars
    with pytest.raises(BlockNotFoundError):
        cellar.file(uri)
    cellar.taken.clear()
    push([uri], source, members.places(), EPOCH, quorum=4)
    assert sum(size for _, size in cellar.taken) < len(PATTERN) + 10_000
    assert cellar.file(uri) == LONG


def test_members_that_fail_are_named_and_a_quorum_is_enough(members: Members, source: ContentStore) -> None:
    files = [source.add(LONG)]
    members.party.servers[1].close()
    done = push(files, source, members.places(), EPOCH, quorum=3)
    assert done == (1, 3, 4)
    with pytest.raises(QuorumError, match=r"3 of 4 members took .*, 4 are needed.*member 2: no member"):
        push(files, source, members.places(), EPOCH, quorum=4)


def test_a_sender_is_bounded_and_others_are_not_its_victims(members: Members, source: ContentStore) -> None:
    for cellar in members.cellars:
        cellar.arrivals = Arrivals(cellar.store.directory / "arrivals", 2 * len(PATTERN))
        cellar.custody_of_blocks = CountingCustody(cellar.store, cellar.arrivals, cellar.taken)
    first, second = source.add(LONG), source.add(b"small")
    with pytest.raises(QuorumError, match=f"{LEADER.address.hex()} has [0-9]+ bytes of blocks here"):
        push([first], source, members.places(), EPOCH, quorum=3)
    push([second], source, members.places(PEER), EPOCH, quorum=4)
    for cellar in members.cellars:
        assert cellar.arrivals.used()[LEADER.address.hex()] <= 2 * len(PATTERN)
        assert cellar.file(second) == b"small"


def test_a_sender_sees_what_is_kept_and_its_own_pushes_alone(members: Members, source: ContentStore) -> None:
    kept, mine, other = (uri_of(each, Codec.RAW) for each in (b"kept", b"mine", b"other"))
    members.cellars[0].store.add(b"kept")
    for signer, uri, block in ((LEADER, mine, b"mine"), (PEER, other, b"other")):
        body = b"".join(car.write(uri, [(uri, block)]))
        members.one(signer).ask(MessageKind.KEEP_BLOCKS, EPOCH, NO_SUBJECT, body)
    answer = members.one().ask(MessageKind.HAS_BLOCKS, EPOCH, NO_SUBJECT, BlockNames((kept, mine, other)))
    assert codec.decode(BlockNames, answer.message.body).blocks == (kept, mine)


@pytest.mark.parametrize("defect", ["other bytes", "cut", "no header", "empty", "json"])
def test_a_body_with_a_defect_is_refused_whole(members: Members, defect: str) -> None:
    good, bad = uri_of(b"good", Codec.RAW), uri_of(b"bad", Codec.RAW)
    whole = b"".join(car.write(good, [(good, b"good"), (bad, b"bad")]))
    body = {
        "other bytes": whole[:-1] + b"x",
        "cut": whole[:-1],
        "no header": whole[60:],
        "empty": b"",
        "json": codec.encode(BlockNames((good,))),
    }[defect]
    with pytest.raises(RefusedError, match="the blocks cannot be kept"):
        members.one().ask(MessageKind.KEEP_BLOCKS, EPOCH, NO_SUBJECT, body)
    assert set(members.cellars[0].arrivals.used().values()) <= {0}


def test_too_many_names_are_refused(members: Members) -> None:
    names = BlockNames((uri_of(b"x", Codec.DAG_PB),) * (MAX_NAMES + 1))
    with pytest.raises(RefusedError, match=f"{MAX_NAMES} are allowed"):
        members.one().ask(MessageKind.HAS_BLOCKS, EPOCH, NO_SUBJECT, names)
    names = BlockNames(names.blocks[1:])
    assert len(codec.encode(names)) <= MessageKind.HAS_BLOCKS.row.limits.question_bytes(Extent(0, 0))
    members.one().ask(MessageKind.HAS_BLOCKS, EPOCH, NO_SUBJECT, names)


def test_the_largest_block_fits_a_message_and_two_do_not(members: Members) -> None:
    block = bytes(MAX_BLOCK_SIZE)
    uri = uri_of(block, Codec.RAW)
    body = b"".join(car.write(uri, [(uri, block)]))
    members.one().ask(MessageKind.KEEP_BLOCKS, EPOCH, NO_SUBJECT, body)
    assert members.cellars[0].arrivals.get(uri) == block
    question = LEADER.question("keep-blocks", EPOCH, NO_SUBJECT, 1, members.one().address, b"")
    longer = request(question.line, len(question.line) + 2 * len(body))
    assert b"HTTP/1.1 413" in raw(members.party.servers[0], longer)


@pytest.mark.parametrize("kind", [MessageKind.HAS_BLOCKS, MessageKind.KEEP_BLOCKS])
def test_strangers_push_nothing_and_ask_nothing(members: Members, kind: MessageKind) -> None:
    stranger = wire.MessageSigner(curve.random_scalar(SeededRng(b"stranger")), DOMAIN)
    question = stranger.question(kind.label, EPOCH, NO_SUBJECT, 1, members.one().address, b"{}")
    answer = raw(members.party.servers[0], request(question.line, 1000))
    assert b"neither a member of this committee nor a leader" in answer


def test_a_member_that_shares_the_runs_store_refuses() -> None:
    with party(1) as gathered, pytest.raises(RefusedError, match="nothing is kept here"):
        gathered.clients[0].ask(MessageKind.HAS_BLOCKS, EPOCH, NO_SUBJECT, BlockNames(()))


def test_bodies_of_blocks_that_trickle_hold_up_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BULK_BODIES", 1 << 16)
    size = 1 << 15
    with Server(Desk()) as server, ExitStack() as stack:
        for number in range(4):
            line = b"bulk%d\n" % number
            stack.enter_context(connected(server, request(line + b"x", len(line) + size)))
        body = bytes(size)
        assert raw(server, request(b"a\n" + body)).endswith(body * 2)


def test_messages_are_refused_and_not_mistaken_for_cars(members: Members) -> None:
    question = LEADER.question("keep-blocks", EPOCH, NO_SUBJECT, 2, members.one().address, b"")
    assert b"there is no message" in raw(members.party.servers[0], request(question.envelope))
    with pytest.raises((MessageError, TooLongError, RefusedError)):
        members.one().ask(MessageKind.HAS_BLOCKS, EPOCH, NO_SUBJECT, b"\0" * 100)


def reader_of(
    members: Members, folder: Path, signer: wire.MessageSigner | None, seconds: float
) -> FederatedStore:
    """A machine that asks the first member, as a stranger or with its key."""
    url, address = members.one().url, members.one().address
    store, sign = ContentStore(folder), signed_fetch(signer, lambda: EPOCH) if signer else lambda machine: {}
    arrivals = Arrivals(folder / "arrivals")
    return FederatedStore(store, arrivals, lambda: [Machine(url, address)], sign=sign, seconds=seconds)


def test_strangers_that_fetch_starve_no_peer(crowded: Members, tmp_path: Path) -> None:
    uri = crowded.cellars[0].store.add(LONG)
    assert raw(crowded.party.servers[0], get(f"/ipfs/{cid_string(uri)}?format=raw"))[9:12] == b"503"
    with pytest.raises(StoreUnreachableError, match="busy"):
        reader_of(crowded, tmp_path / "stranger", None, 0.1).read(uri, ANY_SIZE)
    assert reader_of(crowded, tmp_path / "peer", LEADER, SECONDS).read(uri, ANY_SIZE) == LONG
    assert identify(crowded.one().url, LEADER, SECONDS)[0] == crowded.one().address


def test_a_request_that_no_peer_signed_is_a_strangers(crowded: Members) -> None:
    uri = crowded.cellars[0].store.add(b"small")
    path, member = f"/ipfs/{cid_string(uri)}?format=raw", Machine(crowded.one().url, crowded.one().address)
    stranger = wire.MessageSigner(curve.random_scalar(SeededRng(b"stranger")), DOMAIN)
    good = signed_fetch(LEADER, lambda: EPOCH)(member)["authorization"]
    other = LEADER.question("has-blocks", EPOCH, NO_SUBJECT, 1, member.address, b"").line.decode().strip()
    for line in (
        signed_fetch(stranger, lambda: EPOCH)(member)["authorization"],
        signed_fetch(LEADER, lambda: EPOCH)(Machine(member.url, bytes(20)))["authorization"],
        wire.SCHEME + other,
        good.replace("fetch", "fetsh"),
        "Basic YTpi",
        wire.SCHEME + "[" * 900,
    ):
        assert raw(crowded.party.servers[0], get(path, line))[9:12] == b"503"
    assert raw(crowded.party.servers[0], get(path, good)).endswith(b"small")
    assert raw(crowded.party.servers[0], get(path, good))[9:12] == b"503"


def test_the_signature_of_a_fetch_is_no_question(members: Members) -> None:
    with pytest.raises(RefusedError, match="is not a question"):
        members.one().ask(MessageKind.FETCH_BLOCKS, EPOCH, NO_SUBJECT, b"")
