# SPDX-License-Identifier: Apache-2.0
"""Keys of users and members that derive from the seed: for development chains only.

Whoever knows the seed knows every key.  `Identities` refuses chains that are not known to be
development chains, so that no real record depends on a public number.
"""

from __future__ import annotations

import hashlib

from blockful_py.crypto import curve, envelope
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import SettingsError

DEVELOPMENT_CHAINS = frozenset({1337, 1338, 31337, 31338})
"""Chain ids of Ganache, Anvil and Hardhat, and the second one of a pair."""


class Identities:
    """Accounts of one federation, derived from `seed`."""

    def __init__(self, seed: int, chain_ids: tuple[int, ...]) -> None:
        """Raises SettingsError for a chain that is not a development chain."""
        for chain_id in chain_ids:
            if chain_id not in DEVELOPMENT_CHAINS:
                known = ", ".join(map(str, sorted(DEVELOPMENT_CHAINS)))
                raise SettingsError(
                    "the appointed committee's keys derive from the seed, which is no secret; chain "
                    f"{chain_id} is not a development chain. Start the node with one of the ids {known}."
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

    def data_key(self, content: bytes) -> bytes:
        """The data key of a content; a seed repeats it bit for bit.

        It also derives from the content, so that the seed alone does not decrypt a sealed file.
        """
        return self.rng("data key", hashlib.sha256(content).digest())(envelope.KEY_BYTES)

    def rng(self, *labels: str | int | bytes) -> SeededRng:
        """An independent random stream for `labels`."""
        return self._root.derive(*labels)


def address_of(secret: int) -> bytes:
    """Ethereum address of a secret key, 20 bytes."""
    return curve.address(curve.multiply_base(secret))
