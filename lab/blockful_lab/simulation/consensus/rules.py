# SPDX-License-Identifier: Apache-2.0
"""Common rules and differences of PBFT and QBFT, without faults.

PBFT (Castro and Liskov 1999): one leader; a prepare from each other member, since the leader's pre-prepare is
its own; a commit from each.  QBFT (EIP-650, Moniz 2020): the proposer changes with the block and votes twice
like everybody.  Both decide with a quorum of commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from blockful_py.settings.committee import quorum_of

Voting = Literal["pbft", "qbft"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Votes of a block among `nodes` members.

    Attributes:
        vote_bytes: a prepare or commit on the wire.
        sign, verify: processor seconds of a vote.
    """

    name: Voting
    nodes: int
    vote_bytes: float
    sign: float
    verify: float

    @property
    def quorum(self) -> int:
        """PBFT: ceil((n + f + 1) / 2), 2f + 1 where n = 3f + 1; QBFT: ceil(2n / 3)."""
        if self.name == "qbft":
            return quorum_of(self.nodes)
        return -(-(self.nodes + (self.nodes - 1) // 3 + 1) // 2)

    @property
    def proposer_prepares(self) -> bool:
        return self.name == "qbft"

    def prepares_awaited(self, is_proposer: bool) -> int:
        """Prepares of others that a member needs beside its own messages."""
        return max(0, self.quorum - (1 if is_proposer or self.proposer_prepares else 2))

    @property
    def commits_awaited(self) -> int:
        return self.quorum - 1

    @property
    def messages(self) -> int:
        """Messages of one block: n - 1 proposals; (n - 1)^2 or n (n - 1) prepares; n (n - 1) commits."""
        n = self.nodes
        senders = n if self.proposer_prepares else n - 1
        return (n - 1) + senders * (n - 1) + n * (n - 1)

    def leader(self, block: int) -> int:
        return block % self.nodes if self.name == "qbft" else 0
