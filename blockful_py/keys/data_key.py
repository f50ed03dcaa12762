# SPDX-License-Identifier: Apache-2.0
"""Files with one data key, for checking a proof on another machine."""

from __future__ import annotations

from pathlib import Path

from blockful_py.crypto.envelope import KEY_BYTES
from blockful_py.errors import SettingsError
from blockful_py.whole_file import write_secret


def write_data_key(path: Path, key: bytes) -> None:
    """Writes a new file that only its owner can read.  Raises SettingsError if that fails."""
    write_secret(path, key.hex() + "\n", SettingsError)


def read_data_key(path: Path) -> bytes:
    """Reads a data key.  Raises SettingsError for other content."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        raise SettingsError(f"the data key {path} cannot be read: {error.strerror}.") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise SettingsError(
            f"{path} is not a data key of {KEY_BYTES} bytes in hex, as `blockful read --data-key` writes it."
        )
    return key
