# SPDX-License-Identifier: Apache-2.0
"""The file from which a later verification continues: the state of both chains, already verified.

For each chain it has a settled block and its hash, which covers all earlier blocks; for the archive, its
length and head; for each header and model on the live chain, its version and a digest of all data that the
contract stores for it.  A verification trusts the file: keep it where only you can write.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from blockful_py.errors import FormatError, RunError
from blockful_py.record.chain_view import ChainView
from blockful_py.record.events import Begun, KnownBlock
from blockful_py.record.fields import (
    Address,
    ChainId,
    Cid,
    Hash,
    Part,
    Place,
    Seconds,
    Small,
    octets,
    of_octets,
    parsed,
    position,
    spelt,
)
from blockful_py.record.known import Known, digest
from blockful_py.record.openings import ContractId
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Position
from blockful_py.whole_file import write_whole

MAX_BYTES = 1 << 30
"""Maximum size of a checkpoint in bytes, of which a model takes some 250."""
WHAT = "checkpoint of a verification"


class KeptBlock(Part):
    """A settled block of a chain, the contract read there, and the number of its events up to then."""

    chain_id: ChainId
    contract: Address
    block: Seconds
    hash: Hash
    events: Seconds


class KeptHeader(Part):
    """A block of the live chain: its header's version, its models, its hash, and a digest of the header."""

    version: Small
    count: Small
    hash: Hash
    digest: Hash


class KeptModel(Part):
    """A verified model; `digest` is its transaction's."""

    version: Small
    uri: Cid
    digest: Hash


class Checkpoint(Part):
    """The file's content."""

    format: Literal["blockful-checkpoint/2"]
    live: KeptBlock
    archive: KeptBlock
    length: Seconds
    head: Hash
    headers: list[KeptHeader]
    models: dict[Place, KeptModel]

    def begun(self) -> Begun:
        """The state of both chains, from which a comparison of later events starts."""
        blocks = tuple(KnownBlock(each.version, each.count, octets(each.hash)) for each in self.headers)
        models = {position(place): (each.version, parse_cid(each.uri)) for place, each in self.models.items()}
        return Begun(blocks, models, self.length, octets(self.head))

    def known(self) -> Known:
        """Digests of the parts that need no check while they are unchanged."""
        models = {position(place): octets(each.digest) for place, each in self.models.items()}
        return Known(models, tuple(octets(each.digest) for each in self.headers))


def taken(view: ChainView, live: KeptBlock, archive: KeptBlock, length: int, head: bytes) -> Checkpoint:
    """The checkpoint of a live chain that was verified through `view`."""
    height = view.live.height()
    headers, models = [], {}
    for number in range(1, height + 1):
        header = view.header(number)
        block_hash = of_octets(view.block_hash(number))
        headers.append(
            KeptHeader(
                version=header.version,
                count=header.tx_count,
                hash=block_hash,
                digest=of_octets(digest(header)),
            )
        )
        for each in view.block(number):
            models[str(each.position)] = KeptModel(
                version=each.version, uri=cid_string(each.uri), digest=of_octets(digest(each))
            )
    return Checkpoint(
        format="blockful-checkpoint/2",
        live=live,
        archive=archive,
        length=length,
        head=of_octets(head),
        headers=headers,
        models=models,
    )


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Writes the file.  Raises RunError, and leaves it unchanged, when it cannot be written."""
    write_whole(path, spelt(checkpoint))


def read_checkpoint(path: Path, live: ContractId, archive: ContractId) -> Checkpoint:
    """Reads a checkpoint of these contracts from a file.

    Raises RunError when it cannot be read or is of other contracts, FormatError when it is damaged or
    contradicts itself.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RunError(
            f"the checkpoint {path} cannot be read: {error.strerror}; `blockful verify --checkpoint {path}` "
            "makes one."
        ) from None
    found = parsed(Checkpoint, data, WHAT, MAX_BYTES)
    _require_whole(path, found)
    for name, kept, contract in (("live", found.live, live), ("archive", found.archive, archive)):
        if (kept.chain_id, octets(kept.contract)) != (contract.chain_id, contract.address):
            raise RunError(
                f"{path} is of the {name} contract {kept.contract} on chain {kept.chain_id}, this run has "
                f"0x{contract.address.hex()} on chain {contract.chain_id}: use a checkpoint of this run, or "
                "verify the whole chain."
            )
    return found


def _require_whole(path: Path, found: Checkpoint) -> None:
    """Checks that the models are exactly the ones that the headers count.  Raises FormatError if not."""
    places = {str(place) for place in _places(found.headers)}
    if places != found.models.keys():
        (first, *_) = sorted(places ^ found.models.keys())
        raise FormatError(
            f"{path} contradicts itself: its headers and its models differ at {first}. Use it as it was "
            "written, or verify the whole chain."
        )


def _places(headers: Sequence[KeptHeader]) -> list[Position]:
    counted = enumerate((each.count for each in headers), start=1)
    return [Position(height, index) for height, count in counted for index in range(count)]
