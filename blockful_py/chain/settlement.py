# SPDX-License-Identifier: Apache-2.0
"""Writes certified proposals to the chains: archive first, then live; each transaction once.

The contracts know which chunks are executed, so a crash between two transactions repeats none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from blockful_py.errors import ContractError, NodeError
from blockful_py.types import Certificate, Receipt

ARCHIVE, LIVE = "archive", "live"


class SettlementContract(Protocol):
    """A contract that executes chunks of a proposal in order."""

    def progress(self, proposal: bytes) -> tuple[int, int]:
        """Executed and total chunks; (0, 0) before the first."""

    def executed_in(self, proposal: bytes, chunk: int) -> bytes | None:
        """Hash of the transaction that executed a chunk, if the node knows it."""

    def signed(self, data: bytes, certificate: Certificate) -> bytes:
        """A call with its certificate in place of the unsigned one."""

    def send(self, data: bytes) -> Receipt:
        """Sends a call and waits for its receipt. Raises ContractError when it is refused."""

    def await_settled(self) -> None:
        """Waits until `progress` counts what is on the chain now."""


Sides = Mapping[str, SettlementContract]
"""The contract on each chain, by ARCHIVE and LIVE."""


@dataclass(frozen=True, slots=True)
class SettlementCall:
    """One transaction: the chain it goes to, its chunk of the proposal, and its call data.

    The certificate in the data of a call to the live chain is still unsigned.
    """

    chain: str
    chunk: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Settlement:
    """The transactions of a certified proposal, in order, and the bytes to forget in the end.

    Attributes:
        decision: what was voted for: the live chain's certificate, still unsigned.
        forget: CIDs that leave the live store when the job is done (replaced versions).
        note: what it does, for messages.
    """

    decision: Certificate
    calls: tuple[SettlementCall, ...]
    forget: tuple[str, ...] = ()
    note: str = ""

    @property
    def proposal(self) -> bytes:
        return self.decision.proposal


@dataclass(frozen=True, slots=True)
class Executed:
    """A transaction that was sent, and the chain it went to."""

    chain: str
    receipt: Receipt


class Sent(Protocol):
    """Called with the receipt of a call; None when somebody else sent it."""

    def __call__(self, receipt: Receipt | None) -> None: ...


Around = Callable[[SettlementCall], AbstractContextManager[Sent]]
"""Returns the context that each call not known to be executed is sent in."""


Release = Callable[[Certificate], Certificate]
"""Has the members sign the live chain's certificate, which they do once the archive holds the whole
proposal.
"""


def send_missing(
    settlement: Settlement, sides: Sides, around: Around, release: Release
) -> Iterator[Executed]:
    """Sends, one by one, the calls that the contracts have not executed; others may do so meanwhile.

    Raises:
        QuorumError: too few members sign for the live chain.
        ContractError: a call is refused although nobody has executed it.
        NodeError: a node is gone, or the archive chain no longer holds what it held before.
    """
    for chain in (ARCHIVE, LIVE):
        done = sides[chain].progress(settlement.proposal)[0]
        missing = [call for call in settlement.calls if call.chain == chain and call.chunk >= done]
        certificate = None
        if chain == LIVE:
            _require_archived(settlement, sides[ARCHIVE])
            certificate = release(settlement.decision) if missing else None
        for call in missing:
            if call.chunk < done:
                continue
            data = sides[chain].signed(call.data, certificate) if certificate else call.data
            with around(call) as sent:
                try:
                    receipt = sides[chain].send(data)
                except ContractError:
                    sides[chain].await_settled()
                    done = sides[chain].progress(settlement.proposal)[0]
                    if call.chunk >= done:
                        raise
                    sent(None)
                    continue
                sent(receipt)
            yield Executed(chain, receipt)


def unrecorded(call: SettlementCall) -> AbstractContextManager[Sent]:
    """An `Around` that records nothing."""
    return nullcontext(lambda receipt: None)


def is_whole(settlement: Settlement, sides: Sides) -> bool:
    """Whether both chains hold all of it."""
    return all(_missing(settlement, chain, side) == 0 for chain, side in sides.items())


def is_untouched(settlement: Settlement, sides: Sides) -> bool:
    """Whether neither chain holds any of it."""
    return not any(side.progress(settlement.proposal)[0] for side in sides.values())


def gas_of(executed: Sequence[Executed], chain: str) -> int:
    """Gas used on one chain."""
    return sum(each.receipt.gas_used for each in executed if each.chain == chain)


def _require_archived(settlement: Settlement, archive: SettlementContract) -> None:
    """Raises NodeError unless the archive chain holds all its calls, also after a reorganisation."""
    missing = _missing(settlement, ARCHIVE, archive)
    if missing:
        raise NodeError(
            f"the archive chain lacks {missing} transaction(s) that it had: it was reorganised, and nothing "
            "was sent to the live chain. Run `blockful resume`."
        )


def _missing(settlement: Settlement, chain: str, side: SettlementContract) -> int:
    """Calls of a settlement that a chain has not executed."""
    calls = [call for call in settlement.calls if call.chain == chain]
    return max(0, len(calls) - side.progress(settlement.proposal)[0])
