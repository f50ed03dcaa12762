# SPDX-License-Identifier: Apache-2.0
"""The statement of an erasure, which members sign after they check it against the chains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blockful_py.crypto import eip712
from blockful_py.crypto.keccak import keccak


@dataclass(frozen=True, slots=True)
class ErasureStatement:
    """keccak256 of a statement's bytes, signed by members of the committee of `epoch`."""

    epoch: int = eip712.typed("uint64")
    statement: bytes = eip712.typed("bytes32")


@dataclass(frozen=True, slots=True)
class Endorsement:
    """Signatures (64 bytes, of `erasure_digest`), keyed by 1-based index of the members of an epoch."""

    epoch: int
    votes: Mapping[int, bytes]


def erasure_digest(domain: eip712.Domain, epoch: int, statement: bytes) -> bytes:
    """The digest that a member signs; `domain` is the domain of votes, `statement` any bytes."""
    return eip712.digest(domain, ErasureStatement(epoch, keccak(statement)))
