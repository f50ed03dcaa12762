# SPDX-License-Identifier: Apache-2.0
"""An auditor's signed word on a training that it replayed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from blockful_py.crypto import eip712, signature
from blockful_py.crypto.eip712 import typed
from blockful_py.types import Address, Bytes32, Bytes64


class ReplayFinding(IntEnum):
    """The finding of an auditor."""

    SAME = 0
    """The whole training leads from its start to its result, bit for bit, without the data to forget."""
    DIFFERS = 1
    """It does not in one interval, which others need to see alone."""
    UNUSABLE = 2
    """Its owner showed nothing, or something other than it committed to."""


@dataclass(frozen=True, slots=True)
class ReplayWord:
    """The struct that an auditor signs.

    Attributes:
        request: identifier of the request (`record.request.request_key`).
        position: packed position of the model on the live chain.
        commitment: digest of the CID by which the owner committed to the training.
        interval: first interval that differs; 0 for other outcomes.
    """

    request: Bytes32 = typed("bytes32")
    position: int = typed("uint64")
    commitment: Bytes32 = typed("bytes32")
    outcome: ReplayFinding = typed("uint8")
    interval: int = typed("uint32")

    def signed(self, secret: int, domain: eip712.Domain) -> SignedWord:
        """The word with its auditor's signature; `domain` is the LiveChain contract's."""
        return SignedWord(self, signature.sign(secret, eip712.digest(domain, self)))


@dataclass(frozen=True, slots=True)
class SignedWord:
    """A word with its signature."""

    word: ReplayWord
    signature: Bytes64

    def auditor(self, domain: eip712.Domain) -> Address:
        """The account that signed it, 20 bytes.  Raises InvalidSignatureError or ValueError."""
        return signature.recover(eip712.digest(domain, self.word), self.signature)
