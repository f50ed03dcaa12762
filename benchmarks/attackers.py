# SPDX-License-Identifier: Apache-2.0
"""Participants that attack a federation, for `benchmarks.attack_costs`: a process for each account."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.instruments import replaced
from blockful_py.chain.participant_registry import Endpoint, ParticipantRegistryContract
from blockful_py.chain.signer import Signer
from blockful_py.committee import wire
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB, Extent
from blockful_py.committee.service.member_client import post
from blockful_py.errors import BlockfulError, ContractError, QuorumError
from blockful_py.forget import Forget
from blockful_py.learning.weights import Weights
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.pipeline import party as party_module
from blockful_py.pipeline.coordination.remote_committee import ReachableMember
from blockful_py.pipeline.jobs import publishing
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.parts import MAX_REQUEST_BYTES, request_to_bytes
from blockful_py.record.request import Request, Start
from blockful_py.storage import car
from blockful_py.storage.arrivals import FOLDER, Arrivals
from blockful_py.storage.cid import uri_of
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import blocks_of, file_uri
from blockful_py.types import Codec, Paradigm, Uri
from tests.learning.poison import POISONS
from tests.storage.dags import file_of
from tests.storage.machines import Liar, lying

BY_OWNERS = {
    "parts of a request of its own that are none": ("x3", "x4"),
    "valid requests": ("x1", "x2"),
}
"""Attacks by accounts with a published model, which stay.  Other accounts leave after their attack."""
PLACES = 4
"""Requests of an account that wait for a decision, at most."""
HAND_INS = 1024
"""Hand-ins of an account in 7,200 blocks, at most."""
BLOCKS = 5000
CONNECTIONS = 16
"""Questions of one leader that a member takes at a time."""
SECONDS = 60.0


@dataclass
class Attacker:
    """One account's attack.

    Attributes:
        honest: the account whose request is attacked.
        sent: bytes sent over the network, besides transactions.
        done: number of its actions, by name.
    """

    party: PartyRun
    secret: int
    honest: bytes
    over: threading.Event
    sent: int = 0
    done: dict[str, int] = field(default_factory=dict)

    @property
    def registry(self) -> ParticipantRegistryContract:
        return self.party.federation.contracts.participants

    @property
    def store(self) -> ContentStore:
        """Its own store."""
        return ContentStore(self.party.federation.run.live_store)

    @property
    def account(self) -> bytes:
        return address_of(self.secret)

    def own_model(self) -> str:
        """The published model of this account."""
        models = self.party.federation.catalogue().models
        mine = "0x" + self.account.hex()
        return next(name for name, placed in models.items() if placed.node.statement.owner == mine)

    def count(self, what: str, number: int = 1) -> None:
        self.done[what] = self.done.get(what, 0) + number

    def hand_out(self, uri: Uri) -> None:
        """Has all members keep a file's blocks."""
        self.party.federation.context.hand_out([uri])
        sizes = {block: len(self.store.block(block)) for block in blocks_of(uri, self.store.block)}
        committee = self.party.federation.contracts.committee
        self.sent += sum(sizes.values()) * len(committee.roster(committee.current_epoch())[0].members)

    def file(self, uri: Uri, blocks: int = BLOCKS) -> None:
        self.registry.file(uri, blocks)
        self.count("filings")

    def request(self, method: str, created: int) -> Request:
        """A request about the honest party's model, which this account signs."""
        live = self.party.federation.contracts.live
        position = self.party.federation.catalogue()["b"].position
        drafted = Request(
            starts=(Start(name="b", position=str(position)),),
            classes=(1,),
            paradigm=Paradigm.SEQUENTIAL.value,
            method=method,
            created=created,
        )
        return drafted.signed([self.secret], live.chain_id, live.address)


def unknown_methods(attacker: Attacker) -> None:
    for number in range(PLACES):
        request = attacker.request("no_such_method {}", int(time.time()) + number)
        uri = attacker.store.add(request_to_bytes(request))
        attacker.hand_out(uri)
        attacker.file(uri)


def unreadable(attacker: Attacker) -> None:
    """Files of the largest size that are hard to parse."""
    for number in range(PLACES):
        data = b"[" * (MAX_REQUEST_BYTES - 8) + b"%08d" % number
        uri = attacker.store.add(data)
        attacker.hand_out(uri)
        attacker.file(uri)


