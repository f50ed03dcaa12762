# SPDX-License-Identifier: Apache-2.0
"""Sending against real nodes; `echo` is a contract that reverts with the data it is called with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from eth_abi.abi import encode

from blockful_py.chain.calls import MAX_TRANSACTION_GAS, Call, fees
from blockful_py.chain.delivery import Delivery, Outcome
from blockful_py.chain.devnet import GAS_LIMIT, Devnet
from blockful_py.chain.interface import Artifact, Interface
from blockful_py.chain.node import Node
from blockful_py.chain.rpc import JsonRpc
from blockful_py.chain.sender import ESTIMATES, Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.crypto.keccak import selector
from blockful_py.errors import ContractError, InvalidKeyError, NodeError
from blockful_py.types import Receipt
from tests.chain.conftest import KINDS, AnyDevnet
from tests.devnets import set_balance

SECONDS = 600.0
ECHO_RUNTIME = bytes.fromhex("366000600037366000fd")  # revert(calldata)
LOOP_RUNTIME = bytes.fromhex("5b600056000000000000")  # for (;;) {}
GROWING_RUNTIME = bytes.fromhex("60004752000000000000")  # takes as much memory as it has wei
LATER_RUNTIME = bytes.fromhex("4260003510600957fe5b")  # assert calldataload(0) < block.timestamp
ABI = ({"type": "error", "name": "Sample", "inputs": [
    {"name": "who", "type": "address"},
    {"name": "pairs", "type": "tuple[]", "components": [
        {"name": "left", "type": "uint64"}, {"name": "right", "type": "bytes"}]},
]},)  # fmt: skip


def artifact(runtime: bytes) -> Interface:
    """A contract of 10 bytes of runtime code."""
    creation = b"\x69" + runtime + bytes.fromhex("600052600a6016f3")
    return Interface(Artifact("Sampler", ABI, creation, {}))


@pytest.fixture(scope="module", params=KINDS)
def devnet(request: pytest.FixtureRequest) -> AnyDevnet:
    found: AnyDevnet = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def sender(devnet: AnyDevnet) -> Sender:
    return Sender(devnet.node, devnet.signer(5), deadline=SECONDS)


@pytest.fixture(scope="module")
def echo(sender: Sender) -> bytes:
    return sender.deploy(artifact(ECHO_RUNTIME))[0]


def nonce(sender: Sender) -> int:
    return int(sender.node.rpc.call("eth_getTransactionCount", "0x" + sender.address.hex(), "latest"), 16)


def note(gas: int | None = None) -> Call:
    """A call that always succeeds: data sent to an account without code."""
    return Call(artifact(ECHO_RUNTIME), bytes(range(20)), b"note", gas)


def test_a_batch_of_sends_takes_nonces_in_order(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more transactions than go into one HTTP request."""
    if isinstance(sender.node.rpc, JsonRpc):
        monkeypatch.setattr(sender.node.rpc, "_batch_size", 10)
    before, count = nonce(sender), 24
    receipts = sender.send_many([note() for _ in range(count)])
    assert nonce(sender) == before + count
    assert len({receipt.transaction_hash for receipt in receipts}) == count
    blocks = [receipt.block_number for receipt in receipts]
    assert blocks == sorted(blocks)


def test_threads_share_a_sender(sender: Sender) -> None:
    before = nonce(sender)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: sender.send(note()), range(12)))
    assert nonce(sender) == before + 12


CUSTOM = selector("Sample(address,(uint64,bytes)[])") + encode(
    ["address", "(uint64,bytes)[]"], [bytes(range(20)), [(7, b"seven")]]
)


