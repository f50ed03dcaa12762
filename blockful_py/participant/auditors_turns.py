# SPDX-License-Identifier: Apache-2.0
"""Auditors' turns to replay trainings, and the parts that wait for their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blockful_py.errors import BlockfulError
from blockful_py.ledger.protocols import Store
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.replays import Replays
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.request_state import RequestStanding
from blockful_py.types import Address


@dataclass(frozen=True, slots=True)
class AuditorsTurn:
    """An auditor's turn to replay the training of a model.

    Attributes:
        until: last block of the live chain's node in its turn.
    """

    model: str
    auditor: str
    until: int

    def __str__(self) -> str:
        return f"{self.model} waits for the auditor {self.auditor} to replay it, until block {self.until}"


class AuditorsTurns:
    """Reads the turns from the chains, and the auditors' words from the members."""

    def __init__(self, contracts: Contracts, store: Store, remote: RemoteCommittee) -> None:
        """Reads the chains; `store` has the filed requests."""
        self._replays = Replays(contracts)
        self._commitments = Commitments(contracts.participants, store)
        self._remote = remote

    def of(self, status: RequestStanding) -> Iterator[AuditorsTurn]:
        """The turns for a request that last, as the chains alone show them."""
        for name in status.waits_for if status.stage.is_open else ():
            agreed = status.record[name].node.statement.auditors
            committed = self._commitments.first(status, name) if agreed else None
            if committed is None:
                continue
            standing = self._replays.standing(status, name, committed)
            turn = standing.current
            if turn is not None:
                yield AuditorsTurn(name, "0x" + turn.auditor.hex(), turn.since + standing.blocks - 1)

    def awaited(self, status: RequestStanding, account: Address) -> frozenset[str]:
        """The models of an account whose parts of a request wait for an auditor's word."""
        own = {turn.model for turn in self.of(status)}.intersection(status.owed(account))
        return frozenset(name for name in own if self._is_awaited(status, name))

    def _is_awaited(self, status: RequestStanding, name: str) -> bool:
        try:
            standing = self._replays.told(self._remote, self._commitments, status, name)
        except BlockfulError:
            return True  # no member can tell the word
        return standing is not None and standing.awaited is not None
