# SPDX-License-Identifier: Apache-2.0
"""Where LiveChain keeps what, and how to write there behind the contract's back.

Slots of contracts/base/Certified.sol and contracts/base/LiveState.sol, in order of inheritance:

    0  _progress[proposal]      done 32 | chunks 32
    1  events 64 | height 32 | time of the newest block 64 | batches 24
    2  hash of the newest block
    3  _entries[key]            four entries of 64 bits (contracts/lib/Entry.sol)
    4  _uris[position]
    5  _batchOf[proposal]
    6  _proposalOf[batch]

What never changes of a block is code (contracts/lib/BlockCode.sol).
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.live_slots import entry_key
from blockful_py.crypto.keccak import keccak
from blockful_py.types import Position
from tests.devnets import set_code, set_slot

PROGRESS, COUNTS, HEAD, ENTRIES, URIS, PROPOSAL_OF = 0, 1, 2, 3, 4, 6
ONE_BLOCK = 1 << 64
"""Addition to the height for a block, in the slot of counts."""

PARENT_HASH, HEADER_CH, MERKLE_ROOT = (1 + 32 * field for field in range(3))
"""First byte of words of a block's code; the time follows in 8 bytes."""
TIMESTAMP = 97
MODELS, MODEL_SIZE = 107, 54
"""First byte of the models in a block's code, and the bytes of each."""
CH, OWNER, END = 0, 32, 52
"""First byte of fields in a model's."""

VERSION, EPOCH, DAG_PB, BATCH = (0, 20), (20, 20), (40, 1), (41, 23)
"""First bit and width of the fields of an entry."""
TX_COUNT = (40, 8)
"""The same, of a header's entry."""
HEADER = -1
"""Index of a header's entry."""


def created(contract: bytes, number: int) -> bytes:
    """Address of a contract's creation: the low 20 bytes of keccak256(rlp([contract, number]))."""
    assert number < 0x80
    return keccak(b"\xd6\x94" + contract + bytes([number]))[12:]


@dataclass(frozen=True)
class Slots:
    """Storage of one LiveChain, and the code of its blocks."""

    live: LiveChainContract

    def uri(self, position: Position) -> int:
        """Slot of a model's URI."""
        return _entry(position.packed, URIS)

    def write_field(self, height: int, index: int, field: tuple[int, int], value: int) -> None:
        """A field of the entry of a model, or of the header."""
        slot = _entry(entry_key(height, index + 1), ENTRIES)
        shift = field[0] + 64 * ((index + 1) % 4)
        mask = ((1 << field[1]) - 1) << shift
        self.write(slot, self.read(slot) & ~mask | value << shift)

    def read(self, slot: int) -> int:
        answer = self.live.node.rpc.call("eth_getStorageAt", self._address, hex(slot), "latest")
        return int(answer.removeprefix("0x") or "0", 16)

    def write(self, slot: int, value: int) -> None:
        set_slot(self.live.node, self.live.address, slot, value)
        assert self.read(slot) == value

    def code(self, height: int) -> bytes:
        return self.live.node.code(self._block(height))

    def write_code(self, height: int, offset: int, data: bytes) -> None:
        """Replaces bytes of a block's code."""
        code = self.code(height)
        set_code(self.live.node, self._block(height), code[:offset] + data + code[offset + len(data) :])

    def flip_code(self, height: int, offset: int) -> None:
        """Another last bit of the byte at `offset`."""
        self.write_code(height, offset, bytes([self.code(height)[offset] ^ 1]))

    def leave_unfinished(self, position: Position) -> None:
        """As a crash between two chunks of a redaction leaves the model at `position`."""
        proposal, batch = 1 << 200, 1
        self.write(_entry(batch, PROPOSAL_OF), proposal)
        self.write(_entry(proposal, PROGRESS), 1 | 2 << 32)
        self.write_field(position.height, position.index, BATCH, batch)

    def _block(self, height: int) -> bytes:
        return created(self.live.address, height)

    @property
    def _address(self) -> str:
        return "0x" + self.live.address.hex()


def _entry(key: int, slot: int) -> int:
    """keccak256(key . slot): place of a mapping's entry."""
    return int.from_bytes(keccak(key.to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")
