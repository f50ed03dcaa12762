# SPDX-License-Identifier: Apache-2.0
"""A member's shares of sums that were handed on to it: files in its folder, under keys of its vault.

The vault's key of a class's file is the file's data key, until the member's share is handed on.  Then a key
of the member's own takes its place, so that the dealt boxes are unreadable, and an erasure of the file
destroys the new share.

    <digest of the file>/<epoch>-<name of the new shares>-<random>.kept      the old share is there too
                                                                  .settled  ... and is destroyed

A file counts if the vault's key opens it.  A settled one is written before its key, so that a crash leaves
either state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from blockful_py.committee.vault import Vault
from blockful_py.crypto import secretbox
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.residues import Array
from blockful_py.errors import CryptoError, KeystoreError
from blockful_py.types import Bytes32, Uri
from blockful_py.whole_file import OWN, write_whole

DST_HANDED = tag("handed-share")
HANDED = "handed"
"""The directory's name in a member's folder."""
KEPT, SETTLED = ".kept", ".settled"


@dataclass(frozen=True)
class HandedShare:
    """A share of a class's sums, the epoch of whose members it is, and the name of these shares."""

    epoch: int
    name: Bytes32
    share: Array
    is_settled: bool


class HandedShares:
    """The handed shares in a directory; `vault` is the member's."""

    def __init__(self, directory: Path, vault: Vault) -> None:
        self._directory = directory
        self._vault = vault

    def find(self, uri: Uri) -> list[HandedShare]:
        """The shares in place of a file's."""
        return [*self._readable(uri)]

    def keep(self, epoch: int, name: Bytes32, shares: Mapping[Uri, Array]) -> None:
        """Stores new shares beside the old ones, durably.  Raises KeystoreError."""
        missing = {uri.digest for uri in shares} - self._vault.versions()
        self._vault.put({each: system_rng(secretbox.KEY_BYTES) for each in missing})
        keys = self._vault.find([uri.digest for uri in shares])
        for uri, share in shares.items():
            self._write(uri, HandedShare(epoch, name, share, False), keys[uri.digest])

    def settle(self, name: Bytes32, uris: Collection[Uri], others: Collection[Uri]) -> None:
        """Destroys all but the shares of this name, and the keys of other files.  Raises KeystoreError."""
        held = {uri: self.find(uri) for uri in uris}
        done = [(name, True)]
        due = [uri for uri, each in held.items() if [(one.name, one.is_settled) for one in each] != done]
        fresh = {uri.digest: system_rng(secretbox.KEY_BYTES) for uri in due}
        kept: set[Path] = set()
        for uri in due:
            (found, *_) = [each for each in held[uri] if each.name == name]
            settled = HandedShare(found.epoch, name, found.share, True)
            kept.add(self._write(uri, settled, fresh[uri.digest]))
        self._vault.exchange(fresh, [uri.digest for uri in others])
        self._remove(due, kept)

    def drop(self, uris: Collection[Uri]) -> None:
        """Destroys all shares in place of these files, and the files' keys.  Raises KeystoreError."""
        self._vault.destroy([uri.digest for uri in uris])
        self._remove(uris, set())

    def _readable(self, uri: Uri) -> Iterator[HandedShare]:
        paths = self._paths(uri)
        keys = self._vault.find([uri.digest]) if paths else {}
        for path in paths if keys else ():
            epoch, name, _ = path.stem.split("-")
            try:
                share = decoded(secretbox.unlock(keys[uri.digest], _context(path), path.read_bytes()))
            except (CryptoError, FileNotFoundError):
                continue
            yield HandedShare(int(epoch), bytes.fromhex(name), share, path.suffix == SETTLED)

    def _write(self, uri: Uri, each: HandedShare, key: bytes) -> Path:
        stem = f"{each.epoch}-{each.name.hex()}-{system_rng(8).hex()}"
        path = self._directory / uri.digest.hex() / (stem + (SETTLED if each.is_settled else KEPT))
        locked = secretbox.lock(key, _context(path), encoded(each.share))
        write_whole(path, locked, KeystoreError, parents=True, mode=OWN)
        return path

    def _remove(self, uris: Collection[Uri], kept: Collection[Path]) -> None:
        for uri in uris:
            for path in self._paths(uri):
                if path not in kept:
                    path.unlink(missing_ok=True)

    def _paths(self, uri: Uri) -> list[Path]:
        return sorted((self._directory / uri.digest.hex()).glob("*[.][ks]*"))


def _context(path: Path) -> bytes:
    return DST_HANDED + f"{path.parent.name}/{path.name}".encode()
