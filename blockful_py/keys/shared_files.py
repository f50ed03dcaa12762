# SPDX-License-Identifier: Apache-2.0
"""Files of an owner's shared part: one by which members check it, and two of shares for each class.

Each is a safetensors file of bytes, uint8, which its owner seals under a data key of its own:

    proof             PROOF: the dealing's proof; "1" to "n": to each member, sealed, its other shares
    a class's sums    "1" to "n": to each member, sealed, its shares (k, E)
    ... and samples   "1" to "n": to each member, sealed, its shares (k, n F) of features and rows

So a member needs its own key and the file's to read a share.  Once the keys of a class's files are destroyed,
its shares cannot be read any more, and the others still can.  A member whose shares are wrong shows them to
the others, who have the file's key (`crypto.provable_box`): `PartComplaint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from blockful_py.crypto import provable_box
from blockful_py.crypto.provable_box import BoxProof
from blockful_py.crypto.sharing.dealing import Dealing, DealingProof, DealtShares
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Array, Residues, fingerprint
from blockful_py.errors import CheaterError, CryptoError, FormatError, MessageError
from blockful_py.learning.shared_parts import (
    BITS,
    ROWS,
    SAMPLES,
    SUMS,
    SumOverSamples,
    numbers_of,
    part_dealing,
)
from blockful_py.types import Point, Rng

PROOF = "proof"

FIELD = Residues(11)
"""In which parts are dealt: enough for the head of any factors of the graph up to 2^40."""


def threshold_of(members: int) -> int:
    """t, the most for which `members` is at least 3t - 2."""
    return (members + 2) // 3


@dataclass(frozen=True)
class ShareFile:
    """A class's file of shares (k, size) for each member; `what` binds its boxes."""

    what: str
    size: int


def share_files(counts: Mapping[int, int], features: int) -> list[ShareFile]:
    """Files of a part with so many samples by class: each class's sums, then each class's samples (n, F)."""
    labels, entries = sorted(counts), features * (features + 1) // 2
    return [
        *(ShareFile(str(label), entries) for label in labels),
        *(ShareFile(f"samples {label}", counts[label] * features) for label in labels),
    ]


@dataclass(frozen=True)
class PartFiles:
    """The files of a part, to be sealed, and the number of samples by class; `files` as in `share_files`."""

    counts: Mapping[int, int]
    proof: bytes
    files: Sequence[bytes]


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
    rows: NDArray[np.int64],
    members: Sequence[Point],
    rng: Rng,
) -> PartFiles:
    """Deals an owner's part of n samples to members 1 to n by their keys.

    Args:
        features: whole numbers from 0 to 255, the last one 255, (n, F).
        labels: (n,).
        rows: of the samples in their owner's data, (n,).

    Raises LearningError as `part_of`.
    """
    there, of_class = np.unique(labels, return_inverse=True)
    numbers, statement = numbers_of(features, of_class.astype(np.int64), rows, len(there), FIELD)
    counts = dict(zip(map(int, there), statement.counts, strict=True))
    proof, shares = place.rules(statement.counts, len(members)).deal(place.user, numbers, rng)
    listed = share_files(counts, place.features)
    checked, boxes = {PROOF: encoded(proof)}, {each: dict[str, bytes]() for each in listed}
    for j, key in enumerate(members, start=1):
        for each, share in zip(listed, _split(shares[j].numbers, statement), strict=True):
            boxes[each][str(j)] = provable_box.seal(key, place.box_context(each.what), encoded(share))
        rest = replace(shares[j], numbers=(_NOTHING, _NOTHING, shares[j].numbers[BITS], _NOTHING))
        checked[str(j)] = provable_box.seal(key, place.box_context(PROOF), encoded(rest))
    return PartFiles(counts, _file(checked), [_file(boxes[each]) for each in listed])


def _split(numbers: Sequence[Array], statement: SumOverSamples) -> list[Array]:
    """A member's shares by file, of its shares by kind."""
    samples = np.concatenate(
        [numbers[SAMPLES].reshape(FIELD.count, -1, statement.features - 1), numbers[ROWS][..., None]], 2
    )
    by_class = np.split(samples, np.cumsum(statement.counts)[:-1], 1)
    sums = np.split(numbers[SUMS], len(statement.counts), 1)
    return [*sums, *(each.reshape(FIELD.count, -1) for each in by_class)]


def _joined(shares: Sequence[Array], bits: Array, features: int) -> tuple[Array, ...]:
    """The inverse of `_split`."""
    classes = len(shares) // 2
    samples = np.concatenate(shares[classes:], 1).reshape(FIELD.count, -1, features)
    return (
        np.concatenate(shares[:classes], 1),
        samples[..., :-1].reshape(FIELD.count, -1),
        bits,
        samples[..., -1],
    )


