# SPDX-License-Identifier: Apache-2.0
"""Public halves of group keys, stored in the run, by which the leader identifies cheaters."""

from __future__ import annotations

from pathlib import Path

from blockful_py.committee import codec
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.errors import MessageError, RunError
from blockful_py.types import Bytes32
from blockful_py.whole_file import write_whole


class GroupKeys:
    """A folder with one file per key.  The folder need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, key: CommitteeKey) -> None:
        write_whole(self._path(key.key_id), codec.encode(key), parents=True)

    def find(self, key_id: Bytes32) -> CommitteeKey | None:
        """The key, or None if it is not stored here.  Raises RunError when the file is damaged."""
        path = self._path(key_id)
        try:
            key = codec.decode(CommitteeKey, path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, MessageError) as error:
            raise RunError(f"{path} cannot be read ({error}); it was left as it is.") from None
        if key.key_id != key_id:
            raise RunError(f"{path} holds another key; it was left as it is.")
        return key

    def _path(self, key_id: Bytes32) -> Path:
        return self._folder / f"{key_id.hex()}.json"