def bombs(attacker: Attacker) -> None:
    """Two blocks each that a reader would take for 1 GiB."""
    for _ in range(PLACES):
        uri = bomb(attacker)
        attacker.hand_out(uri)
        attacker.file(uri)


def bomb(attacker: Attacker) -> Uri:
    """A file of one block that is linked 1,024 times, in the attacker's store."""
    root, blocks = file_of([os.urandom(MIB)] * 1024, 1024)
    arrivals = Arrivals(attacker.store.directory / FOLDER)
    for uri, block in blocks.items():
        arrivals.put("own", uri, block)
    attacker.store.adopt(root, blocks, arrivals)
    return root


def absent(attacker: Attacker) -> None:
    for _ in range(PLACES):
        attacker.file(file_uri(os.urandom(100)))


@dataclass(frozen=True)
class Machine:
    """An announced machine that answers requests for files as none should; `status` of HTTP."""

    answer: Callable[[threading.Event], Iterator[bytes]]
    status: int = 200

    def __call__(self, attacker: Attacker) -> None:
        liar = Liar(lambda form, uri: self.answer(attacker.over), self.status)
        served = ExitStack()
        machine = served.enter_context(lying(liar))
        attacker.registry.announce(Endpoint(attacker.account, machine.url))
        absent(attacker)

        def end() -> None:
            attacker.over.wait()
            attacker.count("questions", len(liar.asked))
            attacker.sent += liar.sent
            served.close()

        threading.Thread(target=end).start()


def _stalling(over: threading.Event) -> Iterator[bytes]:
    while not over.wait(1.0):
        yield b"\0"


def _busy(over: threading.Event) -> Iterator[bytes]:
    yield from ()


def _garbage(over: threading.Event) -> Iterator[bytes]:
    for _ in range(32):
        yield os.urandom(MIB)


def odd_models(attacker: Attacker) -> None:
    """Proposes its model over and over, each time with weights of another form, or that are not finite."""
    party, catalogue = attacker.party, attacker.party.federation.catalogue()
    honest = party._trained(catalogue)
    (model,) = honest.wave
    turn = iter(range(10**9))
    size = sum(tensor.numel() * 4 for tensor in model.weights.values())
    committee = party.federation.contracts.committee
    members = len(committee.roster(committee.current_epoch())[0].members)

    def trained(_: object) -> object:
        poison = POISONS[next(turn) % len(POISONS)]
        return replace(honest, wave=(replace(model, weights=poison.made_of(model.weights)),))

    def propose() -> None:
        with (
            replaced(party_module, "ATTEMPTS", 1),
            replaced(publishing, "form_of", lambda _: _Unchecked()),
            replaced(party, "_trained", trained),
        ):
            while not attacker.over.is_set():
                with suppress(QuorumError, ContractError):
                    party.train_next()
                    attacker.count("published")
                attacker.count("proposals")
                attacker.sent += size * members

    threading.Thread(target=propose).start()


class _Unchecked:
    """A form that anything has."""

    def require(self, weights: Weights, whose: str) -> None:
        pass


def own_garbage(attacker: Attacker) -> None:
    """Hands in, as the owner, three wrong parts of a request."""
    registry = attacker.registry
    catalogue, own = attacker.party.federation.catalogue(), attacker.own_model()
    number = attacker.party.request((own,), Forget.of_classes([1]), Paradigm.PARALLEL, None)
    attacker.count("filings")
    text = attacker.store.add(b"[" * MIB)
    parts = (bomb(attacker), text, file_uri(os.urandom(100)))
    for part in parts[:2]:
        attacker.hand_out(part)
    for part in parts:
        registry.hand_in(number, catalogue[own].position, part)
        attacker.count("hand-ins")


def others_parts(attacker: Attacker) -> None:
    """Hands in for the honest request, without end, parts that belong to others."""
    registry, catalogue = attacker.registry, attacker.party.federation.catalogue()

    def flood() -> None:
        while not attacker.over.is_set():
            found = [each for each in registry.filed_requests() if each.by == attacker.honest]
            if found and found[-1].is_admitted:
                with suppress(BlockfulError):
                    registry.hand_in(found[-1].number, catalogue["b"].position, file_uri(os.urandom(100)))
                    attacker.count("hand-ins")
                if attacker.done.get("hand-ins", 0) >= HAND_INS:
                    return
            else:
                time.sleep(0.2)

    threading.Thread(target=flood).start()


