# SPDX-License-Identifier: Apache-2.0
"""The JSON-RPC interface of an embedded chain; covers the methods that this package uses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eth.constants import ZERO_ADDRESS
from eth_utils import to_hex

from blockful_py.chain.embedded.answers import REFUSED, block_document, refused
from blockful_py.chain.embedded.chain import EmbeddedChain, EmbeddedRefusalError
from blockful_py.chain.embedded.machine import CallResult, FreeCall
from blockful_py.chain.rpc import Request, Rpc, RpcError

TIP = 10**9
"""Proposed tip above the base fee, in wei per unit of gas."""
ESTIMATE_TOLERANCE = 0.015
"""Maximum relative error of a gas estimate (as in Geth)."""
_CALL_STIPEND = 2_300
_TAGS = {"latest": None, "pending": None, "safe": None, "finalized": None, "earliest": 0}
_UNKNOWN, _INVALID = -32_601, -32_602


class EmbeddedRpc(Rpc):
    """Answers JSON-RPC from a chain's file, in this process."""

    def __init__(self, url: str, path: Path) -> None:
        """Opens the chain.  Raises NodeError if it does not exist."""
        self._url = url
        self._chain = EmbeddedChain(path)
        self._methods: Mapping[str, Callable[..., Any]] = {
            "eth_blockNumber": lambda: to_hex(self._chain.height()),
            "eth_call": self._call,
            "eth_chainId": lambda: to_hex(self._chain.chain_id),
            "eth_estimateGas": self._estimate,
            "eth_gasPrice": lambda: to_hex(TIP + self._chain.base_fee()),
            "eth_getBalance": lambda account, block: to_hex(
                self._chain.balance(_bytes(account), _number(block))
            ),
            "eth_getBlockByNumber": self._block,
            "eth_getCode": lambda account, block: to_hex(self._chain.code(_bytes(account), _number(block))),
            "eth_getLogs": self._logs,
            "eth_getStorageAt": lambda account, slot, block: _word(
                self._chain.slot(_bytes(account), int(slot, 16), _number(block))
            ),
            "eth_getTransactionByHash": lambda name: self._document(name, 0),
            "eth_getTransactionCount": lambda account, block: to_hex(
                self._chain.nonce(_bytes(account), _number(block))
            ),
            "eth_getTransactionReceipt": lambda name: self._document(name, 1),
            "eth_sendRawTransaction": lambda raw: to_hex(self._chain.send(_bytes(raw))),
            "evm_increaseTime": self._increase_time,
            "evm_mine": self._mine,
            "evm_revert": lambda mark: self._chain.rewind(int(mark, 16)),
            "evm_setAccountBalance": self._set_balance,
            "evm_setAccountCode": self._set_code,
            "evm_setAccountStorageAt": self._set_slot,
            "evm_snapshot": lambda: to_hex(self._chain.height()),
            "web3_clientVersion": lambda: f"embedded/py-evm-{version('py-evm')}",
        }

    @property
    def url(self) -> str:
        return self._url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        return [self._answer(method, params) for method, params in calls]

    def close(self) -> None:
        self._chain.close()

    def _answer(self, name: str, params: Sequence[Any]) -> Any:
        method = self._methods.get(name)
        if method is None:
            return RpcError(_UNKNOWN, f"an embedded chain has no method {name}")
        try:
            return method(*params)
        except EmbeddedRefusalError as error:
            return RpcError(REFUSED, str(error))
        except (TypeError, ValueError, KeyError) as error:
            return RpcError(_INVALID, f"invalid parameters of {name}: {error}")

    def _block(self, block: str, _full: bool) -> Any:
        found = self._chain.block(_number(block))
        return None if found is None else block_document(found)

    def _document(self, transaction: str, which: int) -> Any:
        found = self._chain.transaction(_bytes(transaction))
        return None if found is None else json.loads(found[which])

    def _logs(self, wanted: Mapping[str, Any]) -> Any:
        if unknown := wanted.keys() - {"address", "fromBlock", "toBlock"}:
            raise ValueError(f"{', '.join(sorted(unknown))} cannot be given")
        height = self._chain.height()
        first, last = (_number(wanted.get(name, "latest")) for name in ("fromBlock", "toBlock"))
        first, last = (height if each is None else each for each in (first, last))
        return [json.loads(each) for each in self._chain.logs(_bytes(wanted["address"]), first, last)]

    def _call(self, call: Mapping[str, str], block: str) -> Any:
        outcome = self._run(call, block, None)
        return to_hex(outcome.output) if outcome.error is None else refused(outcome.error, outcome.output)

    def _run(self, call: Mapping[str, str], block: str, gas: int | None) -> CallResult:
        """Runs a call with `gas`, else with its own gas, else with a block's."""
        most = self._chain.gas_limit
        message = FreeCall(
            _bytes(call["from"]) if "from" in call else ZERO_ADDRESS,
            _bytes(call["to"]) if call.get("to") else None,
            _bytes(call.get("data", "0x")),
            int(call.get("value", "0x0"), 16),
            gas or min(int(call["gas"], 16) if "gas" in call else most, most),
        )
        if block == "pending":
            return self._chain.call_next(message)
        return self._chain.call(message, _number(block))

    def _estimate(self, call: Mapping[str, str], block: str) -> Any:
        """The lowest gas limit with which a call succeeds, within ESTIMATE_TOLERANCE.

        A call needs more than it uses: the refund at its end, and 1/64 that each inner call leaves behind
        (EIP-150).
        """
        whole = self._run(call, block, None)
        if whole.error is not None:
            return refused(whole.error, whole.output)
        low, high = whole.gas_used - 1, self._chain.gas_limit
        trial = (whole.gas_used + whole.refund + _CALL_STIPEND) * 64 // 63
        while high - low > ESTIMATE_TOLERANCE * high:
            if not low < trial < high:
                trial = (low + high) // 2
            if self._succeeds(call, block, trial):
                high = trial
            else:
                low = trial
            trial = min((low + high) // 2, 2 * low)
        return to_hex(high)

    def _succeeds(self, call: Mapping[str, str], block: str, gas: int) -> bool:
        try:
            return self._run(call, block, gas).error is None
        except EmbeddedRefusalError:
            return False

    def _increase_time(self, seconds: int | str) -> Any:
        self._chain.advance(_integer(seconds))
        return to_hex(_integer(seconds))

    def _mine(self) -> str:
        self._chain.mine()
        return "0x0"

    def _set_balance(self, account: str, wei: str) -> bool:
        self._chain.edit(lambda state: state.set_balance(_bytes(account), int(wei, 16)))
        return True

    def _set_code(self, account: str, code: str) -> bool:
        self._chain.edit(lambda state: state.set_code(_bytes(account), _bytes(code)))
        return True

    def _set_slot(self, account: str, slot: str, word: str) -> bool:
        self._chain.edit(lambda state: state.set_storage(_bytes(account), int(slot, 16), int(word, 16)))
        return True


def _number(block: str) -> int | None:
    """Block number from JSON-RPC; None for the newest block, which is also the newest settled one."""
    return _TAGS[block] if block in _TAGS else int(block, 16)


def _integer(value: int | str) -> int:
    return int(value, 16) if isinstance(value, str) else value


def _word(value: int) -> str:
    return f"0x{value:064x}"


def _bytes(text: str) -> bytes:
    if not text.startswith("0x"):
        raise ValueError(f"{text[:20]!r} is not hexadecimal")
    return bytes.fromhex(text[2:])
