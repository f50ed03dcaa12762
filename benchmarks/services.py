# SPDX-License-Identifier: Apache-2.0
"""A member's service under attack: how late honest answers are, and how much memory it takes.

python -m benchmarks.services [seconds]        (default 10 seconds of each attack)

The member is a process that signs real answers and has neither chains nor torch.  The leader asks it ten
times a second while another process attacks it.  Memory is the growth of the member over its size when idle.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from blockful_py.committee import wire
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.generation import Charter, Origin
from blockful_py.committee.service.key_custody import KeyCustody, encryption_key
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB, Extent
from blockful_py.committee.service.member_client import Deadlines, IndexedClient, MemberClient, identify
from blockful_py.committee.service.messages import (
    NOBODY,
    Empty,
    HandOnRequest,
    HeadAnswer,
    HeadRequest,
    Identity,
    ReadRequest,
    WrappedKey,
)
from blockful_py.committee.service.office import Seat
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.committee.service.server import Server
from blockful_py.committee.succession import MirrorVoter
from blockful_py.committee.words import HeardWords
from blockful_py.crypto import curve, eip712
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.tls import server_context
from blockful_py.errors import RefusedError
from blockful_py.ledger.replay import SignedWord
from blockful_py.storage import ContentStore, car, cid_string, file_uri, uri_of
from blockful_py.storage.arrivals import FOLDER, Arrivals
from blockful_py.storage.gateway import gateway
from blockful_py.types import Codec

DOMAIN = wire.domain(1337, bytes([9]) * 20)
MEMBER, LIAR = 7, 8
LEADER = wire.MessageSigner(9, DOMAIN)
ATTACKER = wire.MessageSigner(LIAR, DOMAIN)
STRANGER = wire.MessageSigner(10, DOMAIN)
EXTENT = Extent(28, 4)
LARGE = 31 * MIB
BOMB = b"[" + b"[]," * (LARGE // 3) + b"[]]"
FILE = b"".join(bytes([number]) * MIB for number in range(16))
"""The resource that strangers fetch."""
CAR = f"GET /ipfs/{cid_string(file_uri(FILE))}?format=car HTTP/1.1\r\nHost: x\r\n\r\n".encode()
PERIOD = 0.1
CONTEXT = multiprocessing.get_context("spawn")


class NoShares:
    """The shares of a member that generates no keys."""

    def keep(self, share: KeyShare, origin: Origin) -> None:
        raise RefusedError("this member keeps no shares")

    def origin(self, key_id: bytes) -> Origin | None:
        return None

    def settle(self, key_id: bytes) -> None:
        raise RefusedError("this member keeps no shares")


class Desk:
    """An office without chains: the leader and one lying member may ask."""

    def __init__(self, store: ContentStore) -> None:
        self._blocks = BlockCustody(store, Arrivals(store.directory / FOLDER))

    def domain(self) -> eip712.Domain:
        return DOMAIN

    def one_look(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def may_lead(self, address: bytes) -> bool:
        return address in (LEADER.address, ATTACKER.address)

    def is_participant(self, address: bytes) -> bool:
        return False

    def identity(self) -> Identity:
        key = encryption_key(MEMBER)
        return Identity((), key, bytes(20), key, SchnorrSignature(bytes(20), 1))

    def seat(self, epoch: int) -> Seat:
        raise RefusedError("this member has no seat")

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        raise RefusedError("this member has no seat")

    def admit(self, charter: Charter) -> None:
        raise RefusedError("this member generates no keys")

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        return ()

    def current_roster(self) -> tuple[bytes, ...]:
        return ()

    def extent(self) -> Extent:
        return EXTENT

    def open_heads(self, asking: wire.Message, asked: HeadRequest) -> HeadAnswer:
        raise RefusedError("this member has no shares")

    def hand_on(self, asking: wire.Message, asked: HandOnRequest) -> Empty:
        raise RefusedError("this member has no shares")

    def carry_shares(self, carrying: wire.Message, data: bytes) -> Empty:
        raise RefusedError("this member has no shares")

    def key_custody(self) -> KeyCustody:
        """Bodies are parsed, and no more."""
        raise RefusedError("this member keeps no keys")

    def hear(self, signed: SignedWord) -> Empty:
        raise RefusedError("this member hears no auditors")

    def words(self) -> HeardWords:
        raise RefusedError("this member hears no auditors")

    def read_key(self, reader: bytes, wanted: ReadRequest) -> WrappedKey:
        raise RefusedError("this member keeps no keys")

    def block_custody(self) -> BlockCustody:
        return self._blocks


def serve(started: Connection, over: Connection, by_tls: bool = False, held: Path | None = None) -> None:
    """A member; `held` is the folder of its store, a new one otherwise."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Outbox(OutboxStore(Path(folder) / "notes")) as outbox,
    ):
        store = ContentStore(held or Path(folder) / "store")
        handler = RequestHandler(MEMBER, Desk(store), DkgParticipant(MEMBER, NoShares()), outbox)
        if held is None:
            store.add(FILE)
        with Server(
            handler, tls=server_context(MEMBER) if by_tls else None, gateway=gateway(store)
        ) as server:
            identify(server.url, LEADER, 60)
            started.send(server.url)
            over.recv()


