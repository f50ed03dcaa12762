# SPDX-License-Identifier: Apache-2.0
"""Runs a member's protocol on shares (`crypto.sharing.rounds`) by signed messages to the other members.

In each round a member sends to each other

    its broadcast   signed to nobody in particular, so that two different ones prove that it lied
    a sealed box    its private message (ECIES), signed to the recipient
    an echo         the signed lines of all broadcasts that it got, once it got all or has waited

and goes on only if all echoes name the same broadcasts.  A box that cannot be opened counts as no message:
protocols complain of it before everybody.

The first round calls the roll: each member broadcasts whom it leaves out, and the shares that it has.
Members without a broadcast, named by t others, or with other shares than most take no part.  They are t - 1
at most, and the others go on only if all have the same echoes.  Two sets of n - t + 1 members, of
n >= 3t - 2, have an honest one in common, so there is only one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar
from typing import Protocol as Interface

from blockful_py.committee import codec
from blockful_py.committee.wire import MAX_LINE, MessageSigner, Received, Signed, first_line, open_line
from blockful_py.crypto import curve, ecies, eip712
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent
from blockful_py.errors import (
    BlockfulError,
    CheaterError,
    CryptoError,
    MessageError,
    QuorumError,
    RefusedError,
    SilentError,
)
from blockful_py.types import Address, Bytes32, Length, Point

T = TypeVar("T")

BROADCAST, BOX, ECHO = "shared broadcast", "shared box", "shared echo"
NOBODY = bytes(20)
"""Recipient of a broadcast."""


class Post(Interface):
    """Carries bytes between members; it may lose, repeat, reorder and invent them."""

    def send(self, member: int, *messages: bytes) -> None:
        """Sends messages to a member; an unreachable one is no error."""

    def receive(self, seconds: float) -> bytes | None:
        """The next bytes from anybody, at most as long as the caller's limit; None if none come in time."""


@dataclass(frozen=True)
class Echo:
    """The signed lines of the broadcasts that a member got in a round, by sender."""

    lines: tuple[Annotated[bytes, Length(1, MAX_LINE)], ...]


@dataclass(frozen=True)
class Parties:
    """Members of one run, and its name.

    Attributes:
        domain, epoch: of their messages.
        subject: names the run; another for each.
        keys: of members, by index from 1 to n.
    """

    domain: eip712.Domain
    epoch: int
    subject: Bytes32
    keys: Mapping[int, Point]

    @property
    def addresses(self) -> dict[int, Address]:
        return {j: curve.address(key) for j, key in self.keys.items()}


@dataclass
class LeftOut:
    """Members that this one wants left out of runs: liars of the epoch, and the silent of its last run."""

    _epoch: int = 0
    _liars: frozenset[Address] = frozenset()
    _silent: frozenset[Address] = frozenset()

    def among(self, parties: Parties) -> frozenset[int]:
        """Their indices in a run."""
        out = self._liars | self._silent if parties.epoch == self._epoch else frozenset()
        return frozenset(j for j, address in parties.addresses.items() if address in out)

    def note(self, parties: Parties, error: BlockfulError | None) -> None:
        """Takes note of how a run ended."""
        if parties.epoch != self._epoch:
            self._epoch, self._liars = parties.epoch, frozenset()
        named = error.members if isinstance(error, (CheaterError, SilentError)) else ()
        addresses = frozenset(parties.addresses[j] for j in named)
        self._silent = addresses if isinstance(error, SilentError) else frozenset()
        if isinstance(error, CheaterError):
            self._liars |= addresses


