# SPDX-License-Identifier: Apache-2.0
"""A member's part in distributed key generations, and the resulting shares."""

from __future__ import annotations

from typing import Protocol

from blockful_py.committee import codec, wire
from blockful_py.committee.service.generation import Charter, Generation, Origin
from blockful_py.committee.service.messages import DealerCommitment, Empty, HeldShare, RelayedAnswers
from blockful_py.committee.service.office import Office
from blockful_py.crypto import curve
from blockful_py.crypto.randomness import gathered_rng
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.errors import RefusedError
from blockful_py.types import Bytes32, Rng

MAX_OPEN = 4
"""Maximum number of open generations; a new one replaces the oldest."""


class ShareStore(Protocol):
    """Stores key shares."""

    def keep(self, share: KeyShare, origin: Origin) -> None:
        """Stores a share durably."""

    def origin(self, key_id: Bytes32) -> Origin | None:
        """Origin of a key, if the member has a share of it."""

    def settle(self, key_id: Bytes32) -> None:
        """Records that a quorum has shares of this key.  Raises RefusedError if another key is settled."""


class DkgParticipant:
    """Takes part in key generations, keyed by subject."""

    def __init__(self, secret: int, shares: ShareStore, rng: Rng = gathered_rng) -> None:
        self._address = curve.address(curve.multiply_base(secret))
        self._shares = shares
        self._rng = rng
        self._open: dict[bytes, Generation] = {}

    def opened(self, message: wire.Message) -> Generation:
        """The generation of a message.  Raises RefusedError unless its sender leads that generation."""
        generation = self._open.get(message.subject)
        if generation is None or generation.leader != message.sender:
            raise RefusedError(
                "this key generation is not open here, or has another leader; start another one"
            )
        return generation

    def finish(self, message: wire.Message, relayed: RelayedAnswers) -> CommitteeKey:
        """Round 7: stores the share, then confirms the key."""
        generation = self.opened(message)
        share, key = generation.finish(message, relayed)
        self._shares.keep(share, Origin(generation.charter, key))
        del self._open[message.subject]
        return key

    def held(self, key_id: Bytes32, office: Office) -> HeldShare:
        """Round 8: the generation that produced the share of a key.  Raises RefusedError without a share."""
        return HeldShare(self._admitted(key_id, office).charter.digest())

    def key(self, key_id: Bytes32) -> CommitteeKey:
        """The public half of a key.  Raises RefusedError when this member has no share of it."""
        origin = self._shares.origin(key_id)
        if origin is None:
            raise RefusedError(f"this member has no share of the group key 0x{key_id.hex()}")
        return origin.key

    def _admitted(self, key_id: Bytes32, office: Office) -> Origin:
        origin = self._shares.origin(key_id)
        if origin is None:
            raise RefusedError(f"this member has no share of the group key 0x{key_id.hex()}")
        office.admit(origin.charter)
        return origin

    def settle(self, message: wire.Message, answers: RelayedAnswers, office: Office) -> Empty:
        """Round 9: checks relayed answers which show that a quorum has shares of the key."""
        charter = self._admitted(message.subject, office).charter
        holding, holders = codec.encode(HeldShare(charter.digest())), set()
        for text in answers.envelopes:
            relayed = wire.receive(office.domain(), text.encode())
            sender = relayed.message.sender
            wire.require_relayed(relayed, message, sender, message.round - 1)
            if charter.index(sender) and relayed.message.body == holding:
                holders.add(sender)
        if 3 * len(holders) < 2 * len(charter.members):
            raise RefusedError(
                f"{len(holders)} of {len(charter.members)} members are shown to hold shares of this key, "
                "a quorum is needed"
            )
        self._shares.settle(message.subject)
        return Empty()

    def begin(self, message: wire.Message, charter: Charter, office: Office) -> DealerCommitment:
        """Round 1: opens a new generation, which may replace the oldest open one."""
        if message.subject in self._open:
            raise RefusedError("this key generation has begun already; take another salt")
        office.admit(charter)
        generation = Generation(charter, self._address, message.sender, office.domain(), self._rng)
        while len(self._open) >= MAX_OPEN:
            self._open.pop(next(iter(self._open)))
        self._open[message.subject] = generation
        return generation.open()