@pytest.mark.parametrize("gas", [None, 100_000], ids=["estimated", "mined"])
@pytest.mark.parametrize(
    ("data", "name", "arguments"),
    [
        (CUSTOM, "Sample", {"who": bytes(range(20)), "pairs": ({"left": 7, "right": b"seven"},)}),
        (
            selector("StaleEpoch(uint64,uint64)") + encode(["uint64", "uint64"], [1, 2]),
            "StaleEpoch",
            {"given": 1, "current": 2},
        ),
        (selector("Error(string)") + encode(["string"], ["too bad"]), "Error", {"message": "too bad"}),
        (
            selector("Panic(uint256)") + encode(["uint256"], [0x11]),
            "Panic",
            {"code": 0x11, "meaning": "arithmetic overflow"},
        ),
        (b"\xde\xad\xbe\xef", "UnknownError", {"data": b"\xde\xad\xbe\xef"}),
        (CUSTOM[:-40], "UndecodableError", {"data": CUSTOM[:-40]}),
        (b"", "Reverted", {}),
    ],
    ids=["custom", "of another contract", "text", "panic", "unknown", "cut off", "nothing"],
)
def test_every_kind_of_revert_is_decoded(
    sender: Sender, echo: bytes, gas: int | None, data: bytes, name: str, arguments: dict[str, object]
) -> None:
    before = nonce(sender)
    with pytest.raises(ContractError) as refused:
        sender.send(Call(artifact(ECHO_RUNTIME), echo, data, gas))
    assert (refused.value.contract, refused.value.name) == ("Sampler", name)
    assert refused.value.arguments == arguments
    assert nonce(sender) == before + (gas is not None)


def test_running_out_of_gas_is_told(sender: Sender) -> None:
    loop = artifact(LOOP_RUNTIME)
    address, _ = sender.deploy(loop)
    with pytest.raises(ContractError) as refused:
        sender.send(Call(loop, address, b"", gas=50_000))
    assert refused.value.name == "OutOfGas"


def made_dearer(patch: pytest.MonkeyPatch, node: Node, contract: bytes, balances: list[int]) -> None:
    """Changes a contract's balance between each estimate and its transaction."""
    honest = Delivery.run

    def run(self: Delivery) -> list[Outcome]:
        if balances:
            set_balance(node, contract, balances.pop(0))
        return honest(self)

    patch.setattr(Delivery, "run", run)


