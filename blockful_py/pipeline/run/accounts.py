# SPDX-License-Identifier: Apache-2.0
"""Accounts: the users', which own models and sign; their gas money on development chains, and their URLs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Protocol

from blockful_py.chain.account_file import address_in, secret_in
from blockful_py.chain.calls import Call
from blockful_py.chain.interface import Interface
from blockful_py.chain.participant_registry import Endpoint
from blockful_py.chain.sender import Sender
from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.environment import PASSPHRASE
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS, Identities, identities_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.settings import Settings
from blockful_py.types import Address

POCKET_MONEY = 10**17
"""Wei that a development chain's first account gives an empty account, to pay for gas."""


class Accounts(Protocol):
    """Secrets of users, who are numbered from 1."""

    def secret(self, user: int) -> int: ...


class DerivedAccounts:
    """Accounts derived from the seed, for development chains only."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities

    def secret(self, user: int) -> int:
        return self._identities.user(user)


class AccountFolder:
    """Ethereum keystores `user-1.json`, `user-2.json`, ... in a folder, all under one passphrase.

    A file is decrypted once, when its user first has to sign.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: dict[int, int] = {}

    def path(self, user: int) -> Path:
        return self._folder / f"user-{user}.json"

    def users(self) -> tuple[int, ...]:
        """Numbers of the users with an account in the folder."""
        names = (re.fullmatch(r"user-([1-9]\d{0,4})\.json", path.name) for path in self._folder.glob("*"))
        return tuple(sorted(int(name[1]) for name in names if name))

    def address(self, user: int) -> Address:
        """Address of a user's account, 20 bytes.  Raises KeystoreError."""
        return address_in(self.path(user))

    def secret(self, user: int) -> int:
        """A user's secret.  Raises KeystoreError, or SettingsError without a passphrase."""
        if user not in self._opened:
            words = os.environ.get(PASSPHRASE)
            if not words:
                raise SettingsError(
                    f"the accounts in {self._folder} are under a passphrase: put it into ${PASSPHRASE}."
                )
            self._opened[user] = secret_in(self.path(user), words)
        return self._opened[user]


class OwnAccount:
    """The account of this process's one user."""

    def __init__(self, user: int | None, secret: int) -> None:
        self._user = user
        self._secret = secret

    def secret(self, user: int) -> int:
        """The user's secret.  Raises SettingsError for every other user."""
        if user != self._user:
            raise SettingsError(f"the account of user {user} is not here: only its owner has it.")
        return self._secret


def identities_in(run: RunDirectory, nodes: Nodes) -> Identities | None:
    """The keys that a laboratory derives from its seed.

    None for a party's run, and outside development chains.  Raises SettingsError as `identities_of`.
    """
    if run.party is not None:
        return None
    return identities_of(run.settings, (nodes.live.chain_id, nodes.archive.chain_id))


def accounts_of(settings: Settings, identities: Identities | None) -> Accounts:
    """The accounts in the folder of the settings, or derived from the seed.  Raises SettingsError."""
    folder = settings.federation.accounts
    if folder is not None:
        return AccountFolder(Path(folder))
    if identities is None:
        raise SettingsError("federation.accounts names no folder, and no account derives from the seed here.")
    return DerivedAccounts(identities)


def provide(payer: Sender, interface: Interface, account: Address) -> bool:
    """Funds an empty account on a development chain; returns whether it did."""
    node = payer.node
    if node.chain_id not in DEVELOPMENT_CHAINS or node.balance(account):
        return False
    payer.send(Call(interface, account, b"", value=POCKET_MONEY))
    return True


def announce(contracts: Contracts, account: Address, endpoint: Endpoint | None) -> bool:
    """Publishes the endpoint of the signer's account on the chain, or withdraws it if None.

    Returns False while the account is empty.  Raises ContractError, or NodeError if its balance is too low.
    """
    if not contracts.live.node.balance(account):
        return False
    if contracts.participants.endpoint(account) != endpoint:
        contracts.participants.announce(endpoint)
    return True
