# SPDX-License-Identifier: Apache-2.0
"""Transactions between sending and settlement, on an Anvil that mines on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from blockful_py.chain import calls
from blockful_py.chain.calls import Call
from blockful_py.chain.delivery import STUCK_BLOCKS, Delivery
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.interface import interface_of
from blockful_py.chain.node import Node, connect, hexadecimal
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.errors import ChainError, NodeError

RECEIVER = bytes([9]) * 20
SECONDS = 600.0
Act = Callable[[], object]


@pytest.fixture(scope="module")
def lazy() -> Iterator[Devnet]:
    with Devnet(NodeOptions(31337, kind="anvil", more=("--no-mining",))) as devnet:
        yield devnet


def gift(value: int = 1) -> Call:
    """A transfer whose execution shows in the balance of RECEIVER."""
    return Call(interface_of("LiveChain"), RECEIVER, b"", gas=21_000, value=value)


def mine(node: Node, blocks: int = 1) -> None:
    node.rpc.call("anvil_mine", hex(blocks))


def count(node: Node, signer: Signer) -> int:
    return int(node.rpc.call("eth_getTransactionCount", hexadecimal(signer.address), "latest"), 16)


def waiting(node: Node, signer: Signer) -> list[dict[str, Any]]:
    """The waiting transactions of an account."""
    pool = node.rpc.call("txpool_content")
    owned = {who.lower(): found for kind in pool.values() for who, found in kind.items()}
    return list(owned.get(hexadecimal(signer.address), {}).values())


def tended(monkeypatch: pytest.MonkeyPatch, node: Node, *acts: Act) -> None:
    """Runs one of `acts` each time a sender checks its waiting transactions; mines a block at the end."""
    tend, left = Delivery._tend, list(acts)

    def acted(self: Delivery) -> None:
        (left.pop(0) if left else lambda: mine(node))()
        tend(self)

    monkeypatch.setattr(Delivery, "_tend", acted)
    monkeypatch.setattr("blockful_py.chain.delivery.TEND_SECONDS", 0.0)


def sent_elsewhere(node: Node, signer: Signer, nonce: int, gwei: int, value: int) -> None:
    """A transaction of the same account from another process."""
    transaction = {"chainId": node.chain_id, "nonce": nonce, "gas": 21_000, "gasPrice": gwei * 10**9}
    raw, _ = signer.sign({**transaction, "to": RECEIVER, "value": value, "data": b""})
    node.rpc.call("eth_sendRawTransaction", hexadecimal(raw))


def test_a_transaction_that_its_node_forgot_is_sent_again(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, signer = lazy.node, lazy.signer(1)
    before = node.balance(RECEIVER)
    tended(monkeypatch, node, lambda: node.rpc.call("anvil_dropAllTransactions"))
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert node.balance(RECEIVER) == before + 1
    assert count(node, signer) == 1


def test_one_that_another_process_replaced_is_sent_once_under_the_next_nonce(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, signer = lazy.node, lazy.signer(2)
    before = node.balance(RECEIVER)
    tended(monkeypatch, node, lambda: sent_elsewhere(node, signer, 0, 100, value=1_000))
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert node.balance(RECEIVER) == before + 1_001
    assert count(node, signer) == 2


def test_a_stuck_one_is_replaced_with_a_higher_fee(lazy: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    node, signer = lazy.node, lazy.signer(3)
    before = node.balance(RECEIVER)
    offered: list[int] = []

    def dear() -> None:
        """A block whose base fee exceeds the transaction's offer."""
        (own,) = waiting(node, signer)
        offered.append(int(own["maxFeePerGas"], 16))
        node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(offered[0] + 1))
        mine(node)

    tended(monkeypatch, node, *[dear] * (STUCK_BLOCKS + 2))
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert offered[-1] > offered[0] * 11 // 10
    assert node.balance(RECEIVER) == before + 1
    assert count(node, signer) == 1