def test_what_others_made_dearer_is_estimated_and_sent_again(
    devnet: AnyDevnet, sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = artifact(GROWING_RUNTIME)
    address, _ = sender.deploy(growing)
    before = nonce(sender)
    made_dearer(monkeypatch, devnet.node, address, [200_000])
    assert sender.send(Call(growing, address, b"")).gas_used > 100_000
    assert nonce(sender) == before + 2
    made_dearer(monkeypatch, devnet.node, address, [300_000, 400_000, 500_000])
    with pytest.raises(ContractError, match="OutOfGas"):
        sender.send(Call(growing, address, b""))
    assert nonce(sender) == before + 2 + ESTIMATES


def test_a_refused_estimate_sends_nothing(sender: Sender, echo: bytes) -> None:
    before = nonce(sender)
    with pytest.raises(ContractError, match="UnknownError"):
        sender.send_many([note(), Call(artifact(ECHO_RUNTIME), echo, b"nope"), note()])
    assert nonce(sender) == before


def test_a_failure_in_the_middle_lets_the_others_run(sender: Sender, echo: bytes) -> None:
    before = nonce(sender)
    with pytest.raises(ContractError, match="UnknownError"):
        sender.send_many([note(), Call(artifact(ECHO_RUNTIME), echo, b"nope", 100_000), note()])
    assert nonce(sender) == before + 3
    sender.send(note())
    assert nonce(sender) == before + 4


def test_each_call_of_a_batch_has_its_outcome(sender: Sender, echo: bytes) -> None:
    first, failed, last = sender.send_each(
        [note(), Call(artifact(ECHO_RUNTIME), echo, b"nope", 100_000), note()]
    )
    assert isinstance(failed, ContractError)
    assert isinstance(first, Receipt)
    assert isinstance(last, Receipt)


def test_what_a_node_would_refuse_is_not_sent(sender: Sender) -> None:
    before = nonce(sender)
    with pytest.raises(NodeError, match="gas for its data alone, but its limit is 21000"):
        sender.send_many([note(), note(gas=21_000), note()])
    assert nonce(sender) == before
    sender.send(note(gas=21_064))
    assert nonce(sender) == before + 1


def test_a_gap_in_the_nonces_is_closed_by_the_next_transaction(anvil: Devnet) -> None:
    signer = anvil.signer(8)
    sender = Sender(anvil.node, signer)
    before = nonce(sender)
    later = {"chainId": 31337, "nonce": before + 1, "gas": 21_000, "gasPrice": 10**11, "to": bytes(20)}
    raw, _ = signer.sign({**later, "value": 0, "data": b""})
    anvil.node.rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
    assert nonce(sender) == before
    sender.send(note())
    sender.send(note())
    assert nonce(sender) == before + 3


def test_nonces_are_resynchronised_after_somebody_else_used_the_account(
    devnet: AnyDevnet, sender: Sender
) -> None:
    sender.send(note())
    before = nonce(sender)
    Sender(devnet.node, devnet.signer(5)).send(note())
    sender.send(note())
    assert nonce(sender) == before + 2


def test_an_account_without_funds_is_told_so(devnet: AnyDevnet) -> None:
    poor = Sender(devnet.node, Signer(bytes(31) + b"\x07"))
    with pytest.raises(NodeError, match=r"has 0 wei on chain .*: send it some"):
        poor.send(note(gas=50_000))


def bulky(kilobytes: int) -> Call:
    return Call(artifact(ECHO_RUNTIME), bytes(range(20)), b"\1" * 1_000 * kilobytes)


def test_a_batch_is_as_large_as_a_block(sender: Sender) -> None:
    """Each call takes 1,621,000 gas, and its limit is a quarter more."""
    limits = [call.gas or 0 for call in sender.next_batch([bulky(100)] * 20)]
    assert len({*limits}) == 1
    assert len(limits) == GAS_LIMIT // limits[0] == 14


def test_longer_calls_get_more_gas_and_shorter_ones_no_less(sender: Sender) -> None:
    first, longer, shorter, longest = sender.next_batch([bulky(10), bulky(20), bulky(1), bulky(900)])
    assert first.gas is not None
    assert (longer.gas, shorter.gas, longest.gas) == (2 * first.gas, first.gas, MAX_TRANSACTION_GAS)


def test_a_batch_is_as_large_as_the_account_can_pay_for(devnet: AnyDevnet) -> None:
    """The base fee may fall by an eighth with each block, like a change of the balance."""
    node, sender = devnet.node, Sender(devnet.node, Signer(bytes(31) + b"\x09"))
    calls = [bulky(10)] * 4
    set_balance(node, sender.address, 10**21)
    rich = sender.next_batch(calls)
    offer = fees(node.latest_block(), int(node.rpc.call("eth_gasPrice"), 16), 2)
    twice = 2 * (rich[0].gas or 0) * max(offer.values())
    for balance, count in {10**21: 4, twice: 2, twice // 2: 1, 0: 1}.items():
        set_balance(node, sender.address, balance)
        assert sender.next_batch(calls) == rich[:count]
    with pytest.raises(NodeError, match="send it some"):
        sender.send_each(rich[:1])


def test_a_call_that_is_not_estimated_goes_alone(devnet: AnyDevnet, sender: Sender, echo: bytes) -> None:
    refused, good = Call(artifact(ECHO_RUNTIME), echo, b"nope"), note()
    limited = Sender(devnet.node, devnet.signer(5), gas_limit=100_000)
    assert sender.next_batch([refused, good]) == (refused,)
    assert sender.next_batch([good]) == (good,)
    assert limited.next_batch([good, good]) == (good,)


@pytest.mark.parametrize("kind", ["anvil", "embedded"])
def test_estimates_know_the_time_of_the_next_block(kind: str, request: pytest.FixtureRequest) -> None:
    """On a chain that mines on demand, the newest block becomes old."""
    devnet: AnyDevnet = request.getfixturevalue(kind)
    node, waits = devnet.node, artifact(LATER_RUNTIME)
    sender = Sender(node, devnet.signer(5), deadline=SECONDS)
    address, _ = sender.deploy(waits)
    node.rpc.call("evm_increaseTime", 1_000)
    moment = node.timestamp() + 500
    receipt = sender.send(Call(waits, address, moment.to_bytes(32, "big")))
    assert (
        int(node.rpc.call("eth_getBlockByNumber", hex(receipt.block_number), False)["timestamp"], 16) > moment
    )


def test_a_limit_for_all_transactions_replaces_estimates(devnet: AnyDevnet, echo: bytes) -> None:
    limited = Sender(devnet.node, devnet.signer(6), gas_limit=100_000)
    before = nonce(limited)
    with pytest.raises(ContractError, match="Reverted"):
        limited.send(Call(artifact(ECHO_RUNTIME), echo, b""))
    assert nonce(limited) == before + 1


def test_a_transaction_that_is_not_mined_and_one_that_is_dropped(
    anvil: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    rpc, signer = anvil.node.rpc, anvil.signer(7)
    rpc.call("evm_setAutomine", False)
    try:
        with pytest.raises(NodeError, match=r"still waits .* the node is not mining"):
            Sender(anvil.node, signer, deadline=0.3).send(note())
        rpc.call("anvil_dropAllTransactions")
        collect = Delivery._collect

        def dropping(self: Delivery) -> None:
            rpc.call("anvil_dropAllTransactions")
            collect(self)

        monkeypatch.setattr(Delivery, "_collect", dropping)
        with pytest.raises(NodeError, match=r"dropped transaction 0x.* run the command again"):
            Sender(anvil.node, signer, deadline=0.3).send(note())
        monkeypatch.undo()
    finally:
        rpc.call("evm_setAutomine", True)
    Sender(anvil.node, signer, deadline=SECONDS).send(note())


def test_a_node_that_forgets_to_mine_is_woken(anvil: Devnet, monkeypatch: pytest.MonkeyPatch) -> None:
    node = anvil.node
    monkeypatch.setattr("blockful_py.chain.delivery.TEND_SECONDS", 0.05)
    monkeypatch.setattr(Node, "wake", lambda node: node.rpc.call("evm_mine"))
    node.rpc.call("evm_setAutomine", False)
    try:
        sent = Sender(node, anvil.signer(7), deadline=SECONDS).send(note())
        assert sent.block_number == node.block_number()
    finally:
        node.rpc.call("evm_setAutomine", True)


def test_only_an_anvil_that_mines_at_once_is_woken(ganache: Devnet, anvil: Devnet) -> None:
    other, node = ganache.node, anvil.node
    blocks = other.block_number(), node.block_number()
    assert not other.wake() and node.wake()
    assert (other.block_number(), node.block_number()) == (blocks[0], blocks[1] + 1)
    node.rpc.call("evm_setAutomine", False)
    try:
        assert not node.wake()
    finally:
        node.rpc.call("evm_setAutomine", True)


def test_mnemonic_accounts_are_those_of_the_nodes(devnet: AnyDevnet) -> None:
    ours = [Signer.from_mnemonic(DEV_MNEMONIC, i).address for i in range(11)]
    assert [devnet.node.balance(each) > 0 for each in ours] == [True] * 10 + [False]


def test_keys_are_in_no_text() -> None:
    secret = bytes(range(1, 33))
    assert secret.hex() not in repr(Signer(secret))
    for wrong in (bytes(32), b"\xff" * 32, secret[:31], "zz" * 32):
        with pytest.raises(InvalidKeyError) as refused:
            Signer(wrong)
        assert refused.value.__cause__ is None
        assert "\\xff\\xff" not in str(refused.value)
