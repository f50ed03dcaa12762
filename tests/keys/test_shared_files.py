# SPDX-License-Identifier: Apache-2.0
"""A member's complaint of dealt shares names its owner or the member, the same to everybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

from blockful_py.crypto import curve, provable_box
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.keys.shared_files import PROOF, DealtPart, PartComplaint, SharedPlace, deal_files

SECRETS = [1001, 1002, 1003, 1004]
KEYS = [curve.multiply_base(each) for each in SECRETS]
PLACE = SharedPlace(b"federation", "a", 1, 3)
ACCUSER = 2
Files = dict[str, dict[str, bytes]]


def dealt(seed: int = 0) -> DealtPart:
    rng = np.random.default_rng(seed)
    features = np.concatenate([rng.integers(0, 256, (6, 2)), np.full((6, 1), 255)], 1).astype(np.float64)
    labels, rows = np.array([0, 0, 4, 4, 4, 0]), np.array([1, 2, 5, 7, 8, 9])
    files = deal_files(PLACE, features, labels, rows, KEYS, SeededRng(b"owner", seed))
    return DealtPart(PLACE, files.counts, files.proof, files.files, KEYS)


DEALT = dealt()
WHAT = ("0", "4", "samples 0", "samples 4")


def spoilt(change: Callable[[Files], None]) -> DealtPart:
    """The part with changed files."""
    files = dict(zip((PROOF, *WHAT), (DEALT.proof, *DEALT.files), strict=True))
    opened = {what: {name: bytes(part) for name, part in load(each).items()} for what, each in files.items()}
    change(opened)
    shut = {
        what: save({name: np.frombuffer(part, np.uint8) for name, part in each.items()})
        for what, each in opened.items()
    }
    return replace(DEALT, proof=shut[PROOF], files=[shut[what] for what in WHAT])


def other_numbers(files: Files) -> None:
    box = files["4"][str(ACCUSER)]
    share = decoded(provable_box.unseal(SECRETS[ACCUSER - 1], PLACE.box_context("4"), box))
    share[0, 0] ^= 1
    files["4"][str(ACCUSER)] = provable_box.seal(KEYS[ACCUSER - 1], PLACE.box_context("4"), encoded(share))


def other_row(files: Files) -> None:
    box, context = files["samples 4"][str(ACCUSER)], PLACE.box_context("samples 4")
    share = decoded(provable_box.unseal(SECRETS[ACCUSER - 1], context, box))
    share[0, -1] ^= 1
    files["samples 4"][str(ACCUSER)] = provable_box.seal(KEYS[ACCUSER - 1], context, encoded(share))


def samples_of_another_class(files: Files) -> None:
    files["samples 4"][str(ACCUSER)] = files["samples 0"][str(ACCUSER)]


def no_message(files: Files) -> None:
    files["0"][str(ACCUSER)] = provable_box.seal(KEYS[ACCUSER - 1], PLACE.box_context("0"), b"?")


def no_shares(files: Files) -> None:
    box = provable_box.seal(KEYS[ACCUSER - 1], PLACE.box_context(PROOF), encoded((1, 2)))
    files[PROOF][str(ACCUSER)] = box


def no_box(files: Files) -> None:
    del files["4"][str(ACCUSER)]


def box_of_another_class(files: Files) -> None:
    files["4"][str(ACCUSER)] = files["0"][str(ACCUSER)]


def box_of_another_member(files: Files) -> None:
    files["4"][str(ACCUSER)] = files["4"]["3"]


@pytest.mark.parametrize(
    "lie",
    [
        other_numbers,
        other_row,
        samples_of_another_class,
        no_message,
        no_shares,
        no_box,
        box_of_another_class,
        box_of_another_member,
    ],
)
def test_a_member_proves_that_its_owner_dealt_it_wrong_shares(lie: Callable[[Files], None]) -> None:
    part = spoilt(lie)
    complaint = part.complaint(ACCUSER, SECRETS[ACCUSER - 1])
    assert complaint is not None and part.is_right(ACCUSER, complaint)
    for j in (1, 3, 4):
        assert part.complaint(j, SECRETS[j - 1]) is None


def test_a_claim_of_more_samples_is_proven_too() -> None:
    part = replace(DEALT, counts={**DEALT.counts, 4: DEALT.counts[4] + 1})
    complaint = part.complaint(1, SECRETS[0])
    assert complaint is not None and part.is_right(1, complaint)


def boxes(part: DealtPart, member: int) -> PartComplaint:
    """A complaint with right proofs."""
    found = part._boxes(member)
    assert found is not None
    return PartComplaint(tuple(provable_box.prove(SECRETS[member - 1], *each) for each in found))


def test_a_complaint_of_right_shares_is_the_members_lie() -> None:
    assert all(DEALT.complaint(j, each) is None for j, each in enumerate(SECRETS, start=1))
    right = boxes(DEALT, ACCUSER)
    assert not DEALT.is_right(ACCUSER, right)
    assert not DEALT.is_right(ACCUSER, PartComplaint(()))
    assert not DEALT.is_right(ACCUSER, PartComplaint(right.boxes[:-1]))
    assert not DEALT.is_right(ACCUSER, PartComplaint(right.boxes[::-1]))


def test_a_complaint_is_no_ones_and_no_other_parts() -> None:
    """Proofs of another member, of another dealing, and of shares that were wrong there are lies here."""
    part = spoilt(other_numbers)
    proven = part.complaint(ACCUSER, SECRETS[ACCUSER - 1])
    assert proven is not None
    assert not part.is_right(3, proven)
    assert not DEALT.is_right(ACCUSER, proven)
    assert not DEALT.is_right(ACCUSER, boxes(dealt(1), ACCUSER))
    changed = replace(proven.boxes[1], point=proven.boxes[0].point)
    assert not part.is_right(ACCUSER, PartComplaint((proven.boxes[0], changed, *proven.boxes[2:])))


def test_a_complaint_shows_no_other_members_shares() -> None:
    shown = boxes(DEALT, ACCUSER)
    for place, proof in zip(DEALT._boxes(3) or [], shown.boxes, strict=True):
        assert not provable_box.is_proof(KEYS[2], *place, proof)
