# SPDX-License-Identifier: Apache-2.0
"""Files of an owner's shared part: one by which members check it, and one of shares for each class.

Each is a safetensors file of bytes, uint8, which its owner seals under a data key of its own:

    proof       PROOF: the dealing's proof; "1" to "n": to each member, sealed, its other shares
    a class's   "1" to "n": to each member, sealed, its shares (k, E) of the class's sums

So a member needs its own key and the file's to read a share.  Once the key of a class's file is destroyed,
its shares cannot be read any more, and the others still can.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from blockful_py.crypto import ecies
from blockful_py.crypto.sharing.dealing import Dealing, DealingProof, DealtShares
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.errors import FormatError
from blockful_py.learning.shared_parts import SumOverSamples, numbers_of, part_dealing
from blockful_py.types import Point, Rng

PROOF = "proof"

FIELD = Residues(11)
"""In which parts are dealt: enough for the head of any factors of the graph up to 2^40."""


def threshold_of(members: int) -> int:
    """t, the most for which `members` is at least 3t - 2."""
    return (members + 2) // 3


@dataclass(frozen=True)
class PartFiles:
    """The files of a part, to be sealed; samples and files by class."""

    samples: Mapping[int, int]
    proof: bytes
    classes: Mapping[int, bytes]


@dataclass(frozen=True)
class SharedPlace:
    """Where a part belongs: the federation's context, the model, its owner and F features."""

    context: bytes
    name: str
    user: int
    features: int

    def rules(self, samples: Sequence[int], members: int) -> Dealing:
        """The rules by which the part is dealt, of so many samples by class, all above 0."""
        any_one = Shareholder(1, threshold_of(members), members, FIELD, self.context, _unused)
        return part_dealing(any_one, self.name, SumOverSamples(tuple(samples), self.features))

    def box_context(self, what: str) -> bytes:
        return fingerprint(self.context, b"box", self.name.encode(), what.encode())


def deal_files(
    place: SharedPlace,
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    members: Sequence[Point],
    rng: Rng,
) -> PartFiles:
    """Deals an owner's part of n samples to members 1 to n by their keys.

    Args:
        features: whole numbers from 0 to 255, the last one 255, (n, F).
        labels: (n,).

    Raises LearningError as `part_of`.
    """
    there, of_class = np.unique(labels, return_inverse=True)
    numbers, statement = numbers_of(features, of_class.astype(np.int64), len(there), FIELD)
    proof, shares = place.rules(statement.counts, len(members)).deal(place.user, numbers, rng)
    checked, by_class = {PROOF: encoded(proof)}, [dict[str, bytes]() for _ in there]
    for j, key in enumerate(members, start=1):
        part, *others = shares[j].numbers
        for i, each in enumerate(part.reshape(FIELD.count, len(there), -1).transpose(1, 0, 2)):
            box = ecies.seal(key, place.box_context(str(there[i])), encoded(each))
            by_class[i][str(j)] = box
        rest = replace(shares[j], numbers=(_NOTHING, *others))
        checked[str(j)] = ecies.seal(key, place.box_context(PROOF), encoded(rest))
    labelled = [int(label) for label in there]
    return PartFiles(
        dict(zip(labelled, statement.counts, strict=True)),
        _file(checked),
        dict(zip(labelled, map(_file, by_class), strict=True)),
    )


def share_in(place: SharedPlace, label: int, file: bytes, member: int, secret: int) -> Array:
    """A member's share (k, E) of a class's sums.  Raises FormatError, CryptoError or MessageError."""
    found = decoded(ecies.unseal(secret, place.box_context(str(label)), _bytes(file, str(member))))
    shape = (FIELD.count, place.features * (place.features + 1) // 2)
    if not isinstance(found, np.ndarray) or found.shape != shape or not (found < FIELD.primes(2)).all():
        raise FormatError(f"the share of class {label} of {place.name} is of another shape.")
    return found


def proof_in(place: SharedPlace, file: bytes, member: int, secret: int) -> tuple[DealingProof, DealtShares]:
    """The dealing's proof, and the member's shares of features, bits and masks.

    Raises FormatError, CryptoError or MessageError.
    """
    proof = decoded(_bytes(file, PROOF))
    rest = decoded(ecies.unseal(secret, place.box_context(PROOF), _bytes(file, str(member))))
    if not isinstance(proof, DealingProof) or not isinstance(rest, DealtShares):
        raise FormatError(f"the proof of the part of {place.name} is malformed.")
    return proof, rest


def is_dealt_well(
    place: SharedPlace,
    samples: Mapping[int, int],
    member: int,
    members: int,
    shares: Mapping[int, Array],
    proved: tuple[DealingProof, DealtShares],
) -> bool:
    """Whether a member's shares by class are of a part that is a sum over so many samples by class."""
    labels = sorted(samples)
    rules = place.rules([samples[label] for label in labels], members)
    proof, rest = proved
    part = np.stack([shares[label] for label in labels], 1).reshape(FIELD.count, -1)
    own = replace(rest, numbers=(part, *rest.numbers[1:]))
    return not rules.complaints(member, {place.user: proof}, {place.user: own})


_NOTHING = np.zeros((1, 1), np.int64)


def _unused(size: int) -> bytes:
    raise AssertionError("the rules of a dealing draw nothing")


def _file(parts: Mapping[str, bytes]) -> bytes:
    return save({name: np.frombuffer(each, np.uint8) for name, each in parts.items()})


def _bytes(file: bytes, name: str) -> bytes:
    try:
        array = load(file).get(name)
    except (SafetensorError, ValueError) as error:
        raise FormatError(f"a file of shares is no safetensors file: {error}.") from None
    if array is None or array.dtype != np.uint8 or array.ndim != 1:
        raise FormatError(f"a file of shares has no bytes {name!r}.")
    return bytes(array)