@dataclass
class SharedRounds:
    """A member's side of a run.

    Attributes:
        index: this member's.
        secret: of its key, to sign and to open boxes.
        limit: most bytes of a message.
        patience: seconds that it waits for the others' broadcasts; for their echoes it waits twice as long.
    """

    parties: Parties
    index: int
    secret: int
    post: Post
    limit: int
    patience: float
    _signer: MessageSigner = field(init=False)
    _round: int = field(init=False, default=0)
    _got: dict[tuple[int, str, int], Received] = field(init=False, default_factory=dict)
    _lines: dict[bytes, Signed] = field(init=False, default_factory=dict)
    _others: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._signer = MessageSigner(self.secret, self.parties.domain)
        self._addresses = self.parties.addresses
        if self._addresses.get(self.index) != self._signer.address:
            raise ValueError(f"the key given is not that of member {self.index}")
        self._members = {address: j for j, address in self._addresses.items()}
        self._others = sorted({*self.parties.keys} - {self.index})

    def call_roll(self, left_out: Collection[int], most: int, *words: bytes) -> dict[int, list[bytes]]:
        """The words of the members that answer, which are the same for all of them.

        Args:
            left_out: members that this one wants left out; more than `most` that do decide.
            words: this member's.

        Raises RefusedError if this member is left out, and as `run`.
        """
        own = [tuple(sorted(left_out)), *words]
        told = self._exchanged(Sent(own), may_miss=True).public
        kinds = [type(each) for each in own]
        told = {j: each for j, each in told.items() if _kinds(each) == kinds}
        named = Counter(j for names, *_ in told.values() for j in {*names})
        out = {j for j, times in named.items() if times > most}
        if self.index in out:
            raise RefusedError("the others leave this member out of runs on shares: see their logs")
        return {j: each[1:] for j, each in told.items() if j not in out}

    def go_on_without(self, absent: Collection[int], needed: Collection[int], most: int) -> None:
        """Sends messages to the other members alone from here on, of whom `most` of the needed are absent.

        Raises QuorumError if more are, RefusedError if this member is among the absent.
        """
        if self.index in absent:
            raise RefusedError("this member has other shares than the others, or none: they go on without it")
        if len(missing := {*absent}.intersection(needed)) > most:
            raise QuorumError(
                f"member(s) {', '.join(map(str, sorted(missing)))} take no part in a run on shares, and "
                f"{most} may be absent: start them, and repeat"
            )
        self._others = [j for j in self._others if j not in absent]

    def run(self, protocol: Protocol[T]) -> T:
        """The protocol's result.

        Raises:
            CheaterError: members that sent two broadcasts in a round, one that encodes no message, or a
                malformed echo.
            SilentError: members that sent nothing, as this member saw, which proves nothing to others.
            CryptoError: members disagree whether one of them sent its broadcast.
        And as the protocol.
        """
        try:
            sent = next(protocol)
            while True:
                sent = protocol.send(self._exchanged(sent))
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            protocol.close()

    def _exchanged(self, sent: Sent, may_miss: bool = False) -> Inbox:
        self._round += 1
        self._got = {key: each for key, each in self._got.items() if key[0] >= self._round}
        own = self._question(BROADCAST, NOBODY, encoded(sent.public))
        self._lines = {line: each for line, each in self._lines.items() if each.header.round >= self._round}
        for member in self._others:
            self.post.send(member, self._box(member, sent).envelope, own.envelope)
        self._wait([(kind, j) for kind in (BOX, BROADCAST) for j in self._others], self.patience)
        broadcasts = {self.index: own} | {j: each for j in self._others if (each := self._of(BROADCAST, j))}
        echo = codec.encode(Echo(tuple(broadcasts[j].line for j in sorted(broadcasts))))
        for member in self._others:
            self.post.send(member, self._question(ECHO, self._addresses[member], echo).envelope)
        heard = [j for j in self._others if j in broadcasts]
        self._wait([(ECHO, j) for j in heard], 2 * self.patience)
        self._require_same(broadcasts, heard, () if may_miss else {*self._others} - {*heard})
        public, wrong = {}, []
        for j, each in broadcasts.items():
            try:
                public[j] = sent.public if j == self.index else decoded(each.message.body)
            except MessageError:
                wrong.append(j)
        if wrong:
            raise CheaterError(wrong, "a broadcast")
        return Inbox(public, self._opened(sent))

    def _require_same(
        self, broadcasts: Mapping[int, Received], heard: Collection[int], missing: Collection[int]
    ) -> None:
        hashes = {j: {each.message.body_hash} for j, each in broadcasts.items()}
        malformed, doubted, silent = set(), set(), {*missing}
        for j in heard:
            if (echo := self._of(ECHO, j)) is None:
                silent.add(j)
                continue
            try:
                told = self._told(echo.message.body)
            except MessageError:
                malformed.add(j)
                continue
            for sender, line in told.items():
                hashes.setdefault(sender, set()).add(line.header.body_hash)
            doubted |= {(j, sender) for sender in {*broadcasts} ^ {*told}}
        if two := [j for j, each in hashes.items() if len(each) > 1]:
            raise CheaterError(two, "two broadcasts of one round")
        if malformed:
            raise CheaterError(sorted(malformed), "an echo of broadcasts")
        if doubted:
            pairs = "; ".join(f"member {j} about {sender}" for j, sender in sorted(doubted))
            raise CryptoError(
                f"members disagree whether a broadcast of round {self._round} was sent ({pairs}), and who "
                "is wrong cannot be told: repeat the run."
            )
        if silent:
            raise SilentError(sorted(silent), f"no message of round {self._round}")

    def _told(self, body: bytes) -> dict[int, Signed]:
        """Lines of an echo by sender.  Raises MessageError: one is no member's broadcast of this round."""
        found: dict[int, Signed] = {}
        for line in codec.decode(Echo, body).lines:
            signed = self._lines.get(line) or open_line(self.parties.domain, first_line(line))
            key = self._key(signed)
            wanted = (self._round, BROADCAST)
            if key is None or key[:2] != wanted or key[2] in found or key[2] not in self._taking_part:
                raise MessageError("an echo has a line that is no broadcast of its round.")
            found[key[2]] = signed
        return found

    @property
    def _taking_part(self) -> set[int]:
        return {self.index, *self._others}

    def _wait(self, wanted: Collection[tuple[str, int]], seconds: float) -> None:
        """Receives until all wanted messages of this round are there, or the time is over."""
        end = time.monotonic() + seconds
        while any((self._round, *each) not in self._got for each in wanted):
            if (left := end - time.monotonic()) <= 0:
                return
            if (data := self.post.receive(left)) is not None:
                self._keep(data)

    def _keep(self, data: bytes) -> None:
        """Keeps the first message of each member, kind and round; drops other messages."""
        if len(data) > self.limit:
            return
        try:
            line = first_line(data)
            signed = open_line(self.parties.domain, line)
            key = self._key(signed)
            # A member is at most one round ahead: it waited for this one's echo.
            if key is None or key[0] not in (self._round, self._round + 1) or key in self._got:
                return
            self._got[key] = signed.with_body(data[len(line) :])
            if key[1] == BROADCAST:
                self._lines[line] = signed  # echoes repeat it
        except MessageError:
            return

    def _key(self, signed: Signed) -> tuple[int, str, int] | None:
        """Round, kind and sender of a message of this run to this member or to all; None of any other."""
        header = signed.header
        recipient = NOBODY if header.kind == BROADCAST else self._signer.address
        here = (header.epoch, header.subject, header.recipient) == (
            self.parties.epoch,
            self.parties.subject,
            recipient,
        )
        member = self._members.get(header.sender)
        if not here or member is None or header.kind not in (BROADCAST, BOX, ECHO):
            return None
        return header.round, header.kind, member

    def _of(self, kind: str, member: int) -> Received | None:
        return self._got.get((self._round, kind, member))

    def _question(self, kind: str, recipient: bytes, body: bytes) -> Received:
        return self._signer.question(
            kind, self.parties.epoch, self.parties.subject, self._round, recipient, body
        )

    def _box(self, member: int, sent: Sent) -> Received:
        plain = encoded(sent.private.get(member))
        box = ecies.seal(self.parties.keys[member], self._context(self.index, member), plain)
        return self._question(BOX, self._addresses[member], box)

    def _opened(self, sent: Sent) -> dict[int, object]:
        found = {self.index: sent.private[self.index]} if self.index in sent.private else {}
        for j in self._others:
            if (box := self._of(BOX, j)) is None:
                continue
            try:
                plain = ecies.unseal(self.secret, self._context(j, self.index), box.message.body)
                message = decoded(plain)
            except (CryptoError, MessageError):
                continue
            if message is not None:
                found[j] = message
        return found

    def _context(self, sender: int, recipient: int) -> bytes:
        place = (self.parties.epoch, self._round, sender, recipient)
        return self.parties.subject + b"".join(each.to_bytes(8, "big") for each in place)


def _kinds(message: object) -> list[type]:
    return [type(each) for each in message] if isinstance(message, list) else []
