# SPDX-License-Identifier: Apache-2.0
"""Commitments to trainings among the hand-ins of requests.

A part is a model node, which is one raw block, since it has at most MAX_NODE_BYTES.  A commitment is the CID
of a dag-pb file.  So the chain alone tells them apart, whether or not anybody can read their files.
"""

from __future__ import annotations

from collections.abc import Iterable
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
