# SPDX-License-Identifier: Apache-2.0
"""Files that show a training to one auditor: a data key wrapped to it, then the tensors sealed under it.

The content is padded, so that its size tells little of the number of samples, and the file is never a single
block, which would be taken for a part (`record.commitments`).
"""

from __future__ import annotations

from io import BytesIO

from blockful_py.crypto import envelope
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import words
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, FormatError
from blockful_py.learning.weights import Weights, from_bytes, to_bytes
from blockful_py.types import Address, Bytes32, Point

STEP = 2 * envelope.SEGMENT
"""The content's size is a multiple of it, in bytes."""
MAX_SHOWN_BYTES = envelope.MAX_SEALED_BYTES
DST_SHOWN = tag("shown training")
_LENGTH = 8


def context_of(chain_id: int, contract: Address, commitment: Bytes32, auditor: Address) -> bytes:
    """Context of the wrapped key: LiveChain contract, commitment and auditor."""
    return words(DST_SHOWN, chain_id, contract, commitment, auditor)


def seal_for(auditor: Point, tensors: Weights, context: bytes) -> bytes:
    """The file that only the holder of the secret of `auditor` can read.

    Raises InvalidKeyError if `auditor` is not on the curve.
    """
    plain, key = to_bytes(tensors), system_rng(envelope.KEY_BYTES)
    content = len(plain).to_bytes(_LENGTH, "big") + plain
    content += bytes(-len(content) % STEP)
    return envelope.wrap(key, auditor, context) + b"".join(envelope.seal(key, BytesIO(content)))


def read_shown(data: bytes, secret: int, context: bytes) -> Weights:
    """The tensors of a file that was sealed for the holder of `secret`.  Raises FormatError."""
    wrapped, sealed = data[: envelope.WRAPPED_BYTES], data[envelope.WRAPPED_BYTES :]
    try:
        key = envelope.unwrap(wrapped, secret, context)
        content = b"".join(envelope.unseal(key, (sealed,)))
    except CryptoError as error:
        raise FormatError(f"the file that shows a training cannot be decrypted: {error}") from None
    length = int.from_bytes(content[:_LENGTH], "big")
    if length > len(content) - _LENGTH:
        raise FormatError("the file that shows a training is shorter than it says.")
    return from_bytes(content[_LENGTH : _LENGTH + length])
