# SPDX-License-Identifier: Apache-2.0
"""The state of a member's process, as its answers need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee.member import Member
from blockful_py.committee.service.block_custody import BlockCustody
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_custody import KeyCustody
from blockful_py.committee.service.limits import Extent
from blockful_py.committee.service.messages import Identity, ReadRequest, WrappedKey
from blockful_py.committee.succession import MirrorVoter
from blockful_py.crypto import eip712


@dataclass(frozen=True, slots=True)
class Seat:
    """A member's place in the current committee.

    Attributes:
        downloads: models fetched so far to review proposals.
    """

    member: Member
    downloads: Callable[[], int]


class Office(Protocol):
    """The state that a member's process sees; methods raise BlockfulError while the run is not ready."""

    def domain(self) -> eip712.Domain:
        """EIP-712 domain of messages."""

    def may_lead(self, address: bytes) -> bool:
        """Whether an address may lead that is no member's."""

    def is_participant(self, address: bytes) -> bool:
        """Whether an address is one of those that lead because they have joined, as anybody may."""

    def identity(self) -> Identity: ...

    def seat(self, epoch: int) -> Seat:
        """Raises RefusedError when `epoch` is not the current one or this member has no share of it."""

    def mirror_voter(self, epoch: int) -> MirrorVoter:
        """Raises RefusedError when this member has no place in the roster of `epoch`."""

    def roster(self, epoch: int) -> tuple[bytes, ...]:
        """Voting addresses of an epoch that has begun; empty for others."""

    def current_roster(self) -> tuple[bytes, ...]:
        """Voting addresses of the current epoch."""

    def extent(self) -> Extent:
        """Bounds the sizes of questions."""

    def key_custody(self) -> KeyCustody:
        """Answers messages about data keys from peers and leaders."""

    def read_key(self, reader: bytes, wanted: ReadRequest) -> WrappedKey:
        """The key of a version, for a reader.  Raises RefusedError for a stranger to the chain."""

    def block_custody(self) -> BlockCustody:
        """Answers messages about blocks.  Raises RefusedError for a member without a store of its own."""

    def admit(self, charter: Charter) -> None:
        """Raises RefusedError for a key that this member must not take part in generating."""
