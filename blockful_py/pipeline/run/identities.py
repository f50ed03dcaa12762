# SPDX-License-Identifier: Apache-2.0
"""Keys of users, members and the leader derived from the seed, for development chains only.

The seed reveals every key.  On other chains no key derives from it (`identities_of`), and `Identities`
refuses them, so that no real record depends on a public number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from blockful_py.crypto import curve, envelope
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import SettingsError
from blockful_py.settings import Settings
from blockful_py.types import Bytes32

LEADER_KEY = "BLOCKFUL_LEADER_KEY"
"""Environment variable with the leader's private key, on chains where no key derives from the seed."""
DEVELOPMENT_CHAINS = frozenset({1337, 1338, 31337, 31338})
"""Chain ids of Ganache, Anvil and Hardhat, and the second one of a pair."""


class Identities:
    """Accounts of one federation, derived from `seed`."""

    def __init__(self, seed: int, chain_ids: tuple[int, ...]) -> None:
        """Derives the root of all keys.  Raises SettingsError for a chain that is not a development chain."""
        for chain_id in chain_ids:
            if chain_id not in DEVELOPMENT_CHAINS:
                raise SettingsError(
                    f"chain {chain_id} is not a development chain: no key derives from the seed there."
                )
        self._root = SeededRng(seed.to_bytes(8, "big"), "blockful", "identities")

    def user(self, number: int) -> int:
        """Signing secret of a user, numbered from 1."""
        return curve.random_scalar(self._root.derive("user", number))

    def voter(self, index: int) -> int:
        """Voting secret of a committee member, numbered from 1."""
        return curve.random_scalar(self._root.derive("voter", index))

    def leader(self) -> int:
        """Secret with which the pipeline leads members in other processes."""
        return curve.random_scalar(self._root.derive("leader"))

    def data_key(self, content: Bytes32) -> bytes:
        """The data key of a content of this SHA-256, reproducible from the seed.

        It also derives from the content, so that the seed alone does not decrypt a sealed file.
        """
        return self.rng("data key", content)(envelope.KEY_BYTES)

    def rng(self, *labels: str | int | bytes) -> SeededRng:
        """An independent random stream for `labels`."""
        return self._root.derive(*labels)


def identities_of(
    settings: Settings, chain_ids: Sequence[int], more: Sequence[str] = ()
) -> Identities | None:
    """The keys derived from the seed; None unless all chains are development chains.

    Raises SettingsError, listing the missing settings, if the settings would need derived keys on a real
    chain.  `more`: further missing settings to list.
    """
    real = sorted(set(chain_ids) - DEVELOPMENT_CHAINS)
    if not real:
        return Identities(settings.seed, tuple(chain_ids))
    missing = list(more)
    if settings.committee.roster != "elected":
        missing.append('committee.roster = "elected", since appointed members\' keys derive from the seed')
    if not settings.committee.election.founders:
        missing.append("committee.election.founders, the accounts of the first members")
    if settings.federation.accounts is None:
        missing.append("federation.accounts, the folder of the users' keystores (`blockful account create`)")
    if missing:
        known = ", ".join(map(str, sorted(DEVELOPMENT_CHAINS)))
        raise SettingsError(
            f"chain {real[0]} is not a development chain ({known} are), and no key derives from the seed "
            f"there. Configure {'; '.join(missing)}."
        )
    return None


def leader_key() -> int:
    """The secret in LEADER_KEY.  Raises SettingsError without one."""
    text = os.environ.get(LEADER_KEY, "")
    try:
        secret = int.from_bytes(bytes.fromhex(text.removeprefix("0x")))
    except ValueError:
        secret = 0
    if not 0 < secret < curve.N:
        raise SettingsError(
            "leading on a chain that is no development chain takes a key of your own: put one of 64 "
            f"hexadecimal digits into ${LEADER_KEY}, and start the members with --leader and its address."
        )
    return secret


def address_of(secret: int) -> bytes:
    """Ethereum address of a secret key, 20 bytes."""
    return curve.address(curve.multiply_base(secret))
