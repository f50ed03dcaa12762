# SPDX-License-Identifier: Apache-2.0
"""An embedded chain is a file that survives its process and can be used by several processes at once."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.calls import Call
from blockful_py.chain.embedded_devnet import EmbeddedDevnet
from blockful_py.chain.interface import Artifact, Interface
from blockful_py.chain.node import connect
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.sender import Sender
from blockful_py.errors import ContractError, NodeError
from tests.devnets import set_balance, set_code, set_slot
from tests.forks import FORKS

ID = 1337
SECONDS = 600.0
PLAIN = Interface(Artifact("Plain", (), b"", {}))
COUNTER = bytes.fromhex("6000546001018060005560005260206000f3")
"""Adds one to slot 0 and returns it."""


def transfer() -> Call:
    return Call(PLAIN, bytes(range(20)), b"note")


def counter(sender: Sender) -> bytes:
    creation = b"\x71" + COUNTER + bytes.fromhex("6000526012600ef3")
    return sender.deploy(Interface(Artifact("Counter", (), creation, {})))[0]


def count_of(devnet: EmbeddedDevnet, contract: bytes, block: str = "latest") -> int:
    """The number that the next call of a counter returns."""
    answer = devnet.node.rpc.call("eth_call", {"to": "0x" + contract.hex(), "data": "0x"}, block)
    return int(answer, 16)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chain.sqlite"


def test_a_chain_goes_on_where_it_was(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as first:
        sender = first.sender()
        contract = counter(sender)
        receipts = [sender.send(Call(PLAIN, contract, b"")) for _ in range(3)]
        head = first.node.latest_block()
    with EmbeddedDevnet(path, ID) as again:
        assert again.node.latest_block() == head
        assert count_of(again, contract) == 4
        for receipt in receipts:
            name = "0x" + receipt.transaction_hash.hex()
            found = again.node.rpc.call("eth_getTransactionReceipt", name)
            assert int(found["gasUsed"], 16) == receipt.gas_used
        again.sender().send(Call(PLAIN, contract, b""))
        assert (again.node.block_number(), count_of(again, contract)) == (5, 5)


def test_the_past_can_be_read(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        sender = devnet.sender()
        contract = counter(sender)
        for _ in range(3):
            sender.send(Call(PLAIN, contract, b""))
        assert [count_of(devnet, contract, hex(block)) for block in range(1, 5)] == [1, 2, 3, 4]
        with pytest.raises(NodeError, match="refused eth_call: it has no block 9"):
            count_of(devnet, contract, "0x9")
        nonces = [
            int(devnet.node.rpc.call("eth_getTransactionCount", "0x" + sender.address.hex(), hex(block)), 16)
            for block in range(5)
        ]
        assert nonces == [0, 1, 2, 3, 4]


def test_blocks_are_linked_and_later_than_their_parents(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        devnet.sender().send_many([transfer() for _ in range(5)])
        blocks = [devnet.node.rpc.call("eth_getBlockByNumber", hex(i), False) for i in range(6)]
        assert devnet.node.rpc.call("eth_getBlockByNumber", "0x6", False) is None
    for parent, child in pairwise(blocks):
        assert child["parentHash"] == parent["hash"]
        assert int(child["timestamp"], 16) > int(parent["timestamp"], 16)
        assert len(child["transactions"]) == 1


def test_the_clock_is_set_forward_for_all_and_back_with_the_chain(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as one, EmbeddedDevnet(path, ID) as other:
        before, mark = one.node.timestamp(), one.node.rpc.call("evm_snapshot")
        one.node.rpc.call("evm_increaseTime", 10_000)
        other.node.rpc.call("evm_mine")
        assert one.node.timestamp() >= before + 10_000
        assert one.node.rpc.call("evm_revert", mark)
        assert one.node.timestamp() == before
        other.node.rpc.call("evm_mine")
        assert one.node.timestamp() < before + 10_000
        assert not one.node.rpc.call("evm_revert", hex(99))


def test_an_estimate_suffices_and_is_close(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        sender = devnet.sender()
        contract = counter(sender)
        call = {"from": "0x" + sender.address.hex(), "to": "0x" + contract.hex(), "data": "0x"}
        estimate = int(devnet.node.rpc.call("eth_estimateGas", call, "latest"), 16)
        receipt = sender.send(Call(PLAIN, contract, b"", gas=estimate))
        assert receipt.gas_used <= estimate <= 1.02 * receipt.gas_used
        contract = counter(sender)
        with pytest.raises(ContractError) as refused:
            sender.send(Call(PLAIN, contract, b"", gas=int(estimate * 0.97)))
        assert refused.value.name == "OutOfGas"


def test_state_is_changed_behind_a_contracts_back_and_put_back(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        contract, mark = counter(devnet.sender()), devnet.node.rpc.call("evm_snapshot")
        head, funds = devnet.node.latest_block(), devnet.node.balance(contract)
        set_slot(devnet.node, contract, 0, 41)
        assert count_of(devnet, contract) == 42
        assert slot_of(devnet, contract, "latest") == 41
        assert slot_of(devnet, contract, head["number"]) == 0
        set_balance(devnet.node, contract, 7)
        set_code(devnet.node, contract, COUNTER[:5] + b"\x01")
        assert (devnet.node.balance(contract), devnet.node.code(contract)) == (7, COUNTER[:5] + b"\x01")
        assert devnet.node.block_number() == int(head["number"], 16) + 3
        assert devnet.node.rpc.call("evm_revert", mark)
        assert devnet.node.latest_block() == head
        assert (devnet.node.balance(contract), devnet.node.code(contract)) == (funds, COUNTER)
        assert count_of(devnet, contract) == 1


def slot_of(devnet: EmbeddedDevnet, contract: bytes, block: str) -> int:
    answer: str = devnet.node.rpc.call("eth_getStorageAt", "0x" + contract.hex(), "0x0", block)
    assert len(answer) == 66
    return int(answer, 16)


def _send(path: Path, account: int, count: int) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        for _ in range(count):
            devnet.sender(account).send(transfer())


def test_processes_use_a_chain_at_the_same_time(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        senders = [FORKS.Process(target=_send, args=(path, account, 10)) for account in (1, 2)]
        for each in senders:
            each.start()
        for each in senders:
            each.join(SECONDS)
        assert [each.exitcode for each in senders] == [0, 0]
        assert devnet.node.block_number() == 20
        for account in (1, 2):
            name = "0x" + devnet.signer(account).address.hex()
            assert devnet.node.rpc.call("eth_getTransactionCount", name, "latest") == "0xa"


def test_a_process_that_is_killed_leaves_whole_blocks(path: Path) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        account = "0x" + devnet.signer(1).address.hex()
        for wanted in (3, 6, 9):
            process = FORKS.Process(target=_send, args=(path, 1, 10_000))
            process.start()
            end = time.monotonic() + SECONDS
            while devnet.node.block_number() < wanted:
                assert process.is_alive() and time.monotonic() < end
                time.sleep(0.001)
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join(SECONDS)
            height = devnet.node.block_number()
            nonce = devnet.node.rpc.call("eth_getTransactionCount", account, "latest")
            assert int(nonce, 16) == height
            newest = devnet.node.rpc.call("eth_getBlockByNumber", "latest", False)["transactions"][0]
            receipt = devnet.node.rpc.call("eth_getTransactionReceipt", newest)
            assert int(receipt["blockNumber"], 16) == height


def test_files_that_are_no_such_chain(path: Path, tmp_path: Path) -> None:
    with pytest.raises(NodeError, match=r"there is no embedded chain at .*: check the path"):
        connect(f"embedded:{path}")
    EmbeddedDevnet(path, ID).close()
    with pytest.raises(NodeError, match="is on chain 1337, but chain 1338 was expected"):
        EmbeddedDevnet(path, 1338).close()
    (tmp_path / "text").write_text("no database\n" * 200)
    with pytest.raises(NodeError, match=r"cannot be used \(file is not a database\)"):
        connect(f"embedded:{tmp_path / 'text'}")
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE chain (id)")
    with pytest.raises(NodeError, match="is not an embedded chain: check the path"):
        connect(f"embedded:{tmp_path / 'other'}")
    (tmp_path / "file").touch()
    with pytest.raises(NodeError, match=r"cannot be made \(Not a directory\): choose another folder"):
        EmbeddedDevnet(tmp_path / "file" / "folder" / "chain", ID)


def test_a_chain_that_was_closed_says_so(path: Path) -> None:
    devnet = EmbeddedDevnet(path, ID)
    devnet.close()
    devnet.close()
    with pytest.raises(NodeError, match="is closed"):
        devnet.node.block_number()


FEES = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 1, "type": 2}
GOOD: dict[str, Any] = {
    "chainId": ID,
    "nonce": 0,
    "gas": 21_000,
    "to": bytes(20),
    "value": 0,
    "data": b"",
    **FEES,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonce": 1}, "nonce too high: 1, the account's next is 0"),
        ({"chainId": 5}, "invalid chain id 5: this is 1337"),
        ({"gas": 20_000}, "invalid transaction: "),
        ({"gas": 31_000_000}, "exceeds block gas limit of 30000000"),
        ({"maxFeePerGas": 1}, "max fee per gas below base fee "),
        ({"value": 10**25}, "insufficient funds: the account has "),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_a_transaction_that_is_not_valid_makes_no_block(
    path: Path, change: dict[str, Any], message: str
) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        raw, _ = devnet.signer(3).sign({**GOOD, **change})
        (answer,) = devnet.node.rpc.batch([("eth_sendRawTransaction", ("0x" + raw.hex(),))])
        assert isinstance(answer, RpcError)
        assert answer.message.startswith(message)
        assert devnet.node.block_number() == 0
        raw, _ = devnet.signer(3).sign(GOOD)
        devnet.node.rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        (answer,) = devnet.node.rpc.batch([("eth_sendRawTransaction", ("0x" + raw.hex(),))])
        assert answer.message == "nonce too low: 0, the account's next is 1"
        assert devnet.node.block_number() == 1


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("eth_sendRawTransaction", ("0x02f8",), "invalid transaction"),
        ("eth_sendRawTransaction", ("nonsense",), "invalid parameters of eth_sendRawTransaction"),
        ("eth_getBalance", (), "invalid parameters of eth_getBalance"),
        ("eth_getLogs", ({"topics": []},), "invalid parameters of eth_getLogs: topics cannot be given"),
        ("eth_mining", (), "an embedded chain has no method eth_mining"),
    ],
)
def test_what_is_not_understood_is_refused(path: Path, method: str, params: Any, message: str) -> None:
    with EmbeddedDevnet(path, ID) as devnet:
        with pytest.raises(NodeError, match=message):
            devnet.node.rpc.call(method, *params)
        assert devnet.node.block_number() == 0
