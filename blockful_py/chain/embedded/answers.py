# SPDX-License-Identifier: Apache-2.0
"""Blocks, transactions, receipts, logs and refusals of an embedded chain in JSON-RPC form."""

from __future__ import annotations

import json
from typing import Any

import rlp
from eth.abc import SignedTransactionAPI
from eth.exceptions import InvalidInstruction, OutOfGas, Revert, VMError
from eth.vm.forks.shanghai.blocks import ShanghaiBlockHeader as Header
from eth_utils import to_hex

from blockful_py.chain.embedded.chain_file import StoredBlock, StoredTransaction
from blockful_py.chain.embedded.machine import Execution
from blockful_py.chain.rpc import RpcError

REVERTED, REFUSED = 3, -32_000
"""Geth's error codes."""


def block_of(header: Header, transaction: bytes | None = None) -> StoredBlock:
    return StoredBlock(header.block_number, header.hash, rlp.encode(header), transaction)


def header_of(block: StoredBlock) -> Header:
    header: Header = rlp.decode(block.header, Header)
    return header


def block_document(block: StoredBlock) -> dict[str, Any]:
    header = header_of(block)
    return {
        "number": to_hex(block.number),
        "hash": to_hex(block.hash),
        "parentHash": to_hex(header.parent_hash),
        "timestamp": to_hex(header.timestamp),
        "miner": to_hex(header.coinbase),
        "gasLimit": to_hex(header.gas_limit),
        "gasUsed": to_hex(header.gas_used),
        "baseFeePerGas": to_hex(header.base_fee_per_gas),
        "stateRoot": to_hex(header.state_root),
        "transactionsRoot": to_hex(header.transaction_root),
        "receiptsRoot": to_hex(header.receipt_root),
        "transactions": [to_hex(block.transaction)] if block.transaction else [],
    }


def mined(execution: Execution, transaction: SignedTransactionAPI) -> StoredTransaction:
    """JSON-RPC documents of a mined transaction, its receipt and its logs."""
    header, receipt = execution.header, execution.receipt
    place = {
        "transactionHash": to_hex(transaction.hash),
        "transactionIndex": "0x0",
        "blockHash": to_hex(header.hash),
        "blockNumber": to_hex(header.block_number),
    }
    parties = {"from": to_hex(transaction.sender), "to": to_hex(transaction.to) if transaction.to else None}
    logs = [
        {
            **place,
            "logIndex": to_hex(position),
            "address": to_hex(log.address),
            "topics": [to_hex(topic.to_bytes(32)) for topic in log.topics],
            "data": to_hex(log.data),
            "removed": False,
        }
        for position, log in enumerate(receipt.logs)
    ]
    tip = min(transaction.max_priority_fee_per_gas, transaction.max_fee_per_gas - header.base_fee_per_gas)
    receipt_document = {
        **place,
        **parties,
        "type": to_hex(transaction.type_id or 0),
        "status": to_hex(int(receipt.state_root == b"\x01")),
        "gasUsed": to_hex(header.gas_used),
        "cumulativeGasUsed": to_hex(header.gas_used),
        "effectiveGasPrice": to_hex(header.base_fee_per_gas + tip),
        "contractAddress": to_hex(execution.created) if execution.created else None,
        "logs": logs,
    }
    document = {
        **parties,
        "hash": to_hex(transaction.hash),
        "blockHash": place["blockHash"],
        "blockNumber": place["blockNumber"],
        "transactionIndex": "0x0",
        "nonce": to_hex(transaction.nonce),
        "gas": to_hex(transaction.gas),
        "value": to_hex(transaction.value),
        "input": to_hex(transaction.data),
    }
    return StoredTransaction(
        transaction.hash,
        json.dumps(document),
        json.dumps(receipt_document),
        [(log.address, json.dumps(entry)) for log, entry in zip(receipt.logs, logs, strict=True)],
    )


def refused(error: VMError, output: bytes) -> RpcError:
    """The RPC error for a failed call, worded so that `chain/reverts.py` recognises it."""
    if isinstance(error, Revert):
        return RpcError(REVERTED, "execution reverted", to_hex(output))
    if isinstance(error, OutOfGas):
        return RpcError(REFUSED, f"out of gas: {error}")
    if isinstance(error, InvalidInstruction):
        return RpcError(REFUSED, f"invalid opcode: {error}")
    return RpcError(REFUSED, f"vm exception: {type(error).__name__}: {error}")
