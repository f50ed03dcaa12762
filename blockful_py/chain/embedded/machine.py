# SPDX-License-Identifier: Apache-2.0
"""Executes transactions and calls with py-evm under Shanghai rules, and builds block headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eth.abc import ReceiptAPI, SignedTransactionAPI, StateAPI
from eth.constants import CREATE_CONTRACT_ADDRESS, ZERO_ADDRESS
from eth.db.atomic import AtomicDB
from eth.db.trie import make_trie_root_and_nodes
from eth.exceptions import VMError
from eth.rlp.headers import BlockHeader
from eth.vm.chain_context import ChainContext
from eth.vm.forks.shanghai import ShanghaiVM
from eth.vm.forks.shanghai.blocks import ShanghaiBlockHeader as Header
from eth.vm.spoof import SpoofTransaction

from blockful_py.chain.embedded.chain_file import ChainFile
from blockful_py.types import Address


class StateNodes:
    """State nodes of a chain's file, as a mapping for py-evm."""

    def __init__(self, file: ChainFile) -> None:
        self._file = file

    def __getitem__(self, key: bytes) -> bytes:
        content = self._file.node(key)
        if content is None:
            raise KeyError(key)
        return content

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._file.add_node(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Deletes nothing: older states may refer to the node."""

    def __contains__(self, key: bytes) -> bool:
        return self._file.node(key) is not None


@dataclass(frozen=True, slots=True)
class FreeCall:
    """A read-only call; `to` is None for creation code."""

    sender: Address
    to: bytes | None
    data: bytes
    value: int
    gas: int


@dataclass(frozen=True, slots=True)
class Execution:
    """An executed transaction: header of its block, receipt, and address of a created contract."""

    header: Header
    receipt: ReceiptAPI
    created: bytes | None


@dataclass(frozen=True, slots=True)
class CallResult:
    """Result of a message: output or revert data, error, gas used, and maximum gas refund."""

    output: bytes
    error: VMError | None
    gas_used: int
    refund: int


class VirtualMachine:
    """The virtual machine of one chain."""

    def __init__(self, chain_id: int, file: ChainFile) -> None:
        self._context = ChainContext(chain_id)
        self._nodes = AtomicDB(StateNodes(file))

    def state(self, header: BlockHeader, earlier: Iterable[bytes] = ()) -> StateAPI:
        """The state after a block; `earlier` are the hashes of the blocks before it, newest first."""
        return ShanghaiVM.build_state(self._nodes, header, self._context, earlier)

    def genesis(self, balances: Mapping[bytes, int], timestamp: int, gas_limit: int) -> Header:
        """Header of the first block, which funds accounts (in wei)."""
        empty: Header = ShanghaiVM.create_genesis_header(
            coinbase=ZERO_ADDRESS, gas_limit=gas_limit, timestamp=timestamp
        )

        def endow(state: StateAPI) -> None:
            for account, wei in balances.items():
                state.set_balance(account, wei)

        return self.edited(empty, endow)

    def edited(self, header: Header, change: Callable[[StateAPI], None]) -> Header:
        """The block's header after its state is changed by `change`."""
        state = self.state(header)
        change(state)
        state.persist()
        return header.copy(state_root=state.state_root)

    def following(self, parent: Header, timestamp: int) -> Header:
        """Header of an empty block after `parent`, with the same gas limit and EIP-1559's base fee."""
        header: Header = ShanghaiVM.create_header_from_parent(
            parent, coinbase=ZERO_ADDRESS, gas_limit=parent.gas_limit, timestamp=timestamp
        )
        return header

    def decode(self, raw: bytes) -> SignedTransactionAPI:
        """Decodes a signed transaction.  Raises errors of py-evm and rlp for invalid bytes."""
        return ShanghaiVM.get_transaction_builder().decode(raw)

    def execute(
        self, header: Header, transaction: SignedTransactionAPI, earlier: Iterable[bytes]
    ) -> Execution:
        """Executes a transaction as the only one in the block of `header`.

        Raises eth_utils.ValidationError if it is not valid there.
        """
        state = self.state(header, earlier)
        computation = state.apply_transaction(transaction)
        receipt = ShanghaiVM.make_receipt(header, transaction, computation, state)
        state.persist()
        filled = header.copy(
            state_root=state.state_root,
            gas_used=receipt.gas_used,
            bloom=int(receipt.bloom),
            transaction_root=make_trie_root_and_nodes((transaction,))[0],
            receipt_root=make_trie_root_and_nodes((receipt,))[0],
        )
        created = computation.msg.storage_address if computation.msg.is_create else None
        return Execution(filled, receipt, created)

    def call(self, header: Header, message: FreeCall, earlier: Iterable[bytes]) -> CallResult:
        """Runs a message on top of a block at no cost and discards its effects.

        Raises eth_utils.ValidationError if its gas does not cover its data, or its sender cannot pay its
        value.
        """
        state = self.state(header.copy(base_fee_per_gas=0), earlier)
        unsigned = ShanghaiVM.create_unsigned_transaction(
            nonce=state.get_nonce(message.sender),
            gas_price=0,
            gas=message.gas,
            to=message.to or CREATE_CONTRACT_ADDRESS,
            value=message.value,
            data=message.data,
        )
        spoofed: Any = SpoofTransaction(unsigned, from_=message.sender)
        computation = state.apply_transaction(spoofed)
        return CallResult(
            computation.output,
            computation.error if computation.is_error else None,
            ShanghaiVM.finalize_gas_used(spoofed, computation),
            computation.get_gas_refund(),
        )
