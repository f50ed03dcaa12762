# SPDX-License-Identifier: Apache-2.0
"""Pushes the blocks of files to members, which cannot fetch them from a machine without a public address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockful_py.committee import codec
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MAX_NAMES
from blockful_py.committee.service.member_client import IndexedClient, MemberClient
from blockful_py.committee.service.messages import BlockNames, Empty
from blockful_py.errors import QuorumError
from blockful_py.storage import car
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import CHUNK_SIZE, blocks_of
from blockful_py.types import Uri

NO_SUBJECT = bytes(32)
MESSAGE_BYTES = CHUNK_SIZE + 2**16
"""Maximum bytes of blocks in one message, unless it has a single block.

Fits a leaf and some small blocks, which a slow line sends in time.
"""


def push(
    files: Sequence[Uri], source: ContentStore, members: Sequence[IndexedClient], epoch: int, quorum: int
) -> tuple[int, ...]:
    """Pushes the blocks of `files` to all members at once, each only the blocks that it lacks.

    Returns the indices of the members with all blocks, once a quorum has them and the others had time as well
    (`polling.at_once`).  Raises QuorumError unless a quorum takes them, StorageError when `source` lacks one.
    """
    blocks = tuple(dict.fromkeys(uri for file in files for uri in blocks_of(file, source.block)))

    def send(member: IndexedClient) -> None:
        client = member.client
        for start in range(0, len(blocks), MAX_NAMES):
            names = blocks[start : start + MAX_NAMES]
            for body in _cars(_missing(client, epoch, names), source):
                answer = client.ask(MessageKind.KEEP_BLOCKS, epoch, NO_SUBJECT, body)
                codec.decode(Empty, answer.message.body)

    answers = at_once(members, send, quorum)
    failed = {index: str(each.reason) for index, each in answers.items() if isinstance(each, Refusal)}
    taken = tuple(index for index in answers if index not in failed)
    if len(taken) < quorum:
        reasons = "; ".join(f"member {index}: {reason}" for index, reason in failed.items())
        raise QuorumError(
            f"{len(taken)} of {len(members)} members took the blocks, {quorum} are needed; blocks that "
            f"arrived are not sent again. {reasons}"
        )
    return taken


def _missing(client: MemberClient, epoch: int, names: tuple[Uri, ...]) -> list[Uri]:
    answer = client.ask(MessageKind.HAS_BLOCKS, epoch, NO_SUBJECT, BlockNames(names))
    had = frozenset(codec.decode(BlockNames, answer.message.body).blocks)
    return [uri for uri in names if uri not in had]


def _cars(blocks: Sequence[Uri], source: ContentStore) -> Iterator[bytes]:
    """CARs of the blocks, of about MESSAGE_BYTES each."""
    batch, size = list[car.Block](), 0
    for uri in blocks:
        block = source.block(uri)
        if batch and size + len(block) > MESSAGE_BYTES:
            yield _car(batch)
            batch, size = [], 0
        batch.append((uri, block))
        size += len(block)
    if batch:
        yield _car(batch)


def _car(blocks: Sequence[car.Block]) -> bytes:
    return b"".join(car.write(blocks[0][0], blocks))
