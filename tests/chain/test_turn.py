# SPDX-License-Identifier: Apache-2.0
"""Several accounts send to one Ganache at the same time, without losing a transaction."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from blockful_py.chain.calls import Call
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.interface import interface_of
from blockful_py.chain.node import connect
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer

RECEIVER = bytes([7]) * 20
SENDERS, EACH, SECONDS = 5, 12, 600.0


def test_transactions_of_several_accounts_all_arrive() -> None:
    with Devnet(NodeOptions(4243)) as devnet:
        assert devnet.node.is_ganache
        start = devnet.node.block_number()
        call = Call(interface_of("LiveChain"), RECEIVER, b"", value=1)

        def send(index: int) -> None:
            node = connect(devnet.node.url, timeout=SECONDS)
            sender = Sender(node, Signer.from_mnemonic(DEV_MNEMONIC, index))
            for _ in range(EACH):
                sender.send(call)
            node.close()

        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(send, range(SENDERS)))
        assert devnet.node.balance(RECEIVER) == SENDERS * EACH
        assert devnet.node.block_number() == start + SENDERS * EACH