@dataclass(frozen=True, slots=True)
class PartComplaint:
    """A member's complaint of the shares dealt to it.

    Attributes:
        boxes: proofs of the content of its boxes, in PROOF and then in `share_files`; none if a box is
            missing or not its sender's, which everybody sees.
    """

    boxes: tuple[BoxProof, ...]


@dataclass(frozen=True)
class DealtPart:
    """The decrypted files of a part, which all members read alike.

    Attributes:
        counts: samples by class, as its owner states them.
        files: as in `share_files`.
        members: keys of the members that it was dealt to.
    """

    place: SharedPlace
    counts: Mapping[int, int]
    proof: bytes
    files: Sequence[bytes]
    members: Sequence[Point]

    def complaint(self, member: int, secret: int) -> PartComplaint | None:
        """The complaint of a member that cannot use its shares; None if they fit."""
        boxes = self._boxes(member)
        if boxes is None:
            return PartComplaint(())
        if self._fit(member, [_plain_or_none(secret, *each) for each in boxes]):
            return None
        return PartComplaint(tuple(provable_box.prove(secret, *each) for each in boxes))

    def is_right(self, member: int, complaint: PartComplaint) -> bool:
        """Whether a member complains of its owner with reason: otherwise the member lies."""
        boxes = self._boxes(member)
        if boxes is None:
            return True
        key = self.members[member - 1]
        if len(complaint.boxes) != len(boxes) or not all(
            provable_box.is_proof(key, *each, proof)
            for each, proof in zip(boxes, complaint.boxes, strict=True)
        ):
            return False
        shown = [
            _proven_or_none(key, *each, proof) for each, proof in zip(boxes, complaint.boxes, strict=True)
        ]
        return not self._fit(member, shown)

    def dealing_proof(self) -> DealingProof:
        """The dealing's proof.  Raises FormatError or MessageError."""
        proof = decoded(_bytes(self.proof, PROOF))
        if not isinstance(proof, DealingProof):
            raise FormatError("a file of a part has no proof.")
        return proof

    def _boxes(self, member: int) -> list[tuple[bytes, bytes]] | None:
        """Contexts and boxes to a member; None if one is missing, or not signed for its place."""
        contexts = (PROOF, *(each.what for each in self._listed))
        files = zip(contexts, (self.proof, *self.files), strict=True)
        key = self.members[member - 1]
        try:
            found = [(self.place.box_context(what), _bytes(file, str(member))) for what, file in files]
        except FormatError:
            return None
        return found if all(provable_box.is_signed(key, *each) for each in found) else None

    def _fit(self, member: int, shown: Sequence[bytes | None]) -> bool:
        """Whether a member's opened boxes hold shares of a part that is a sum over so many samples."""
        rules = self.place.rules([each for _, each in sorted(self.counts.items())], len(self.members))
        try:
            proof = self.dealing_proof()
            rest, *others = [decoded(each or b"") for each in shown]
            if not isinstance(rest, DealtShares):
                return False
            shares = [_share(file, each) for file, each in zip(self._listed, others, strict=True)]
            numbers = _joined(shares, rest.numbers[BITS], self.place.features)
            own = replace(rest, numbers=numbers)
            return not rules.complaints(member, {self.place.user: proof}, {self.place.user: own})
        except (MessageError, FormatError, CheaterError, IndexError):
            return False

    @property
    def _listed(self) -> list[ShareFile]:
        return share_files(self.counts, self.place.features)


def share_in(place: SharedPlace, file: ShareFile, content: bytes, member: int, secret: int) -> Array:
    """A member's share (k, size) in a file.  Raises FormatError, CryptoError or MessageError."""
    box = _bytes(content, str(member))
    return _share(file, decoded(provable_box.unseal(secret, place.box_context(file.what), box)))


def _share(file: ShareFile, found: object) -> Array:
    shape = (FIELD.count, file.size)
    if not isinstance(found, np.ndarray) or found.shape != shape or not (found < FIELD.primes(2)).all():
        raise FormatError(f"the share of {file.what} is of another shape.")
    return found


def _plain_or_none(secret: int, context: bytes, box: bytes) -> bytes | None:
    try:
        return provable_box.unseal(secret, context, box)
    except CryptoError:
        return None


def _proven_or_none(key: Point, context: bytes, box: bytes, proof: BoxProof) -> bytes | None:
    try:
        return provable_box.unseal_proven(key, context, box, proof)
    except CryptoError:
        return None


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