def member_memory(pid: int, reset: bool = False) -> int:
    """Peak resident bytes since the last reset."""
    if reset:
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel tells no peak of memory")


def request(message: bytes, length: int) -> bytes:
    return b"POST /message HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length + message


def asked(signer: wire.MessageSigner, kind: MessageKind, body: bytes) -> bytes:
    to = NOBODY if kind is MessageKind.IDENTIFY else curve.address(curve.multiply_base(MEMBER))
    return signer.question(kind.label, 1, bytes(32), kind.round, to, body).envelope


def again_and_again(place: tuple[str, int], count: int, attack: Callable[[socket.socket], None]) -> None:
    """Keeps `count` connections open at one time, each opened again when it ends."""

    def repeat() -> None:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(place, timeout=60) as opened:
                attack(opened)

    for _ in range(count):
        threading.Thread(target=repeat, daemon=True).start()
    threading.Event().wait()


def large_bodies(place: tuple[str, int]) -> None:
    def attack(opened: socket.socket) -> None:
        opened.sendall(request(BOMB, len(BOMB)))
        opened.recv(1)

    again_and_again(place, 24, attack)


def large_bodies_of_known_strangers(place: tuple[str, int]) -> None:
    def attack(opened: socket.socket) -> None:
        line = wire.first_line(asked(STRANGER, MessageKind.IDENTIFY, b"{}"))
        opened.sendall(request(line + BOMB, len(line) + len(BOMB)))
        opened.recv(1)

    again_and_again(place, 24, attack)


def trickling(place: tuple[str, int]) -> None:
    def attack(opened: socket.socket) -> None:
        for byte in request(b"", 1000):
            opened.sendall(bytes([byte]))
            time.sleep(1)

    again_and_again(place, 100, attack)


def trickling_bodies(place: tuple[str, int]) -> None:
    def attack(opened: socket.socket) -> None:
        message = asked(STRANGER, MessageKind.IDENTIFY, b"{}")
        opened.sendall(request(message[:-1], len(message)))
        opened.recv(1)

    again_and_again(place, 100, attack)


def slow_readers(place: tuple[str, int]) -> None:
    def attack(opened: socket.socket) -> None:
        message = asked(STRANGER, MessageKind.IDENTIFY, b"{}")
        opened.sendall(request(message, len(message)))
        time.sleep(5)

    again_and_again(place, 100, attack)


