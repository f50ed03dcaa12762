# SPDX-License-Identifier: Apache-2.0
"""The archive's keys: the data key of each version, wrapped for every registered auditor.

    auditors/<cid>.json   {"format": ..., "keys": {"0x<account>": "<wrapped key>", ...}}

A file is written when its version is published, and again before the version's other keys are destroyed, so
the auditors of that time can read it.  A later auditor gets the keys of current versions but not of replaced
ones, which only the earlier auditors have.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from blockful_py.bounded_json import parse_json
from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.crypto import envelope
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import words
from blockful_py.errors import FormatError, RefusedError
from blockful_py.storage.blockstore import readable_errors
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Address, Point, Uri
from blockful_py.whole_file import replace, sync

FORMAT = "blockful-auditors/1"
DST_AUDITOR = tag("auditor")


class AuditorKeys:
    """The auditors' key files in a directory."""

    def __init__(self, directory: Path, archive: ArchiveRegistryContract) -> None:
        self._directory = directory
        self._archive = archive

    def auditors(self) -> dict[bytes, Point]:
        """Encryption keys of the auditors currently registered on the archive chain, by account."""
        accounts = {event.arguments["auditor"] for event in self._archive.events("AuditorRegistered")}
        keys = {account: self._archive.auditor_key(account) for account in sorted(accounts)}
        return {account: Point(*key) for account, key in keys.items() if any(key)}

    def wrap(self, keys: Mapping[Uri, bytes]) -> None:
        """Wraps data keys for the current auditors; former auditors lose theirs.

        Raises StorageError if a file cannot be written.
        """
        auditors = self.auditors()
        for uri, key in keys.items():
            wrapped = {
                "0x" + account.hex(): envelope.wrap(key, point, self._context(uri, account))
                for account, point in auditors.items()
            }
            self._write(uri, wrapped)

    def drop(self, account: Address) -> None:
        """Removes an auditor's wrapped keys of every version."""
        for uri in self:
            wrapped = self._read(uri)
            if wrapped.pop("0x" + account.hex(), None) is not None:
                self._write(uri, wrapped)

    def unwrap(self, uri: Uri, account: Address, secret: int) -> bytes:
        """Unwraps the data key of a version.

        Raises RefusedError if it is not wrapped for this account, EnvelopeError for another secret.
        """
        wrapped = self._read(uri).get("0x" + account.hex())
        if wrapped is None:
            raise RefusedError(
                f"the key of {cid_string(uri)} is not wrapped to 0x{account.hex()}: only "
                "auditors that were registered when the version was published or replaced can read it there."
            )
        return envelope.unwrap(wrapped, secret, self._context(uri, account))

    def holders(self, uri: Uri) -> tuple[bytes, ...]:
        """Accounts that a version's key is wrapped for."""
        return tuple(bytes.fromhex(account.removeprefix("0x")) for account in self._read(uri))

    def destroy(self, uri: Uri) -> bool:
        """Removes a version's keys; returns whether there were any."""
        with readable_errors(self._directory):
            path = self._path(uri)
            if not path.exists():
                return False
            path.unlink()
            sync(self._directory)
        return True

    def __iter__(self) -> Iterator[Uri]:
        """Iterates over the versions that have keys."""
        for path in sorted(self._directory.glob("*.json")):
            yield parse_cid(path.stem)

    def destroy_all(self, uris: Collection[Uri]) -> tuple[Uri, ...]:
        """Removes the keys of versions; returns the versions that had any."""
        return tuple(uri for uri in uris if self.destroy(uri))

    def _context(self, uri: Uri, account: Address) -> bytes:
        """Context of a key wrapped for an auditor: chain, contract, version and auditor."""
        place = (self._archive.chain_id, self._archive.address)
        return words(DST_AUDITOR, *place, uri.digest, int(uri.codec), account)

    def _read(self, uri: Uri) -> dict[str, bytes]:
        path = self._path(uri)
        try:
            document = parse_json(path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT:
                raise ValueError(f"format {document['format']!r}")
            return {str(account): bytes.fromhex(wrapped) for account, wrapped in document["keys"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
            raise FormatError(
                f"{path} holds no auditors' keys ({error}): restore it from a backup."
            ) from None

    def _write(self, uri: Uri, wrapped: Mapping[str, bytes]) -> None:
        if not wrapped:
            self.destroy(uri)
            return
        keys = {account: box.hex() for account, box in wrapped.items()}
        text = json.dumps({"format": FORMAT, "keys": keys}, sort_keys=True)
        with readable_errors(self._directory):
            self._directory.mkdir(mode=0o700, exist_ok=True)
            replace(self._path(uri), (text.encode(), b"\n"))

    def _path(self, uri: Uri) -> Path:
        return self._directory / f"{cid_string(uri)}.json"
