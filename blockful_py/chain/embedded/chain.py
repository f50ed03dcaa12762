# SPDX-License-Identifier: Apache-2.0
"""An embedded chain; each transaction is mined at once in its own block."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from eth.abc import SignedTransactionAPI, StateAPI
from eth.vm.forks.shanghai.blocks import ShanghaiBlockHeader as Header
from eth_utils import ValidationError

from blockful_py.chain.embedded.answers import block_of, header_of, mined
from blockful_py.chain.embedded.chain_file import ChainFile, StoredBlock
from blockful_py.chain.embedded.machine import CallResult, FreeCall, VirtualMachine
from blockful_py.closable import Closable
from blockful_py.errors import NodeError
from blockful_py.types import Address, Bytes32


class EmbeddedRefusalError(NodeError):
    """A transaction or call that the chain refuses to execute, with the reason."""


class EmbeddedChain(Closable):
    """Blocks, states and clock of one chain, stored in a file.

    Every read sees one consistent moment of the chain.  Several processes may use the file.

    Attributes:
        gas_limit: gas limit of each block.
    """

    def __init__(self, path: Path) -> None:
        """Opens a chain made by `create`.  Raises NodeError."""
        self._file = ChainFile(path)
        self.path = path
        self.chain_id = self._file.chain_id
        self._machine = VirtualMachine(self.chain_id, self._file)
        with self._file.reading():
            self.gas_limit: int = self._header(0).gas_limit

    @staticmethod
    def create(path: Path, chain_id: int, balances: Mapping[bytes, int], gas_limit: int) -> None:
        """Creates a chain with funded accounts (in wei), unless the file already has one.

        Raises NodeError if the file holds another chain or cannot be used.
        """
        with ChainFile(path, chain_id) as file, file.writing():
            if file.height < 0:
                genesis = VirtualMachine(chain_id, file).genesis(balances, int(time.time()), gas_limit)
                file.add_block(block_of(genesis), None)

    def close(self) -> None:
        self._file.close()

    def height(self) -> int:
        with self._file.reading():
            return self._file.height

    def block(self, number: int | None) -> StoredBlock | None:
        """A block by number; None stands for the newest."""
        with self._file.reading():
            return self._file.block(self._file.height if number is None else number)

    def base_fee(self) -> int:
        """Base fee of the newest block, in wei per unit of gas (EIP-1559)."""
        with self._file.reading():
            return int(self._header(None).base_fee_per_gas)

    def transaction(self, transaction_hash: Bytes32) -> tuple[str, str] | None:
        """JSON documents of a transaction and of its receipt."""
        with self._file.reading():
            return self._file.transaction(transaction_hash)

    def logs(self, address: Address, first: int, last: int) -> list[str]:
        """JSON documents of the logs that a contract emitted from block `first` to `last`."""
        with self._file.reading():
            return self._file.logs(address, first, last)

    def send(self, raw: bytes) -> bytes:
        """Executes a signed transaction in its own block and returns its hash.

        Raises EmbeddedRefusalError if it is not valid at present.
        """
        transaction = self._decoded(raw)
        with self._file.writing():
            parent = self._header(None)
            header = self._machine.following(parent, self._time_after(parent))
            self._check(transaction, header, self._machine.state(parent))
            try:
                execution = self._machine.execute(
                    header, transaction, self._file.hashes_before(header.block_number)
                )
            except ValidationError as error:
                raise EmbeddedRefusalError(f"invalid transaction: {error}") from None
            self._file.add_block(block_of(execution.header), mined(execution, transaction))
        return bytes(transaction.hash)

    def mine(self) -> None:
        """Adds an empty block."""
        with self._file.writing():
            parent = self._header(None)
            header = self._machine.following(parent, self._time_after(parent))
            self._file.add_block(block_of(header), None)

    def edit(self, change: Callable[[StateAPI], None]) -> None:
        """Adds an empty block whose state is changed directly by `change`."""
        with self._file.writing():
            parent = self._header(None)
            header = self._machine.following(parent, self._time_after(parent))
            self._file.add_block(block_of(self._machine.edited(header, change)), None)

    def advance(self, seconds: int) -> None:
        """Sets the clock forward."""
        with self._file.writing():
            self._file.advance(seconds)

    def rewind(self, number: int) -> bool:
        """Makes block `number` the newest again; returns False if it is not on the chain."""
        with self._file.writing():
            if not 0 <= number <= self._file.height:
                return False
            self._file.rewind(number)
            return True

    def call(self, message: FreeCall, number: int | None) -> CallResult:
        """Runs a message after a block.  Raises EmbeddedRefusalError if it cannot start."""
        with self._file.reading():
            return self._called(self._header(number), message)

    def call_next(self, message: FreeCall) -> CallResult:
        """Runs a message in the block that would be mined next.  Raises as `call`."""
        with self._file.reading():
            parent = self._header(None)
            return self._called(self._machine.following(parent, self._time_after(parent)), message)

    def balance(self, account: Address, number: int | None) -> int:
        """Balance of an account after a block, in wei."""
        with self._file.reading():
            return int(self._machine.state(self._header(number)).get_balance(account))

    def nonce(self, account: Address, number: int | None) -> int:
        with self._file.reading():
            return int(self._machine.state(self._header(number)).get_nonce(account))

    def code(self, account: Address, number: int | None) -> bytes:
        with self._file.reading():
            return bytes(self._machine.state(self._header(number)).get_code(account))

    def slot(self, account: Address, slot: int, number: int | None) -> int:
        """A word of a contract's storage after a block."""
        with self._file.reading():
            return int(self._machine.state(self._header(number)).get_storage(account, slot))

    def _called(self, header: Header, message: FreeCall) -> CallResult:
        try:
            return self._machine.call(header, message, self._file.hashes_before(header.block_number))
        except ValidationError as error:
            raise EmbeddedRefusalError(str(error)) from None

    def _header(self, number: int | None) -> Header:
        """Header of a block.  Raises EmbeddedRefusalError for an unknown block."""
        block = self._file.block(self._file.height if number is None else number)
        if block is None:
            raise EmbeddedRefusalError(f"it has no block {number}")
        return header_of(block)

    def _time_after(self, parent: Header) -> int:
        """Timestamp of the next block, which must exceed its parent's."""
        return max(int(time.time()) + self._file.ahead, int(parent.timestamp) + 1)

    def _decoded(self, raw: bytes) -> SignedTransactionAPI:
        try:
            transaction = self._machine.decode(raw)
            transaction.validate()
            transaction.check_signature_validity()
        except Exception as error:  # errors of rlp and py-evm have no common base
            raise EmbeddedRefusalError(f"invalid transaction: {error}") from None
        if transaction.chain_id not in (None, self.chain_id):
            raise EmbeddedRefusalError(f"invalid chain id {transaction.chain_id}: this is {self.chain_id}")
        return transaction

    def _check(self, transaction: SignedTransactionAPI, header: Header, state: StateAPI) -> None:
        """Checks a transaction; raises EmbeddedRefusalError, worded like other nodes' errors."""
        nonce, balance = state.get_nonce(transaction.sender), state.get_balance(transaction.sender)
        if transaction.nonce != nonce:
            side = "low" if transaction.nonce < nonce else "high"
            raise EmbeddedRefusalError(
                f"nonce too {side}: {transaction.nonce}, the account's next is {nonce}"
            )
        if transaction.gas > header.gas_limit:
            raise EmbeddedRefusalError(f"exceeds block gas limit of {header.gas_limit}")
        if transaction.max_fee_per_gas < header.base_fee_per_gas:
            raise EmbeddedRefusalError(f"max fee per gas below base fee {header.base_fee_per_gas}")
        if balance < transaction.gas * transaction.max_fee_per_gas + transaction.value:
            raise EmbeddedRefusalError(f"insufficient funds: the account has {balance} wei")
