# SPDX-License-Identifier: Apache-2.0
"""Commitments to trainings among the hand-ins of requests.

A part is a model node, which is one raw block, since it has at most MAX_NODE_BYTES.  A commitment is the CID
of a dag-pb file.  So the chain alone tells them apart, whether or not anybody can read their files.  After
its commitment, an owner hands in the files that show the training to auditors, which are dag-pb files too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.waves import PartHandedIn
from blockful_py.storage.cid import uri_of
from blockful_py.storage.dag_pb import Link, encode
from blockful_py.types import Codec, Uri

Commitment = TypeVar("Commitment", bound=PartHandedIn)


def commitment_to(trace: bytes) -> Uri:
    """The CID that commits to a trace: of the dag-pb file whose only chunk it is."""
    chunk = Link(uri_of(trace, Codec.RAW), len(trace), len(trace))
    return uri_of(encode((chunk,)), Codec.DAG_PB)


def is_commitment(handed_in: PartHandedIn) -> bool:
    """Whether a hand-in is a commitment, and no part."""
    return handed_in.uri.codec is Codec.DAG_PB


def first_commitment(catalogue: Catalogue, name: str, handed_in: Iterable[Commitment]) -> Commitment | None:
    """The first commitment to the training of a model; None without one.

    Later ones are ignored: after the first, the owner knows which intervals it must disclose.  Only a
    replacement of the model or of a reference begins another training.  A newer part of a reference does not:
    its owner could otherwise give a forger any number of draws.

    `handed_in`: hand-ins by any account that may be about this training; within a block, in an order that all
    members share.
    """
    placed: PlacedNode = catalogue[name]
    since = max(catalogue[each].since for each in (name, *catalogue.graph.references(name)))
    by = (placed.position, placed.node.statement.owner)
    own = (
        each
        for each in handed_in
        if is_commitment(each) and (each.position, "0x" + each.by.hex()) == by and each.block_number > since
    )
    return min(own, key=lambda each: each.block_number, default=None)


@dataclass(frozen=True, slots=True)
class Turn:
    """An auditor's turn to replay a training.

    Attributes:
        auditor: its account, 20 bytes.
        since: block in which the owner handed in the first file for it.
        shown: the last file that the owner handed in during the turn.
    """

    auditor: bytes
    since: int
    shown: Uri


def turns_of(
    auditors: Sequence[bytes], committed: PartHandedIn, handed_in: Iterable[PartHandedIn], blocks: int
) -> tuple[Turn, ...]:
    """The turns that have begun.

    A turn begins once the owner shows the training and the turn before has lasted `blocks` blocks, so nobody
    can shorten an auditor's time.

    Args:
        auditors: in the order drawn.
        handed_in: hand-ins for the request of the commitment, oldest first.
    """
    turns: list[Turn] = []
    is_after = False
    for each in handed_in:
        is_own = (each.position, each.by) == (committed.position, committed.by)
        if is_after and is_own and is_commitment(each):
            if turns and each.block_number < turns[-1].since + blocks:
                turns[-1] = replace(turns[-1], shown=each.uri)
            elif len(turns) < len(auditors):
                turns.append(Turn(auditors[len(turns)], each.block_number, each.uri))
        is_after = is_after or each == committed
    return tuple(turns)


def turn_blocks(blocks: int, auditors: int) -> int:
    """Blocks of an auditor's turn: together, the auditors have half of an owner's time of `blocks` blocks."""
    return max(1, blocks // (2 * max(1, auditors)))
