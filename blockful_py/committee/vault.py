# SPDX-License-Identifier: Apache-2.0
"""A member's data keys on disk, stored so that single keys can be destroyed.
    kek-<g>    the key-encryption key of generation g, locked under a key from the member's secret
    keys-<g>   a record for each data key, locked under kek-<g>: version (32 bytes) || box (60 bytes)
    lock       held shared while reading, exclusively while changing

The version is the digest of the sealed file's CID.  Keys are only ever appended.  To destroy a key, the vault
makes generation g + 1 with a fresh key-encryption key and the other keys, then overwrites and removes
kek-<g>.  After that, copies of keys-<g> cannot be decrypted, even with the member's secret, and keys-<g+1>
never contained the destroyed key.

kek-<g> is written after keys-<g>, so its existence shows that generation g is complete.  The newest
generation counts.  The next change removes other files that a crash left, and truncates a torn record at the
end of keys-<g>.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from blockful_py.crypto import secretbox
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, KeyDestroyedError, KeystoreError
from blockful_py.whole_file import replace, sync

DST_VAULT = tag("vault")
VERSION_BYTES = 32
RECORD_BYTES = VERSION_BYTES + secretbox.KEY_BYTES + secretbox.OVERHEAD


class Vault:
    """The keys in a directory; safe for several processes and threads."""

    def __init__(self, directory: Path, secret: int) -> None:
        """Opens the vault in a directory, or creates it; `secret` is the member's, and decrypts the vault.

        Raises KeystoreError when the directory cannot be made.
        """
        self.directory = directory
        self._secret = secret
        self._lock = threading.RLock()
        self._seen: tuple[int, int] = (-1, 0)
        self._boxes: dict[bytes, bytes] = {}
        with _readable_errors(directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, keys: Mapping[bytes, bytes]) -> None:
        """Stores data keys by version, durably, and leaves keys stored before as they are.

        Raises KeystoreError when they cannot be written, or when a version already has another key.
        """
        with self._changing() as generation:
            kek = self._kek(generation)
            fresh = {version: key for version, key in keys.items() if version not in self._boxes}
            for version in keys.keys() - fresh.keys():
                if self._decrypted(kek, version) != keys[version]:
                    raise KeystoreError(f"the vault has another key of version {version.hex()}.")
            if fresh:
                records = (_record(kek, version, key) for version, key in sorted(fresh.items()))
                size = len(self._boxes) * RECORD_BYTES
                _append(self._keys_path(generation), size, b"".join(records))

    def get(self, version: bytes) -> bytes:
        """The data key of a version.

        Raises KeyDestroyedError when the vault lacks it, and KeystoreError when the vault is damaged or
        another member's.
        """
        found = self.find((version,))
        if version not in found:
            raise KeyDestroyedError(
                f"the vault {self.directory} has no key of version {version.hex()}: it was erased, or "
                "never delivered here."
            )
        return found[version]

    def find(self, versions: Collection[bytes]) -> dict[bytes, bytes]:
        """The data keys that the vault has for `versions`.

        Raises KeystoreError when the vault is damaged or another member's.
        """
        with self._reading() as generation:
            here = [version for version in versions if version in self._boxes]
            if generation is None or not here:
                return {}
            kek = self._kek(generation)
            return {version: self._decrypted(kek, version) for version in here}

    def versions(self) -> frozenset[bytes]:
        """Versions of all keys in the vault."""
        with self._reading():
            return frozenset(self._boxes)

    def destroy(self, versions: Collection[bytes]) -> frozenset[bytes]:
        """Destroys the keys of `versions`; returns the versions that had a key.

        After a crash, a second call completes the work.  Raises KeystoreError when a key cannot be destroyed.
        """
        return self.exchange({}, versions)

    def exchange(self, keys: Mapping[bytes, bytes], versions: Collection[bytes]) -> frozenset[bytes]:
        """Destroys the keys of `versions`, and stores `keys` in place of earlier ones, all at once.

        Returns and raises as `destroy`.
        """
        with self._changing() as generation:
            gone = self._boxes.keys() & {*versions, *keys}
            if not gone and not keys:
                return frozenset()
            kek, fresh = self._kek(generation), system_rng(secretbox.KEY_BYTES)
            left = {version: self._decrypted(kek, version) for version in self._boxes.keys() - gone}
            records = b"".join(_record(fresh, *each) for each in sorted({**left, **keys}.items()))
            self._begin(generation + 1, fresh, records)
            self._clear_all_but(generation + 1)
            return frozenset(gone)

    @contextmanager
    def _changing(self) -> Iterator[int]:
        """Yields the current generation, the only one in the directory; creates the first."""
        with self._lock, _readable_errors(self.directory), _locked(self.directory / "lock", fcntl.LOCK_EX):
            generation = self._newest()
            if generation is None:
                generation = 1
                self._begin(generation, system_rng(secretbox.KEY_BYTES), b"")
            self._clear_all_but(generation)
            self._look(generation)
            yield generation

    @contextmanager
    def _reading(self) -> Iterator[int | None]:
        """Yields the current generation; None before the first."""
        with self._lock, _readable_errors(self.directory), _locked(self.directory / "lock", fcntl.LOCK_SH):
            generation = self._newest()
            self._look(generation)
            yield generation

    def _newest(self) -> int | None:
        numbers = [_generation(path) for path in self.directory.glob("kek-*")]
        return max(filter(None, numbers), default=None)

    def _look(self, generation: int | None) -> None:
        """Reads the records again after a change."""
        if generation is None:
            self._boxes, self._seen = {}, (-1, 0)
            return
        path = self._keys_path(generation)
        seen = (generation, path.stat().st_size)
        if seen == self._seen:
            return
        data = path.read_bytes()
        whole = len(data) // RECORD_BYTES * RECORD_BYTES
        cut = (data[start : start + RECORD_BYTES] for start in range(0, whole, RECORD_BYTES))
        self._boxes = {record[:VERSION_BYTES]: record[VERSION_BYTES:] for record in cut}
        self._seen = seen

    def _decrypted(self, kek: bytes, version: bytes) -> bytes:
        try:
            return secretbox.unlock(kek, DST_VAULT + version, self._boxes[version])
        except CryptoError:
            raise KeystoreError(
                f"the key of version {version.hex()} in the vault {self.directory} is damaged: move the "
                "vault away; the member gets the keys again from the other members."
            ) from None

    def _kek(self, generation: int) -> bytes:
        try:
            box = self._kek_path(generation).read_bytes()
            return secretbox.unlock(self._outer(), _kek_context(generation), box)
        except CryptoError:
            raise KeystoreError(
                f"{self._kek_path(generation)} is damaged, or belongs to another member."
            ) from None

    def _outer(self) -> bytes:
        return secretbox.derive(self._secret, DST_VAULT)

    def _begin(self, generation: int, kek: bytes, records: bytes) -> None:
        """Creates a generation; its kek file comes last, because it marks the generation as complete."""
        self._keys_path(generation).unlink(missing_ok=True)
        _append(self._keys_path(generation), 0, records)
        box = secretbox.lock(self._outer(), _kek_context(generation), kek)
        replace(self._kek_path(generation), (box,))

    def _clear_all_but(self, generation: int) -> None:
        kept = {self._kek_path(generation), self._keys_path(generation), self.directory / "lock"}
        left = [path for path in self.directory.iterdir() if path not in kept]
        for path in left:
            if path.name.startswith("kek"):
                _overwrite(path)
            path.unlink()
        if left:
            sync(self.directory)

    def _kek_path(self, generation: int) -> Path:
        return self.directory / f"kek-{generation}"

    def _keys_path(self, generation: int) -> Path:
        return self.directory / f"keys-{generation}"


def _record(kek: bytes, version: bytes, key: bytes) -> bytes:
    if (len(version), len(key)) != (VERSION_BYTES, secretbox.KEY_BYTES):
        raise KeystoreError("a version and its key have 32 bytes each.")
    return version + secretbox.lock(kek, DST_VAULT + version, key)


def _kek_context(generation: int) -> bytes:
    return DST_VAULT + generation.to_bytes(8, "big")


def _generation(path: Path) -> int:
    number = path.name.removeprefix("kek-")
    return int(number) if number.isascii() and number.isdecimal() else 0


def _append(path: Path, size: int, data: bytes) -> None:
    """Writes `data` durably after the first `size` bytes of the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b") as file:
        file.truncate(size)
        file.seek(size)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _overwrite(path: Path) -> None:
    """Overwrites the file with random bytes, which erases it on file systems that write in place."""
    with path.open("r+b") as file:
        file.write(system_rng(path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _locked(path: Path, mode: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _readable_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeystoreError(
            f"the vault {directory} cannot be used ({error.strerror}): check that it is a folder of this "
            "user with room left, then retry; no key was lost."
        ) from None
