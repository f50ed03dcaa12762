# SPDX-License-Identifier: Apache-2.0
"""Where parties are reached, as the chain says it."""

from __future__ import annotations

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.pipeline.run.contracts import Contracts


def announce(contracts: Contracts, account: bytes, endpoint: Endpoint | None) -> bool:
    """Has the chain say where the account of the contracts' signer is reached, or that it is not.

    False while the account is empty.  Raises ContractError, or NodeError where it has too little.
    """
    if not contracts.live.node.balance(account):
        return False
    if contracts.participants.endpoint(account) != endpoint:
        contracts.participants.announce(endpoint)
    return True
