# SPDX-License-Identifier: Apache-2.0
"""The state of a member's process that its answers depend on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee.member import Member
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_custody import KeyCustody
from blockful_py.committee.service.limits import Extent
from blockful_py.committee.service.messages import (
    Empty,
    HandOnRequest,
    HeadAnswer,
    HeadRequest,
    Identity,
    ReadRequest,
    WrappedKey,
)
from blockful_py.committee.succession import MirrorVoter
from blockful_py.committee.wire import Message
from blockful_py.committee.words import HeardWords
from blockful_py.crypto import eip712
from blockful_py.ledger.replay import SignedWord
from blockful_py.types import Address


@dataclass(frozen=True, slots=True)
class Seat:
    """A member's place in the roster of the current epoch.

    Attributes:
        downloads: number of models fetched so far to review proposals.
    """

    member: Member
    downloads: Callable[[], int]


class Office(Protocol):
    """The state of a member's process; methods raise BlockfulError while the run is not ready."""

    def domain(self) -> eip712.Domain:
        """EIP-712 domain of messages."""

    def one_look(self) -> AbstractContextManager[None]:
        """Has this thread read the chains as of one block each (`Node.one_look`)."""

    def may_lead(self, address: Address) -> bool:
        """Whether an address that is not a member's may lead."""

    def is_participant(self, address: Address) -> bool:
        """Whether an address may lead as a participant, which anybody can become."""

    def identity(self) -> Identity: ...

    def seat(self, epoch: int) -> Seat:
        """The member's seat.

        Raises RefusedError when `epoch` is not the current one or this member has no share of its key.
        """

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        """The member's voter on mirror matters.

        Raises RefusedError when this member is not in the roster of `epoch`.
        """

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        """Voting addresses of an epoch that has begun; empty for other epochs."""

    def current_roster(self) -> tuple[bytes, ...]:
        """Voting addresses of the current epoch."""

    def extent(self) -> Extent:
        """Bounds for the sizes of questions."""

    def open_heads(self, asking: Message, asked: HeadRequest) -> HeadAnswer:
        """Opens heads with the other members.

        Raises RefusedError for a head that the sender may not have opened, and as `shared_rounds`.
        """

    def hand_on(self, asking: Message, asked: HandOnRequest) -> Empty:
        """Hands shares on with the other members.  Raises RefusedError, and as `shared_rounds`."""

    def carry_shares(self, carrying: Message, data: bytes) -> Empty:
        """Keeps another member's messages of a run on shares.  Raises RefusedError."""

    def key_custody(self) -> KeyCustody:
        """Answers messages about data keys from peers and leaders."""

    def read_key(self, reader: Address, wanted: ReadRequest) -> WrappedKey:
        """The key of a version, for a reader.  Raises RefusedError unless the chain knows the reader."""

    def hear(self, signed: SignedWord) -> Empty:
        """Keeps an auditor's word.  Raises RefusedError unless it is its turn to speak of this training."""

    def words(self) -> HeardWords:
        """The auditors' words that the member has heard."""

    def block_custody(self) -> BlockCustody:
        """Answers messages about blocks.  Raises RefusedError for a member without its own store."""

    def admit(self, charter: Charter) -> None:
        """Checks that this member may help to generate a key.  Raises RefusedError."""
