# SPDX-License-Identifier: Apache-2.0
"""Keyrings over the appointed members' vaults, which are in the run directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve
from blockful_py.errors import BlockfulError, KeyDestroyedError
from blockful_py.keys.sealing import Destruction
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri


class VaultKeyring:
    """The keyring of one member's vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def find(self, uri: Uri) -> bytes:
        return self._vault.get(uri.digest)

    def holds(self, uri: Uri) -> bool:
        return uri.digest in self._vault.versions()


class NoKeys:
    """A keyring without keys."""

    def find(self, uri: Uri) -> bytes:
        raise no_key(uri)

    def holds(self, uri: Uri) -> bool:
        return False


NO_KEYS = NoKeys()


class AppointedKeyring:
    """The keyring of all appointed members; `find` asks one vault after the other."""

    def __init__(self, directory: Path, secrets: Mapping[int, int]) -> None:
        """`secrets`: voting secrets by member, numbered from 1."""
        self._vaults = {
            curve.address(curve.multiply_base(secret)): Vault(directory / f"member{index}", secret)
            for index, secret in secrets.items()
        }

    def find(self, uri: Uri) -> bytes:
        """Raises KeyDestroyedError when no vault has the key, or the error of a vault that failed."""
        problem: BlockfulError | None = None
        for vault in self._vaults.values():
            try:
                return vault.get(uri.digest)
            except KeyDestroyedError:
                continue
            except BlockfulError as error:
                problem = error
        raise problem or no_key(uri)

    def holds(self, uri: Uri) -> bool:
        return any(uri.digest in vault.versions() for vault in self._vaults.values())

    def deliver(self, keys: Mapping[Uri, bytes]) -> None:
        for vault in self._vaults.values():
            vault.put({uri.digest: key for uri, key in keys.items()})

    def withdraw(self, uris: Collection[Uri]) -> None:
        self.destroy(uris)

    def destroy(self, uris: Collection[Uri]) -> Destruction:
        for vault in self._vaults.values():
            vault.destroy([uri.digest for uri in uris])
        return Destruction(tuple(self._vaults))


def no_key(uri: Uri) -> KeyDestroyedError:
    return KeyDestroyedError(
        f"no member has the key of the weights {cid_string(uri)}: this version was erased. What is left of "
        "it is unreadable."
    )
