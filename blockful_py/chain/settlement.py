# SPDX-License-Identifier: Apache-2.0
"""Writes certified proposals to the chains: archive first, then live; each transaction once.

Chunks of one chain are in flight together.  The contracts record executed chunks, so a crash between two
transactions repeats none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from blockful_py.chain.calls import Call
from blockful_py.errors import ChainError, ContractError, NodeError
from blockful_py.types import Bytes32, Certificate, Receipt

ARCHIVE, LIVE = "archive", "live"
IN_FLIGHT = 16
"""Maximum number of chunks sent together.

Every node's pool holds this many transactions of an account (geth's `txpool.accountslots`).
"""


class SettlementContract(Protocol):
    """A contract that executes chunks of a proposal in order."""

    def progress(self, proposal: Bytes32) -> tuple[int, int]:
        """Executed and total chunks; (0, 0) before the first."""

    def executed_in(self, proposal: Bytes32, chunk: int) -> bytes | None:
        """Hash of the transaction that executed a chunk, if the node knows it."""

    def signed(self, data: bytes, certificate: Certificate) -> bytes:
        """A call with its certificate in place of the unsigned one."""

    def next_batch(self, data: Sequence[bytes]) -> tuple[Call, ...]:
        """The first of these calls that fit into one batch; each depends on the previous ones."""

    def send_each(self, calls: Sequence[Call]) -> tuple[Receipt | ChainError, ...]:
        """Sends calls in one batch and returns a receipt or refusal for each.

        Raises ContractError before sending.
        """

    def await_settled(self) -> None:
        """Waits until `progress` covers all current blocks and this account's pending transactions."""


Sides = Mapping[str, SettlementContract]
"""The contract on each chain, by ARCHIVE and LIVE."""


@dataclass(frozen=True, slots=True)
class SettlementCall:
    """One transaction: its chain, its chunk of the proposal, and its call data.

    In call data for the live chain, the certificate is not signed yet.
    """

    chain: str
    chunk: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Settlement:
    """The transactions of a certified proposal, in order, and the CIDs to forget afterwards.

    Attributes:
        decision: the decision voted on: the live chain's certificate, still unsigned.
        forget: CIDs of replaced versions, deleted from the live store when the job is done.
        note: description for messages.
    """

    decision: Certificate
    calls: tuple[SettlementCall, ...]
    forget: tuple[str, ...] = ()
    note: str = ""

    @property
    def proposal(self) -> Bytes32:
        return self.decision.proposal


@dataclass(frozen=True, slots=True)
class Executed:
    """A sent transaction and its chain."""

    chain: str
    receipt: Receipt


class Record(Protocol):
    """Records the progress of calls to one chain."""

    def begin(self, calls: Sequence[SettlementCall]) -> None:
        """Called just before these calls are sent."""

    def done(self, call: SettlementCall, receipt: Receipt | None) -> None:
        """Called after execution; `receipt` is None if another process sent the call."""


Around = Callable[[str], AbstractContextManager[Record]]
"""Returns the context in which the calls to a chain are sent."""


Release = Callable[[Certificate], Certificate]
"""Has the members sign the live chain's certificate, once the archive holds the whole proposal."""


def send_missing(
    settlement: Settlement, sides: Sides, around: Around, release: Release
) -> Iterator[Executed]:
    """Sends the calls that the contracts have not executed, in batches; others may send concurrently.

    A batch runs in order up to its first refused call.  The rest is sent again; the node then estimates the
    gas of the refused call, whose limit was derived from the first call before.

    Raises QuorumError if too few members sign for the live chain, ContractError if the next call is refused
    and not yet executed, and NodeError if a node is gone or the archive chain lost transactions.
    """
    for chain in (ARCHIVE, LIVE):
        side = sides[chain]
        calls = [call for call in settlement.calls if call.chain == chain]
        done, data = side.progress(settlement.proposal)[0], [call.data for call in calls]
        if chain == LIVE:
            _require_archived(settlement, sides[ARCHIVE])
            if done < len(calls):
                certificate = release(settlement.decision)
                data = [side.signed(each, certificate) for each in data]
        with around(chain) as record:
            for call in calls[:done]:
                record.done(call, None)
            while done < len(calls):
                batch = side.next_batch(data[done : done + IN_FLIGHT])
                record.begin(calls[done : done + len(batch)])
                receipts, refused = _sent(side, batch)
                reached = done + len(batch)
                if refused is not None:
                    side.await_settled()
                    reached = side.progress(settlement.proposal)[0]
                    if reached <= done:
                        raise refused
                for call, receipt in zip_longest(calls[done:reached], receipts[: reached - done]):
                    record.done(call, receipt)
                    if receipt is not None:
                        yield Executed(chain, receipt)
                done = reached


def _sent(side: SettlementContract, batch: Sequence[Call]) -> tuple[list[Receipt | None], ChainError | None]:
    """Receipts of executed calls, and the first refusal."""
    try:
        outcomes = side.send_each(batch)
    except ContractError as refused:
        return [], refused
    receipts = [None if isinstance(each, ChainError) else each for each in outcomes]
    return receipts, next((each for each in outcomes if isinstance(each, ChainError)), None)


class _Unrecorded:
    def begin(self, calls: Sequence[SettlementCall]) -> None: ...

    def done(self, call: SettlementCall, receipt: Receipt | None) -> None: ...


def unrecorded(chain: str) -> AbstractContextManager[Record]:
    """An `Around` that records nothing."""
    return nullcontext(_Unrecorded())


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
    """Checks that the archive chain still holds all its calls.

    Raises NodeError otherwise: the chain was reorganised.
    """
    missing = _missing(settlement, ARCHIVE, archive)
    if missing:
        raise NodeError(
            f"the archive chain lacks {missing} transaction(s) that it had: it was reorganised, and nothing "
            "was sent to the live chain. Run `blockful resume`."
        )


def _missing(settlement: Settlement, chain: str, side: SettlementContract) -> int:
    """Number of calls that a chain has not executed."""
    calls = [call for call in settlement.calls if call.chain == chain]
    return max(0, len(calls) - side.progress(settlement.proposal)[0])
