# SPDX-License-Identifier: Apache-2.0
"""Where LiveChain keeps what, and how to write there behind the contract's back.

Slots of contracts/base/Certified.sol and contracts/LiveChain.sol, in order of inheritance:

    0  _progress[proposal]      done 32 | chunks 32
    1  height 32 | batches 24
    2  _headers[height]         blockHash, ch, px, s, merkleRoot, meta
    3  _transactions[position]  ch, uri, px, s, meta, references (packed), overflow
    4  _batchOf[proposal]
    5  _proposalOf[batch]
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.crypto.keccak import keccak
from blockful_py.types import Position
from tests.devnets import set_slot

PROGRESS, HEIGHT, HEADERS, TRANSACTIONS, PROPOSAL_OF = 0, 1, 2, 3, 5

BLOCK_HASH, HEADER_CH, HEADER_PX, HEADER_S, MERKLE_ROOT, HEADER_META = range(6)
CH, URI, PX, S, META, REFERENCES = range(6)

OWNER, VERSION, EPOCH, CODEC, BATCH = (0, 160), (160, 32), (192, 32), (224, 8), (232, 24)
"""First bit and width of the fields of a transaction's meta."""
TIMESTAMP, TX_COUNT, HEADER_VERSION, HEADER_EPOCH = (0, 64), (64, 32), (96, 32), (128, 32)
"""The same of a header's meta."""


@dataclass(frozen=True)
class Slots:
    """Storage of one LiveChain."""

    live: LiveChainContract

    def of_transaction(self, position: Position, member: int) -> int:
        return _entry(position.packed, TRANSACTIONS) + member

    def of_header(self, height: int, member: int) -> int:
        return _entry(height, HEADERS) + member

    def read(self, slot: int) -> int:
        answer = self.live.node.rpc.call("eth_getStorageAt", self._address, hex(slot), "latest")
        return int(answer.removeprefix("0x") or "0", 16)

    def write(self, slot: int, value: int) -> None:
        set_slot(self.live.node, self.live.address, slot, value)
        assert self.read(slot) == value

    def write_field(self, slot: int, field: tuple[int, int], value: int) -> None:
        shift, width = field
        mask = ((1 << width) - 1) << shift
        self.write(slot, self.read(slot) & ~mask | value << shift)

    def leave_unfinished(self, position: Position) -> None:
        """As a crash between two chunks of a redaction leaves the model at `position`."""
        proposal, batch = 1 << 200, 1
        self.write(_entry(batch, PROPOSAL_OF), proposal)
        self.write(_entry(proposal, PROGRESS), 1 | 2 << 32)
        self.write_field(self.of_transaction(position, META), BATCH, batch)

    @property
    def _address(self) -> str:
        return "0x" + self.live.address.hex()


def _entry(key: int, slot: int) -> int:
    """keccak256(key . slot): place of a mapping's entry."""
    return int.from_bytes(keccak(key.to_bytes(32, "big") + slot.to_bytes(32, "big")), "big")