def bombs_of_a_member(place: tuple[str, int]) -> None:
    """The largest bodies that a lying member may send, hardest to parse."""
    kind = MessageKind.KEEP_KEYS
    size = kind.row.limits.question_bytes(EXTENT)
    bomb = b"[" + b"[]," * ((size - 4) // 3) + b"[]]"

    def attack(opened: socket.socket) -> None:
        message = asked(ATTACKER, kind, bomb)
        opened.sendall(request(message, len(message)))
        opened.recv(1)

    again_and_again(place, 16, attack)


def fetching(place: tuple[str, int]) -> None:
    """Strangers read a file as fast as it comes, from as many connections as they are given and more."""

    def attack(opened: socket.socket) -> None:
        opened.sendall(CAR)
        while opened.recv(1 << 20):
            pass

    again_and_again(place, 24, attack)


def stalled_fetching(place: tuple[str, int]) -> None:
    """Strangers ask for a file and do not read it."""

    def attack(opened: socket.socket) -> None:
        opened.sendall(CAR)
        time.sleep(5)

    again_and_again(place, 100, attack)


def pushing(place: tuple[str, int]) -> None:
    """A lying member pushes blocks that belong to nothing."""

    def attack(opened: socket.socket) -> None:
        block = os.urandom(MIB)
        uri = uri_of(block, Codec.RAW)
        message = asked(ATTACKER, MessageKind.KEEP_BLOCKS, b"".join(car.write(uri, [(uri, block)])))
        opened.sendall(request(message, len(message)))
        opened.recv(1)

    again_and_again(place, 16, attack)


@dataclass(frozen=True, slots=True)
class Spell:
    """Seconds of the leader's calls, how many failed, and the member's growth in bytes."""

    calls: list[float]
    failed: int
    growth: int


def spell(url: str, pid: int, idle: int, seconds: float) -> Spell:
    member_memory(pid, reset=True)
    calls, failed, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.monotonic()
        try:
            identify(url, LEADER, 20)
        except Exception:
            failed += 1
        calls.append(time.monotonic() - begun)
        time.sleep(max(0.0, PERIOD - calls[-1]))
    return Spell(calls, failed, member_memory(pid) - idle)


def attacked(attack: Callable[[tuple[str, int]], None], seconds: float) -> tuple[Spell, Spell]:
    """The member in peace, and attacked."""
    started, said = CONTEXT.Pipe(duplex=False)
    awaited, over = CONTEXT.Pipe(duplex=False)
    member = CONTEXT.Process(target=serve, args=(said, awaited))
    member.start()
    url = started.recv()
    assert member.pid is not None
    idle = member_memory(member.pid, reset=True)
    calm = spell(url, member.pid, idle, min(seconds, 3))
    host, port = url.rpartition("/")[2].split(":")
    attacker = CONTEXT.Process(target=attack, args=((host, int(port)),))
    attacker.start()
    time.sleep(2)
    under = spell(url, member.pid, idle, seconds)
    attacker.kill()
    attacker.join()
    over.send(None)
    member.join()
    return calm, under


def lie(listening: socket.socket) -> None:
    """Answers questions under the member's own signature with 31 MiB that are hard to parse."""
    signer = wire.MessageSigner(MEMBER, DOMAIN)

    def answer(opened: socket.socket) -> None:
        with contextlib.suppress(OSError), opened:
            read = b""
            while b"\n" not in read.partition(b"\r\n\r\n")[2]:
                read += opened.recv(1 << 16)
            question = wire.open_line(DOMAIN, wire.first_line(read.partition(b"\r\n\r\n")[2]))
            message = signer.answer(question, wire.ANSWERED, BOMB).envelope
            opened.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(message) + message)

    while True:
        opened, _ = listening.accept()
        threading.Thread(target=answer, args=(opened,), daemon=True).start()


def drive(url: str, lying: str, said: Connection) -> None:
    """Asks an honest member and a lying one at the same time, ten times; says the times and its growth."""
    address = curve.address(curve.multiply_base(MEMBER))
    honest = MemberClient(url, address, LEADER, Deadlines(60, 60))
    liar = MemberClient(lying, address, LEADER, Deadlines(60, 60))
    identify(url, LEADER, 60)
    idle = member_memory(os.getpid(), reset=True)
    times = []
    for _ in range(10):
        begun = time.monotonic()
        done: list[float] = []

        def ask(place: IndexedClient) -> None:
            try:
                place.client.ask(MessageKind.TELL_KEY, 1, bytes(32), Empty())
            finally:
                if place.index == 1:
                    done.append(time.monotonic() - begun)  # noqa: B023

        answers = at_once([IndexedClient(1, honest), IndexedClient(2, liar)], ask, 2)
        assert isinstance(answers[2], Refusal)
        times += done
    said.send((times, member_memory(os.getpid()) - idle))


def lied_to() -> tuple[list[float], int]:
    started, said = CONTEXT.Pipe(duplex=False)
    awaited, over = CONTEXT.Pipe(duplex=False)
    member = CONTEXT.Process(target=serve, args=(said, awaited))
    member.start()
    url = started.recv()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        liar = CONTEXT.Process(target=lie, args=(listening,))
        liar.start()
        told, telling = CONTEXT.Pipe(duplex=False)
        driver = CONTEXT.Process(
            target=drive, args=(url, f"http://127.0.0.1:{listening.getsockname()[1]}", telling)
        )
        driver.start()
        times, growth = told.recv()
        driver.join()
        liar.kill()
        liar.join()
    over.send(None)
    member.join()
    return times, growth


ATTACKS = (
    large_bodies,
    large_bodies_of_known_strangers,
    trickling,
    trickling_bodies,
    slow_readers,
    bombs_of_a_member,
    fetching,
    stalled_fetching,
    pushing,
)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    print("attack                            failed   median/calm   slowest s   growth MiB")
    for attack in ATTACKS:
        calm, under = attacked(attack, seconds)
        ratio = statistics.median(under.calls) / statistics.median(calm.calls)
        print(
            f"{attack.__name__:<32} {under.failed:>3}/{len(under.calls):<4} {ratio:>9.1f}"
            f" {max(under.calls):>11.2f} {under.growth / MIB:>12.0f}",
            flush=True,
        )
    times, growth = lied_to()
    print(
        f"a liar's answers of 31 MiB: the honest member's slowest {max(times):.2f} s,"
        f" the driver grows by {growth / MIB:.0f} MiB"
    )


if __name__ == "__main__":
    main()
