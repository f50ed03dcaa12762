# SPDX-License-Identifier: Apache-2.0
"""Publishes a party's URL on the chain."""

from __future__ import annotations

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.types import Address


def announce(contracts: Contracts, account: Address, endpoint: Endpoint | None) -> bool:
    """Publishes the endpoint of the signer's account on the chain, or withdraws it if None.

    Returns False while the account is empty.  Raises ContractError, or NodeError if its balance is too low.
    """
    if not contracts.live.node.balance(account):
        return False
    if contracts.participants.endpoint(account) != endpoint:
        contracts.participants.announce(endpoint)
    return True
