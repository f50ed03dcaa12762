# SPDX-License-Identifier: Apache-2.0
"""A member's side of runs on shares with other members' processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from blockful_py.committee.service.member_client import MemberClient
from blockful_py.committee.service.shared_mail import Mailbox, MemberPost
from blockful_py.committee.shared_rounds import LeftOut, Parties, SharedRounds
from blockful_py.crypto import curve, eip712
from blockful_py.errors import BlockfulError
from blockful_py.types import Address, Bytes32, Point

_log = logging.getLogger(__name__)

LIMIT = 1 << 25
"""Most bytes of a message of a run."""


@dataclass(frozen=True)
class ShareRuns:
    """The common state of a member's runs.

    Attributes:
        secret: of its voting key.
        mailbox, left_out: kept for all of its runs.
        patience: as in `SharedRounds`.
    """

    messages: eip712.Domain
    secret: int
    mailbox: Mailbox
    left_out: LeftOut
    patience: float

    @property
    def address(self) -> Address:
        return curve.address(curve.multiply_base(self.secret))

    @contextmanager
    def begin(
        self, epoch: int, subject: Bytes32, keys: Sequence[Point], clients: Mapping[int, MemberClient]
    ) -> Iterator[SharedRounds]:
        """A run of members with these keys, from index 1; `clients` are of the members that answer.

        Remembers who lied or fell silent in it.  Raises RefusedError if this run began before.
        """
        parties = Parties(self.messages, epoch, subject, dict(enumerate(keys, start=1)))
        (index,) = (j for j, address in parties.addresses.items() if address == self.address)
        error: BlockfulError | None = None
        with self.mailbox.run(subject):
            others = {j: each for j, each in clients.items() if j != index}
            post = MemberPost(others, epoch, subject, self.mailbox)
            try:
                yield SharedRounds(parties, index, self.secret, post, LIMIT, self.patience)
            except BlockfulError as raised:
                error = raised
                raise
            finally:
                self.left_out.note(parties, error)
                post.close()

    def go_on_without(
        self, rounds: SharedRounds, absent: frozenset[int], needed: Sequence[int], most: int
    ) -> None:
        """Goes on without the absent members, and says so in the log.  Raises as `SharedRounds`."""
        rounds.go_on_without(absent, needed, most)
        for j in sorted(absent):
            address = rounds.parties.addresses[j].hex()
            _log.warning(
                "a run on shares leaves out member %d (0x%s): silent, named for a lie, or with other shares",
                j,
                address,
            )