def test_a_dead_process_does_not_hold_up_others(lazy: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dead process left a transaction with the previous nonce and too low a fee."""
    node, signer = lazy.node, lazy.signer(4)
    before = node.balance(RECEIVER)
    node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(10**10))
    mine(node)
    sent_elsewhere(node, signer, 0, 9, value=1_000)

    def dear() -> None:
        node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(10**10))
        mine(node)

    tended(monkeypatch, node, *[dear] * (4 * STUCK_BLOCKS))
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert node.balance(RECEIVER) == before + 1
    assert count(node, signer) == 2


def test_a_missing_nonce_does_not_hold_up_others(lazy: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node forgets another process's transaction with the previous nonce."""
    node, signer = lazy.node, lazy.signer(5)
    before = node.balance(RECEIVER)
    sent_elsewhere(node, signer, 0, 100, value=1_000)

    def forget() -> None:
        (first,) = (each for each in waiting(node, signer) if int(each["nonce"], 16) == 0)
        node.rpc.call("anvil_dropTransaction", first["hash"])

    tended(monkeypatch, node, forget)
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert node.balance(RECEIVER) == before + 1
    assert count(node, signer) == 2


def test_a_sender_that_loses_many_races_sends_once(lazy: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others take each nonce between the sender's look at the node and its sending."""
    node, signer = lazy.node, lazy.signer(6)
    before, races = node.balance(RECEIVER), 6
    numbered, lost = Sender._numbered, []

    def quicker(self: Sender, calls: Sequence[Call]) -> Any:
        transactions = numbered(self, calls)
        if len(lost) < races:
            lost.append(transactions[0].nonce)
            sent_elsewhere(node, signer, lost[-1], 100, value=1_000)
        return transactions

    monkeypatch.setattr(Sender, "_numbered", quicker)
    tended(monkeypatch, node)
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert lost == list(range(races))
    assert node.balance(RECEIVER) == before + races * 1_000 + 1
    assert count(node, signer) == races + 1


def test_processes_share_an_account() -> None:
    """On a chain with its own block time, each transaction of the processes is executed once."""
    processes, each = 5, 3
    with Devnet(NodeOptions(31337, kind="anvil", block_time=1)) as devnet:

        def send(process: int) -> None:
            node = connect(devnet.url)
            for turn in range(each):
                Sender(node, devnet.signer(0), deadline=SECONDS).send(gift(1 << (each * process + turn)))
            node.close()

        with ThreadPoolExecutor(processes) as pool:
            list(pool.map(send, range(processes)))
        assert devnet.node.balance(RECEIVER) == (1 << (processes * each)) - 1
        assert count(devnet.node, devnet.signer(0)) == processes * each


def test_a_transaction_settles_when_enough_blocks_follow_it(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = connect(lazy.url, confirmations=3)
    tended(monkeypatch, node)
    receipt = Sender(node, lazy.signer(7), deadline=SECONDS).send(gift())
    assert node.block_number() == receipt.block_number + 3
    assert int(node.settled(), 16) == receipt.block_number
    node.close()


def test_one_that_a_reorganisation_removed_settles_all_the_same(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reorganisation up to the confirmation depth goes unnoticed."""
    node, signer = connect(lazy.url, confirmations=3), lazy.signer(8)
    before = node.balance(RECEIVER)
    removed = []

    def reorganise() -> None:
        removed.append(count(node, signer))
        node.rpc.call("anvil_reorg", 2, [])
        removed.append(count(node, signer))

    tended(monkeypatch, node, lambda: mine(node, 2), reorganise)
    Sender(node, signer, deadline=SECONDS).send(gift())
    assert removed == [1, 0]
    assert node.balance(RECEIVER) == before + 1
    assert count(node, signer) == 1
    node.close()


def test_a_fee_above_the_cap_sends_nothing(lazy: Devnet) -> None:
    node, signer = lazy.node, lazy.signer(9)
    node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(30 * calls.GWEI))
    mine(node)
    with pytest.raises(NodeError, match=r"asks 30 gwei .*max_fee_gwei allows 20: nothing was sent .*resume"):
        Sender(node, signer, max_fee=20 * calls.GWEI).send(gift())
    assert not waiting(node, signer)
    sender = Sender(node, signer, max_fee=40 * calls.GWEI, deadline=0.0)
    with pytest.raises(NodeError, match="still waits"):
        sender.send(gift())
    (own,) = waiting(node, signer)
    assert int(own["maxFeePerGas"], 16) == 40 * calls.GWEI
    node.rpc.call("anvil_dropAllTransactions")


def grown(monkeypatch: pytest.MonkeyPatch, node: Node, gwei: int) -> None:
    """Increases the base fee between the preparation of transactions and their sending."""
    run = Delivery.run

    def late(self: Delivery) -> list[Any]:
        node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(gwei * calls.GWEI))
        mine(node)
        node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(gwei * calls.GWEI))
        return run(self)

    monkeypatch.setattr(Delivery, "run", late)


def test_fees_that_grow_before_the_sending_are_offered_anew(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, signer = lazy.node, lazy.signer(8)
    node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(calls.GWEI))
    mine(node)
    before, used = node.balance(RECEIVER), count(node, signer)
    grown(monkeypatch, node, 900)
    tended(monkeypatch, node)
    Sender(node, signer, deadline=SECONDS).send_many([gift(), gift()])
    assert node.balance(RECEIVER) == before + 2
    assert count(node, signer) == used + 2


def test_fees_that_grow_above_the_cap_before_the_sending_are_told(
    lazy: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, signer = lazy.node, lazy.signer(8)
    node.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(calls.GWEI))
    mine(node)
    grown(monkeypatch, node, 900)
    with pytest.raises(
        NodeError, match=r"asks 9\d\d.* gwei .*max_fee_gwei allows 20: nothing was sent .*resume"
    ):
        Sender(node, signer, max_fee=20 * calls.GWEI).send(gift())
    assert not waiting(node, signer)


def test_no_account_pays_where_gas_is_free() -> None:
    """Like a Besu whose minimum price is 0; Anvil only proposes 0 before London."""
    poor = Signer(bytes(31) + b"\x05")
    free = NodeOptions(31337, kind="anvil", hardfork="berlin", more=("--gas-price=0",))
    with Devnet(free) as devnet:
        receipt = Sender(devnet.node, poor).send(Call(interface_of("LiveChain"), RECEIVER, b""))
        mined = devnet.node.rpc.call("eth_getTransactionByHash", hexadecimal(receipt.transaction_hash))
        assert int(mined["gasPrice"], 16) == devnet.node.balance(poor.address) == 0


def test_no_account_pays_where_the_base_fee_is_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Like a Besu with `zeroBaseFee`."""
    poor = Signer(bytes(31) + b"\x05")
    with Devnet(NodeOptions(31337, kind="anvil", more=("--base-fee=0", "--gas-price=0"))) as devnet:
        rpc, batch = devnet.node.rpc, devnet.node.rpc.batch
        answers = {"eth_gasPrice": "0x0"}
        monkeypatch.setattr(
            rpc,
            "batch",
            lambda calls: [
                answers.get(call[0], answer) for call, answer in zip(calls, batch(calls), strict=True)
            ],
        )
        receipt = Sender(devnet.node, poor).send(Call(interface_of("LiveChain"), RECEIVER, b""))
        mined = rpc.call("eth_getTransactionByHash", hexadecimal(receipt.transaction_hash))
        assert int(mined["maxFeePerGas"], 16) == int(mined["maxPriorityFeePerGas"], 16) == 0


@pytest.mark.parametrize(
    ("block", "price", "expected"),
    [
        ({}, 7, {"gasPrice": 7}),
        ({}, 0, {"gasPrice": 0}),
        ({"baseFeePerGas": "0x0"}, 0, {"maxFeePerGas": 0, "maxPriorityFeePerGas": 0, "type": 2}),
        ({"baseFeePerGas": "0x64"}, 101, {"maxFeePerGas": 289, "maxPriorityFeePerGas": 1, "type": 2}),
        ({"baseFeePerGas": "0x64"}, 90, {"maxFeePerGas": 288, "maxPriorityFeePerGas": 0, "type": 2}),
    ],
    ids=["legacy", "legacy and free", "free", "base fee", "price below the base fee"],
)
def test_fees(block: dict[str, str], price: int, expected: dict[str, int]) -> None:
    assert calls.fees(block, price, 1) == expected


def test_replacing_takes_an_eighth_more_and_no_more_than_the_cap() -> None:
    offer = {"maxFeePerGas": 800, "maxPriorityFeePerGas": 0, "type": 2}
    assert calls.raised(offer, {}, None) == {"maxFeePerGas": 901, "maxPriorityFeePerGas": 1, "type": 2}
    assert calls.raised(offer, {"maxFeePerGas": 1_000, "maxPriorityFeePerGas": 5}, 1_000) == {
        "maxFeePerGas": 1_000,
        "maxPriorityFeePerGas": 5,
        "type": 2,
    }
    assert calls.raised(offer, {}, 900) is None
    assert calls.raised({"gasPrice": 0}, {}, None) is None


def test_a_sender_without_an_account_says_what_to_configure(lazy: Devnet) -> None:
    with pytest.raises(ChainError, match=r"chain 31337: put its private key into \$BLOCKFUL_SENDER_KEY"):
        Sender(lazy.node, None).send(gift())
