# SPDX-License-Identifier: Apache-2.0
"""An embedded development chain with the interface of a development node (`chain.devnet`)."""

from __future__ import annotations

from pathlib import Path

from blockful_py.chain.devnet import ACCOUNTS, BALANCE, GAS_LIMIT
from blockful_py.chain.ether import WEI
from blockful_py.chain.node import EMBEDDED, connect
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.closable import Closable
from blockful_py.errors import NodeError
from blockful_py.extras import needed_by


class EmbeddedDevnet(Closable):
    """An open embedded chain, with the same accounts and block gas limit as other development nodes.

    Several threads and processes may open the same chain.
    """

    def __init__(self, path: Path, chain_id: int) -> None:
        """Opens the chain, or creates it if the file is missing.

        Raises NodeError if the file holds another chain or cannot be used, and MissingExtraError if the extra
        is not installed.
        """
        with needed_by("an embedded chain"):
            from blockful_py.chain.embedded.chain import EmbeddedChain
        self.chain_id = chain_id
        self.url = f"{EMBEDDED}{path}"
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise NodeError(
                    f"{path.parent} cannot be made ({error.strerror}): choose another folder."
                ) from None
            accounts = Signer.range_from_mnemonic(DEV_MNEMONIC, range(ACCOUNTS))
            balances = {each.address: BALANCE * WEI for each in accounts}
            EmbeddedChain.create(path, chain_id, balances, GAS_LIMIT)
        self.node = connect(self.url, chain_id)

    def signer(self, index: int) -> Signer:
        """One of the funded accounts, `index` from 0 to 9."""
        return Signer.from_mnemonic(DEV_MNEMONIC, index)

    def sender(self, index: int = 0) -> Sender:
        """A sender for one of the accounts; its gas limit is a whole block's."""
        return Sender(self.node, self.signer(index), gas_limit=GAS_LIMIT)

    def close(self) -> None:
        self.node.close()

    def __repr__(self) -> str:
        return f"EmbeddedDevnet(chain_id={self.chain_id}, {self.url})"