def largest_messages(attacker: Attacker) -> None:
    """As many questions as each member takes at a time, of the largest sizes, half of them blocks."""
    context = attacker.party.federation.context
    contracts = attacker.party.federation.contracts
    domain = wire.domain(contracts.committee.chain_id, contracts.committee.address)
    signer = wire.MessageSigner(attacker.secret, domain)
    settings = context.run.settings.federation
    size = MessageKind.KEEP_KEYS.row.limits.question_bytes(
        Extent(settings.users + contracts.archive.length(), 4)
    )
    nested = b"[" + b"[]," * ((size - 4) // 3) + b"[]]"
    block = os.urandom(MIB)
    pushed = b"".join(car.write(uri_of(block, Codec.RAW), [(uri_of(block, Codec.RAW), block)]))
    epoch = contracts.committee.current_epoch()

    def ask(url: str, address: bytes, kind: MessageKind, body: bytes) -> None:
        while not attacker.over.is_set():
            question = signer.question(kind.label, epoch, bytes(32), kind.round, address, body).envelope
            with suppress(Exception):
                post(url, question, SECONDS, lambda line: MIB)
            attacker.sent += len(question)
            attacker.count("messages")

    for each in context.leader.remote().reachable(3).values():
        if isinstance(each, ReachableMember):
            for turn in range(CONNECTIONS):
                kind, body = (
                    (MessageKind.KEEP_KEYS, nested) if turn % 2 else (MessageKind.KEEP_BLOCKS, pushed)
                )
                told = (each.client.url, each.client.address, kind, body)
                threading.Thread(target=ask, args=told, daemon=True).start()


def valid_requests(attacker: Attacker) -> None:
    """As many valid requests at once as the contract takes; its own participant does its parts."""
    own = attacker.own_model()
    with suppress(ContractError):  # all places are taken
        for number in range(PLACES + 1):
            attacker.party.request((own,), Forget.of_classes([number]), Paradigm.SEQUENTIAL, None)
            attacker.count("filings")


ATTACKS: dict[str, Callable[[Attacker], None]] = {
    "requests with an unknown method": unknown_methods,
    "request files that cannot be parsed, of 1 MiB": unreadable,
    "request files of one block linked 1,024 times": bombs,
    "requests whose files nobody has": absent,
    "the same, from a machine that trickles": Machine(_stalling),
    "the same, from a machine that is busy (503)": Machine(_busy, 503),
    "the same, from a machine that sends noise": Machine(_garbage),
    "models of another form, proposed over and over": odd_models,
    "messages of the largest size, 16 connections a member": largest_messages,
    "hand-ins for the honest request without end": others_parts,
    "parts of a request of its own that are none": own_garbage,
    "valid requests": valid_requests,
}
"""In the order of the trials: the effects of the last two are permanent."""


def attack(said: Connection, kind: str, folder: Path, words: str, honest: bytes) -> None:
    """Opens the account's run and reports it; attacks and ends on demand, and reports its cost.

    Runs at the lowest priority: a real attacker has a machine of its own and takes none of its victims' time.
    """
    os.nice(19)
    participant = ParticipantFolder(folder)
    keys = participant.keys(words)
    signer = Signer(keys.account_secret.to_bytes(32, "big"))
    with (
        Nodes(participant.opened()[0].place, signer) as nodes,
        PartyRun.of_participant(participant.run, nodes, keys) as party,
    ):
        attacker = Attacker(party, keys.account_secret, honest, threading.Event())
        said.send("open")
        said.recv()
        problem = ""
        try:
            ATTACKS[kind](attacker)
        except BlockfulError as error:
            problem = str(error)
        said.send("begun")
        said.recv()
        attacker.over.set()
        time.sleep(0.5)
        if kind not in BY_OWNERS:
            with suppress(BlockfulError):
                attacker.registry.leave()
        said.send({"sent": attacker.sent, "done": dict(attacker.done), "problem": problem})
        said.recv()
        os._exit(0)
