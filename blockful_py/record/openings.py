# SPDX-License-Identifier: Apache-2.0
"""Openings in force: the first one follows from the content, later ones come from events."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from blockful_py.crypto import chameleon, payload
from blockful_py.types import Address, Header, ModelTransaction, Opening, Point, Position


class ContractId(Protocol):
    """Identity of a contract of either chain."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address:
        """Its address, 20 bytes."""


def model_digests(live: ContractId, transaction: ModelTransaction) -> tuple[bytes, bytes]:
    """Label and message of a model's chameleon hash."""
    references = payload.references_hash(transaction.references)
    content = payload.transaction_payload(transaction.uri, transaction.owner, references)
    return _digests(live, transaction.position, transaction.version, content)


def header_digests(live: ContractId, header: Header) -> tuple[bytes, bytes]:
    """Label and message of a header's chameleon hash."""
    content = payload.header_payload(
        header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
    )
    return _digests(live, Position.of_header(header.height), header.version, content)


def opens(key: Point, digests: tuple[bytes, bytes], version: int, h: int, opening: Opening | None) -> bool:
    """Whether h has this opening, or its first one where version 0 comes without."""
    if opening is None:
        return version == 0 and chameleon.first_opening(key, *digests, h) is not None
    return chameleon.verify(key, *digests, h, opening)


def opened_model(live: ContractId, key: Point, transaction: ModelTransaction) -> ModelTransaction:
    """The model with its opening; without one if its event is missing, or its hash is of other content."""
    if transaction.version or transaction.opening is not None:
        return transaction
    digests = model_digests(live, transaction)
    return replace(transaction, opening=chameleon.first_opening(key, *digests, transaction.ch))


def opened_header(live: ContractId, key: Point, header: Header) -> Header:
    """The header with its opening, as `opened_model`."""
    if header.version or header.opening is not None:
        return header
    return replace(header, opening=chameleon.first_opening(key, *header_digests(live, header), header.ch))


def _digests(live: ContractId, place: Position, version: int, content: bytes) -> tuple[bytes, bytes]:
    label = chameleon.label(live.chain_id, live.address, place.packed)
    return label, chameleon.message(version, content)
