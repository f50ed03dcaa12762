# SPDX-License-Identifier: Apache-2.0
"""A JSON document in a participant's folder that only the folder's keys open.

file = AES-256-GCM(HKDF-SHA256(encryption secret, DST_DOCUMENT), plain = JSON, associated data = file's name)
"""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from blockful_py.crypto import secretbox
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.secret_file import read_own
from blockful_py.errors import CryptoError, KeystoreError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.record.fields import Part, first_error
from blockful_py.whole_file import OWN, write_whole

DST_DOCUMENT = tag("document")

Document = TypeVar("Document", bound=Part)


class LockedDocument(Generic[Document]):
    """The document of one kind at a path; readable and writable by the file's user alone."""

    def __init__(self, path: Path, kind: type[Document], keys: ReaderKeys, limit: int) -> None:
        """Opens nothing yet.  `limit`: maximum size in bytes."""
        self._path = path
        self._kind = kind
        self._key = secretbox.derive(keys.encryption_secret, DST_DOCUMENT)
        self._limit = limit

    def read(self) -> Document | None:
        """The document; None without a file.

        Raises KeystoreError if the file is damaged or too large, or was written by another folder's keys.
        """
        if not self._path.exists():
            return None
        box = read_own(self._path, self._limit + secretbox.OVERHEAD, "restore it from a backup.")
        if len(box) > self._limit + secretbox.OVERHEAD:
            raise KeystoreError(f"{self._path} has more than {self._limit} bytes: restore it from a backup.")
        try:
            return self._kind.model_validate_json(secretbox.unlock(self._key, self._context, box))
        except CryptoError:
            raise KeystoreError(
                f"{self._path} is damaged, or was written with the keys of another folder: restore it from a "
                "backup of this one."
            ) from None
        except ValidationError as error:
            raise KeystoreError(
                f"{self._path} has another format ({first_error(error)}): use the version that wrote it."
            ) from None

    def write(self, document: Document) -> None:
        """Replaces the file.  Raises KeystoreError if it cannot be written, or the document is too large."""
        plain = document.model_dump_json().encode()
        if len(plain) > self._limit:
            raise KeystoreError(
                f"{self._path} would have {len(plain):,} bytes, at most {self._limit:,} are read."
            )
        write_whole(self._path, secretbox.lock(self._key, self._context, plain), KeystoreError, mode=OWN)

    @property
    def _context(self) -> bytes:
        return self._path.name.encode()
