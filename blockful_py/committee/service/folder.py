# SPDX-License-Identifier: Apache-2.0
"""A member's folder: a passphrase unlocks the keystore, whose voting key unlocks everything else.

keystore.json            voting key, VRF key and account (`committee.keystore`)
shares/<key id>.box      share of each group key that the member helped to generate (`crypto.secretbox`)
origins/<key id>.json    charter of the key's generation, and the key's public half
vault/                   data keys of models (`committee.vault`)
settled.json             id of the newest key with shares at a quorum
events/                  past events of the chains (`pipeline.run.contracts`)
memory.sqlite            approvals, votes and sessions (`committee.durable`)

Shares are filed by key and not by epoch, since an epoch may take several key generations.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from blockful_py.committee import codec, keystore
from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.service.generation import Origin
from blockful_py.committee.vault import Vault
from blockful_py.crypto import secretbox
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.errors import CryptoError, KeystoreError, MessageError, RefusedError
from blockful_py.types import Bytes32
from blockful_py.whole_file import OWN, write_whole

Value = TypeVar("Value")

KEYSTORE = "keystore.json"
MEMORY = "memory.sqlite"
SHARES = "shares"
ORIGINS = "origins"
SETTLED = "settled.json"
VAULT = "vault"

DST_SHARE = tag("share")


class MemberFolder:
    """An open folder of a member; one process opens it at a time, until `close`."""

    def __init__(self, path: Path, keys: MemberKeys) -> None:
        """Opens a folder; `keys` are from its keystore.  Raises KeystoreError or MemoryLostError."""
        self.path = path
        self.keys = keys
        self.voting_secret = keys.voting_secret
        self.address = keys.address
        self.memory = DurableMemory(path / MEMORY, self.address)
        self.vault = Vault(path / VAULT, keys.voting_secret)

    @classmethod
    def open(cls, path: Path, words: str) -> MemberFolder:
        """Opens a folder with the passphrase `words`.  Raises KeystoreError or MemoryLostError."""
        return cls(path, keys_in(path, words))

    @classmethod
    def create(cls, path: Path, words: str, cost: KdfCost | None = None) -> MemberFolder:
        """Creates a member with fresh keys, encrypted at `cost`.  Raises KeystoreError when one exists."""
        keys = MemberKeys.generate()
        try:
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o700)
            (path / SHARES).mkdir(exist_ok=True)
        except OSError as error:
            raise KeystoreError(f"{path} cannot be made: {error.strerror}.") from None
        keystore.create(path / KEYSTORE, keys, words, cost)
        DurableMemory.create(path / MEMORY, keys.address).close()
        return cls(path, keys)

    def keep(self, share: KeyShare, origin: Origin) -> None:
        """Stores a share durably."""
        self._origin_path(origin.key.key_id).parent.mkdir(exist_ok=True)
        _keep(self._origin_path(origin.key.key_id), codec.encode(origin))
        key_id = share.public.key_id
        _keep(self._share_path(key_id), secretbox.lock(_share_key(self.keys), key_id, codec.encode(share)))

    def share(self, key_id: Bytes32) -> KeyShare | None:
        """See `share_in`."""
        return share_in(self.path, self.keys, key_id)

    def key_ids(self) -> tuple[bytes, ...]:
        """Identifiers of the group keys that this member has a share of."""
        names = sorted(path.stem for path in (self.path / SHARES).glob("*.box"))
        return tuple(bytes.fromhex(name) for name in names)

    def origin(self, key_id: Bytes32) -> Origin | None:
        """Origin of a key, if this member has a share of it.  Raises KeystoreError if damaged."""
        path = self._origin_path(key_id)
        if not (path.exists() and self._share_path(key_id).exists()):
            return None
        return _read(path, Origin)

    def settle(self, key_id: Bytes32) -> None:
        """Records that a quorum has shares of this key.

        Raises RefusedError when another key was settled in the same attempt of the election.
        """
        origin, before = self.origin(key_id), self.settled()
        if origin is None:
            raise RefusedError("this member has no share of the key to be settled")
        if before is not None and before.key != origin.key and _attempt(before) == _attempt(origin):
            raise RefusedError("this member has settled another key in this attempt of the election")
        _keep(self.path / SETTLED, codec.encode(_Settled(key_id)))

    def settled(self) -> Origin | None:
        """Origin of the key that was settled last, or None."""
        path = self.path / SETTLED
        return self.origin(_read(path, _Settled).key_id) if path.exists() else None

    def close(self) -> None:
        self.memory.close()

    def _share_path(self, key_id: Bytes32) -> Path:
        return _share_path(self.path, key_id)

    def _origin_path(self, key_id: Bytes32) -> Path:
        return self.path / ORIGINS / f"{key_id.hex()}.json"


@dataclass(frozen=True, slots=True)
class _Settled:
    key_id: Bytes32


def keys_in(path: Path, words: str) -> MemberKeys:
    """The secrets of a member; another process may be serving its folder.  Raises KeystoreError."""
    if not (path / KEYSTORE).exists():
        command = f"blockful committee init {shlex.quote(str(path))}"
        raise KeystoreError(f"there is no member in {path}: make one with `{command}`.")
    return keystore.load(path / KEYSTORE, words)


def share_in(path: Path, keys: MemberKeys, key_id: Bytes32) -> KeyShare | None:
    """A member's share of a group key, if it has one; another process may be serving the folder.

    Raises KeystoreError when the file is damaged, or belongs to another key or member.
    """
    file = _share_path(path, key_id)
    if not file.exists():
        return None
    try:
        return codec.decode(KeyShare, secretbox.unlock(_share_key(keys), key_id, file.read_bytes()))
    except OSError as error:
        raise KeystoreError(f"{file} cannot be read: {error.strerror}.") from None
    except CryptoError:
        raise KeystoreError(
            f"{file} is damaged, or holds the share of another key or member: restore it from a backup."
        ) from None
    except MessageError as error:
        raise KeystoreError(f"{file} holds no share of a group key: {error}") from None


def _share_path(path: Path, key_id: Bytes32) -> Path:
    return path / SHARES / f"{key_id.hex()}.box"


def _share_key(keys: MemberKeys) -> bytes:
    return secretbox.derive(keys.voting_secret, DST_SHARE)


def _attempt(origin: Origin) -> tuple[int, bytes, int, int, int]:
    charter = origin.charter
    return charter.chain_id, charter.committee, charter.epoch, charter.draw, charter.attempt


def _read(path: Path, kind: type[Value]) -> Value:
    try:
        return codec.decode(kind, path.read_bytes())
    except OSError as error:
        raise KeystoreError(f"{path} cannot be read: {error.strerror}.") from None
    except MessageError as error:
        raise KeystoreError(f"{path} is damaged: {error}") from None


def _keep(path: Path, data: bytes) -> None:
    write_whole(path, data, KeystoreError, mode=OWN)
