# SPDX-License-Identifier: Apache-2.0
"""No number of an owner's samples, features or sums is in anything that travels, in any encoding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from blockful_py.crypto import provable_box
from blockful_py.crypto.sharing import dealing
from blockful_py.crypto.sharing.residues import Array
from blockful_py.crypto.sharing.rounds import Sent
from blockful_py.keys.shared_files import FIELD
from blockful_py.learning.sums import part_of
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.jobs.shared import part_bytes
from blockful_py.pipeline.review.shared_heads import HeadOpener
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri
from tests.participant.capture import forms
from tests.pipeline.review.sharing_committee import CLASSES, Committee, require_head, rows, sharing_setup

WINDOW = 6
"""Numbers of a canary."""
TYPES = ("u1", "<i4", "<i8", "<f4", "<f8")


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return sharing_setup()


def canaries(setup: TrainingSetup) -> set[bytes]:
    """Neighbouring numbers of the first user's samples, features and sums, in binary and as text."""
    samples = setup.users[0].train
    features, labels = rows(setup, samples)
    sums = part_of(features, labels, CLASSES).astype(np.int64)
    found = set[bytes]()
    for numbers in (samples.x.flatten(1).numpy(), features[:, :-1], sums):
        for row in numbers[:5]:
            windows = np.lib.stride_tricks.sliding_window_view(row, WINDOW)
            (places,) = np.nonzero(np.count_nonzero(windows, 1) > 4)
            for start in places[:1]:
                found.update(_encodings(row[start : start + WINDOW]))
    return found


def _encodings(numbers: Any) -> Iterator[bytes]:
    whole = bool((numbers == np.round(numbers)).all())
    for kind in TYPES:
        if "f" in kind or (whole and numbers.max() <= np.iinfo(kind).max):
            yield from forms(numbers.astype(kind).tobytes())
    listed = [int(each) if whole else float(each) for each in numbers]
    for between in (", ", ",", " "):
        yield between.join(map(str, listed)).encode()


def travelled(setup: TrainingSetup, folder: Path) -> bytes:
    """All bytes between owner, store and members: of a publication, its handing on, and a row taken out."""
    committee = Committee(setup, folder)
    part = committee.part(setup.users[0].train)
    found = committee.open(part)
    require_head(found, setup, members=4)
    committee.current = part
    committee.rosters.append((1, 2, 3, 4))
    committee.hand_on(range(5))
    samples = setup.users[0].train
    rest = committee.part(samples.at(torch.arange(1, len(samples))), numbers=range(1, len(samples)))
    assert all(isinstance(each, list) for each in committee.open_current(range(1, 5), rest, {0}).values())
    sent = [bytes(member.got) for member in committee.members]
    assert all(map(len, sent[:5]))
    heads = [np.asarray(each).tobytes() for head in found.values() for each in head.values()]  # type: ignore[union-attr]
    return b"".join((part_bytes(part), *committee.files.values(), *sent, *heads))


def seen(data: bytes, wanted: set[bytes]) -> bool:
    return any(each in data for each in wanted)


def test_no_canary_is_on_any_wire(setup: TrainingSetup, tmp_path: Path) -> None:
    data, wanted = travelled(setup, tmp_path), canaries(setup)
    assert len(data) > 1 << 20 and len(wanted) > 200
    assert not seen(data, wanted)


def test_a_part_that_is_sent_in_the_clear_is_seen(
    setup: TrainingSetup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shares without polynomials, in boxes and files that hide nothing."""

    def constant(field: Any, secret: Array, degree: int, rng: Any) -> Array:
        return np.stack([secret, *(np.zeros_like(secret) for _ in range(degree))])

    monkeypatch.setattr(dealing, "polynomial", constant)
    monkeypatch.setattr(provable_box, "seal", lambda key, context, plain, rng=None: plain)
    files = list[bytes]()

    def put(self: Committee, content: bytes) -> Uri:
        files.append(content)
        return NOWHERE

    monkeypatch.setattr(Committee, "put", put)
    Committee(setup, tmp_path).part(setup.users[0].train)
    wanted = canaries(setup)
    assert seen(b"".join(files), wanted)


@pytest.mark.slow
def test_sums_that_a_member_sends_in_the_clear_are_seen(
    setup: TrainingSetup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, labels = rows(setup, setup.users[0].train)
    clear = FIELD.of(part_of(features, labels, CLASSES).astype(np.int64))
    honest = HeadOpener._protocol

    def telling(self: HeadOpener, *args: Any) -> Any:
        yield Sent(clear)
        return (yield from honest(self, *args))

    monkeypatch.setattr(HeadOpener, "_protocol", telling)
    assert seen(travelled(setup, tmp_path), canaries(setup))


NOWHERE = parse_cid("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")
