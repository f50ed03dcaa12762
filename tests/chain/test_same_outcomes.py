# SPDX-License-Identifier: Apache-2.0
"""What is sent to an embedded chain costs the same gas, emits the same events and is refused for the same
reasons on Ganache and on Anvil."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import Call
from blockful_py.chain.deployments import deploy_archive, deploy_live
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.embedded_devnet import EmbeddedDevnet
from blockful_py.chain.interface import interface_of
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import Node
from blockful_py.chain.reverts import refusal
from blockful_py.chain.rpc import Request, Rpc, RpcError
from blockful_py.chain.sender import Sender
from blockful_py.crypto.eip712 import Domain
from blockful_py.errors import ContractError
from blockful_py.types import ArchiveReason, ArchiveRecord, Position
from tests.chain.council import Council, uri

CHAIN_ID = 1337
SECONDS = 600.0
COMPARED = {"eth_call", "eth_sendRawTransaction"}


class Recorder(Rpc):
    """Notes calls and transactions, in their order, with the answers."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self.noted: list[tuple[Request, Any]] = []

    @property
    def url(self) -> str:
        return self._rpc.url

    def batch(self, calls: Sequence[Request]) -> list[Any]:
        answers = self._rpc.batch(calls)
        self.noted += [pair for pair in zip(calls, answers, strict=True) if pair[0][0] in COMPARED]
        return answers

    def close(self) -> None:
        self._rpc.close()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Recorder]]:
    """An embedded chain and all that was asked of it."""
    path: Path = tmp_path_factory.mktemp("recorded") / "chain.sqlite"
    with EmbeddedDevnet(path, CHAIN_ID) as devnet:
        recorder = Recorder(devnet.node.rpc)
        node = Node(recorder, CHAIN_ID)
        _everything(Sender(node, devnet.signer(0), gas_limit=3_000_000))
        yield node, recorder


def _everything(sender: Sender) -> None:
    """Deploys, publishes, archives and redacts; then is refused for seven reasons."""
    node, council = sender.node, Council.gathered(b"the same everywhere")
    live_part = deploy_live(sender, council.roster, seats=3)
    committee = live_part.address("AppointedCommittee")
    archive_part = deploy_archive(sender, CHAIN_ID, committee, council.roster)
    council.domain = Domain(CHAIN_ID, committee)
    live = LiveChainContract(node, live_part.address("LiveChain"), sender)
    archive = ArchiveRegistryContract(node, archive_part.address("ArchiveRegistry"), sender)

    for references in ((), (Position(1, 0), Position(1, 23))):
        block = council.block(live, 24, references)  # more than 24 slots: an access list is declared
        live.append(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0])
    records = [ArchiveRecord(Position(1, i), 0, ArchiveReason.PUBLISHED, uri(f"{i}")) for i in range(24)]
    head, timestamp = archive.head(), node.timestamp()
    (action,) = council.certify(archive, [archive.append_leaf(head, timestamp, records, 0, 1)])
    archive.append(head, timestamp, records, action)
    chunk = council.redaction(live, [Position(height, i) for height in (1, 2) for i in range(24)])
    (action,) = council.certify(live, [live.redact_leaf(*chunk, 0, 1)])
    live.redact(*chunk, action)
    assert all(each.version == 1 for each in live.transactions([Position(1, 3), Position(2, 23)]))

    refusals = []
    with pytest.raises(ContractError) as refused:
        live.redact(*chunk, action)
    refusals.append(refused.value.name)
    block = council.block(live, 2)
    for wrong, voters in (
        (dataclasses.replace(block, parent_hash=bytes(32)), (0, 1, 3)),
        (dataclasses.replace(block, publications=block.publications[::-1]), (0, 1, 3)),
        (block, (0, 2)),
    ):
        (action,) = council.certify(live, [live.append_leaf(wrong, 0, 1)], voters)
        with pytest.raises(ContractError) as refused:
            live.append(wrong, action)
        refusals.append(refused.value.name)
    for read in (lambda: live.transaction(Position(9, 0)), lambda: archive.records(99, 1)):
        with pytest.raises(ContractError) as refused:
            read()
        refusals.append(refused.value.name)
    (action,) = council.certify(live, [live.append_leaf(block, 0, 1)])
    with pytest.raises(ContractError) as refused:
        Sender(node, sender._account, gas_limit=100_000).send(
            Call(live.interface, live.address, live.append_data(block, action))
        )
    refusals.append(refused.value.name)
    assert len(set(refusals)) == 7, refusals


@pytest.mark.parametrize("kind", ["ganache", "anvil"])
def test_gas_events_results_and_refusals_are_the_same(recorded: tuple[Node, Recorder], kind: str) -> None:
    embedded, recorder = recorded
    asked = list(recorder.noted)
    assert sum(request[0] == "eth_sendRawTransaction" for request, _ in asked) >= 16
    assert sum(isinstance(answer, RpcError) for _, answer in asked) >= 7
    with Devnet(NodeOptions(CHAIN_ID, kind=kind)) as devnet:
        for (method, params), answer in asked:
            (other,) = devnet.node.rpc.batch([(method, params)])
            if method == "eth_call":
                assert _result(other) == _result(answer)
            else:
                assert other == answer
                assert _receipt(devnet.node, other) == _receipt(embedded, answer)


def _result(answer: Any) -> Any:
    """What a call returned, or the decoded reason why not."""
    if not isinstance(answer, RpcError):
        return answer
    error = refusal(answer, interface_of("LiveChain"), "", "a call")
    assert isinstance(error, ContractError), answer
    return error.name, error.arguments


def _receipt(node: Node, transaction: str) -> Mapping[str, Any]:
    """What a receipt says of the execution."""
    end = time.monotonic() + SECONDS
    while (receipt := node.rpc.call("eth_getTransactionReceipt", transaction)) is None:
        assert time.monotonic() < end
        node.wake()
        time.sleep(0.01)
    created = receipt.get("contractAddress")
    return {
        "status": int(receipt["status"], 16),
        "gas": int(receipt["gasUsed"], 16),
        "created": created and created.lower(),
        "logs": [(log["address"].lower(), log["topics"], log["data"]) for log in receipt["logs"]],
    }
