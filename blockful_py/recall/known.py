# SPDX-License-Identifier: Apache-2.0
"""A loader's memory of versions from its last look at the chain, for times without network."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from blockful_py.errors import FormatError
from blockful_py.record.fields import Address, ChainId, Cid, Part, Place, Seconds, Small, parsed, spelt
from blockful_py.whole_file import write_whole

MAX_BYTES = 16 << 20
MAX_AHEAD = 300
"""Seconds by which a look may lie in the future, as clocks differ."""


class Seen(Part):
    """The version that stood at a look: the CID of its node, and the look's time in seconds."""

    version: Small
    node: Cid
    at: Seconds


class KnownVersions(Part):
    """The versions that stood at the last looks, by position.  Keep it where only the loader can write."""

    format: Literal["blockful-known-versions/1"] = "blockful-known-versions/1"
    chain_id: ChainId
    contract: Address
    seen: dict[Place, Seen]

    def with_seen(self, place: str, seen: Seen) -> KnownVersions:
        return self.model_copy(update={"seen": {**self.seen, place: seen}})

    def write(self, path: Path) -> None:
        """Replaces the file.  Raises RunError."""
        write_whole(path, spelt(self))


def read_known(path: Path | None, chain_id: int, contract: str) -> KnownVersions:
    """Reads the file; an absent one knows nothing.  Raises FormatError, also for another contract's."""
    empty = KnownVersions(chain_id=chain_id, contract=contract, seen={})
    if path is None:
        return empty
    try:
        with path.open("rb") as file:
            found = parsed(KnownVersions, file.read(MAX_BYTES + 1), "list of known versions", MAX_BYTES)
    except FileNotFoundError:
        return empty
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}.") from None
    if (found.chain_id, found.contract) != (chain_id, contract):
        raise FormatError(
            f"{path} is of contract {found.contract} on chain {found.chain_id}, the model is of {contract} "
            f"on chain {chain_id}: keep one file for each record."
        )
    return found
