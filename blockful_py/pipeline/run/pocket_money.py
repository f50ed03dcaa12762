# SPDX-License-Identifier: Apache-2.0
"""Gas money for accounts on development chains."""

from __future__ import annotations

from blockful_py.chain.calls import Call
from blockful_py.chain.interface import Interface
from blockful_py.chain.sender import Sender
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.types import Address

POCKET_MONEY = 10**17
"""Wei that a development chain's first account gives an empty account, to pay for gas."""


def provide(payer: Sender, interface: Interface, account: Address) -> bool:
    """Funds an empty account on a development chain; returns whether it did."""
    node = payer.node
    if node.chain_id not in DEVELOPMENT_CHAINS or node.balance(account):
        return False
    payer.send(Call(interface, account, b"", value=POCKET_MONEY))
    return True
