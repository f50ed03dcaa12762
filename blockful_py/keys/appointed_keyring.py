# SPDX-License-Identifier: Apache-2.0
"""Keyrings over the appointed members' vaults in the run directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve
from blockful_py.errors import BlockfulError
from blockful_py.keys.sealing import Destruction, FoundKeys
from blockful_py.types import Uri


class VaultKeyring:
    """The keyring of one member's vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        return FoundKeys(_kept(self._vault, uris), "this member never had it, or has destroyed it.")

    def holds(self, uri: Uri) -> bool:
        return uri.digest in self._vault.versions()


class NoKeys:
    """A keyring without keys."""

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        return FoundKeys({})

    def holds(self, uri: Uri) -> bool:
        return False


NO_KEYS = NoKeys()


class AppointedKeyring:
    """The keyring of all appointed members; `find` searches one vault after the other."""

    def __init__(self, directory: Path, secrets: Mapping[int, int]) -> None:
        """Opens the members' vaults; `secrets` holds the voting secrets by member, numbered from 1."""
        self._vaults = {
            curve.address(curve.multiply_base(secret)): Vault(directory / f"member{index}", secret)
            for index, secret in secrets.items()
        }

    def find(self, uris: Collection[Uri]) -> FoundKeys:
        """Finds keys in all vaults.  Raises a failed vault's error unless the others have all keys."""
        found: dict[Uri, bytes] = {}
        problem: BlockfulError | None = None
        for vault in self._vaults.values():
            try:
                found |= _kept(vault, [uri for uri in uris if uri not in found])
            except BlockfulError as error:
                problem = error
        if problem is not None and not found.keys() >= {*uris}:
            raise problem
        return FoundKeys(found)

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


def _kept(vault: Vault, uris: Collection[Uri]) -> dict[Uri, bytes]:
    keys = vault.find([uri.digest for uri in uris])
    return {uri: keys[uri.digest] for uri in uris if uri.digest in keys}
