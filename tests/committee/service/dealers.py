# SPDX-License-Identifier: Apache-2.0
"""Members in this process that generate keys over HTTP, honest and crooked ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.types import ASGIApp

from blockful_py.committee import wire
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.generation import Charter, Origin
from blockful_py.committee.service.key_custody import KeyCustody
from blockful_py.committee.service.key_leader import Generated, generate_among
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import Extent
from blockful_py.committee.service.member_client import Deadlines, MemberClient
from blockful_py.committee.service.messages import (
    Answers,
    Complaints,
    DealerCommitment,
    Identity,
    ReadRequest,
    SealedShares,
    WrappedKey,
)
from blockful_py.committee.service.office import Seat
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.committee.service.server import Server
from blockful_py.committee.succession import MirrorVoter
from blockful_py.crypto import curve, eip712
from blockful_py.crypto.multisignature import SchnorrSignature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import Reveal
from blockful_py.errors import RefusedError

CHAIN, COMMITTEE = 1337, bytes([9]) * 20
DOMAIN = wire.domain(CHAIN, COMMITTEE)
LEADER_KEY = curve.multiply_base(curve.random_scalar(SeededRng(b"encryption")))
IDENTITY = Identity((), LEADER_KEY, bytes(20), LEADER_KEY, SchnorrSignature(bytes(20), 1))
LEADER = wire.MessageSigner(curve.random_scalar(SeededRng(b"leader")), DOMAIN)


class Hall:
    """A world with current epoch 1 that admits every charter of epoch 2."""

    gateway: ASGIApp | None = None

    def domain(self) -> eip712.Domain:
        return DOMAIN

    def one_look(self) -> AbstractContextManager[None]:
        return nullcontext()

    def may_lead(self, address: bytes) -> bool:
        return address == LEADER.address

    def is_participant(self, address: bytes) -> bool:
        return False

    def identity(self) -> Identity:
        return IDENTITY

    def seat(self, epoch: int) -> Seat:
        raise RefusedError("nobody sits here")

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        raise RefusedError("nobody sits here")

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        return ()

    def current_roster(self) -> tuple[bytes, ...]:
        return ()

    def extent(self) -> Extent:
        return Extent(16, 16)

    def key_custody(self) -> KeyCustody:
        raise RefusedError("nothing is kept here")

    def read_key(self, reader: bytes, wanted: ReadRequest) -> WrappedKey:
        raise RefusedError("nothing is kept here")

    def block_custody(self) -> BlockCustody:
        raise RefusedError("nothing is kept here")

    def admit(self, charter: Charter) -> None:
        if charter.epoch != 2:
            raise RefusedError("another epoch")


@dataclass
class Shelf:
    """Stores shares in memory."""

    kept: list[KeyShare] = field(default_factory=list)
    origins: dict[bytes, Origin] = field(default_factory=dict)
    settled: list[bytes] = field(default_factory=list)

    def keep(self, share: KeyShare, origin: Origin) -> None:
        self.kept.append(share)
        self.origins[origin.key.key_id] = origin

    def origin(self, key_id: bytes) -> Origin | None:
        return self.origins.get(key_id)

    def settle(self, key_id: bytes) -> None:
        self.settled.append(key_id)


@dataclass
class Party:
    """Members behind their URLs, and `clients` for them."""

    clients: list[MemberClient]
    shelves: list[Shelf]
    servers: list[Server]

    def charter(self, members: tuple[bytes, ...], epoch: int = 2) -> Charter:
        threshold = -(-2 * len(members) // 3)
        dealers, salt = tuple(range(1, len(members) + 1)), SeededRng(b"salt", len(members))(32)
        return Charter(CHAIN, COMMITTEE, epoch, 0, 0, members, dealers, threshold, salt)

    def elected_charter(self, dealers: tuple[bytes, ...]) -> Charter:
        """A charter with all members, for any dealers."""
        whole = self.charter(tuple(client.address for client in self.clients))
        indices = tuple(i for i, client in enumerate(self.clients, start=1) if client.address in dealers)
        return replace(whole, dealers=indices, salt=SeededRng(b"salt", len(dealers))(32))

    def generate(self, minimum: int = 3) -> Generated:
        return generate_among(self.clients, self.charter, minimum)


Hand = Callable[[MessageKind, wire.Message, Any], Any]


class CrookedHandler(RequestHandler):
    """Answers with the result of `hand` for the honest answer."""

    def __init__(self, hand: Hand, *parts: Any) -> None:
        super().__init__(*parts)
        self._hand = hand

    def _answered(self, kind: MessageKind, message: wire.Message) -> Any:
        return self._hand(kind, message, super()._answered(kind, message))


@contextmanager
def party(
    size: int, hands: dict[int, Hand] | None = None, hall: Callable[[int], Hall] = lambda index: Hall()
) -> Iterator[Party]:
    """A party of `size` members; the crooked ones are in `hands`, by index; `hall` is each member's world."""
    with ExitStack() as stack:
        found = Party([], [], [])
        folder = Path(stack.enter_context(TemporaryDirectory()))
        for index in range(1, size + 1):
            secret = curve.random_scalar(SeededRng(b"member", index))
            shelf = Shelf()
            hand = (hands or {}).get(index)
            outbox = stack.enter_context(Outbox(OutboxStore(folder / str(index))))
            world = hall(index)
            parts = secret, world, DkgParticipant(secret, shelf), outbox
            handler = CrookedHandler(hand, *parts) if hand else RequestHandler(*parts)
            server = stack.enter_context(Server(handler, gateway=world.gateway))
            address = curve.address(curve.multiply_base(secret))
            found.clients.append(MemberClient(server.url, address, LEADER, Deadlines(20, 20)))
            found.shelves.append(shelf)
            found.servers.append(server)
        yield found


def _unreadable(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    if isinstance(honest, SealedShares):
        return SealedShares(tuple(replace(box, sealed=bytes(81)) for box in honest.boxes))
    return replace(honest, answers=()) if isinstance(honest, Answers) else honest


def _no_proof(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    return replace(honest, proof_scalar=honest.proof_scalar ^ 1) if isinstance(honest, Reveal) else honest


def _other_name(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    if not isinstance(honest, DealerCommitment):
        return honest
    return replace(honest, commitment=replace(honest.commitment, dealer=honest.commitment.dealer % 4 + 1))


def _no_sealing_key(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    if not isinstance(honest, DealerCommitment):
        return honest
    return replace(honest, sealing_key=replace(honest.sealing_key, x=5))


def _malformed(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    return Complaints(()) if isinstance(honest, Reveal) else honest


def _other_key(kind: MessageKind, message: wire.Message, honest: Any) -> Any:
    return replace(honest, threshold=honest.threshold - 1) if kind is MessageKind.KEY_FINISH else honest


CROOKED = {
    "deals boxes that do not open and does not answer complaints": _unreadable,
    "proves no possession": _no_proof,
    "speaks in the name of another": _other_name,
    "gives a sealing key that is none": _no_sealing_key,
    "sends something else": _malformed,
    "confirms another key": _other_key,
}
