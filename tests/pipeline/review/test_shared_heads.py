# SPDX-License-Identifier: Apache-2.0
"""Members open heads of shared sums with each other, and name those who lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from blockful_py.committee.service.messages import HeadRequest
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.rounds import Sent
from blockful_py.errors import BlockfulError, CheaterError, CryptoError, QuorumError, RefusedError
from blockful_py.keys.shared_files import FIELD, DealtPart, PartComplaint, PartFiles
from blockful_py.learning.models.analytic import HEAD
from blockful_py.learning.shared_head import HeadPlan
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.jobs.shared import part_bytes
from blockful_py.pipeline.review.shared_heads import HeadOpener
from tests.pipeline.review.sharing_committee import (
    ADDRESSES,
    CLASSES,
    FEATURES,
    OWNER,
    Committee,
    require_head,
    sharing_setup,
)


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return sharing_setup()


@pytest.fixture
def committee(setup: TrainingSetup, tmp_path: Path) -> Committee:
    return Committee(setup, tmp_path)


def test_a_pool_that_would_show_its_samples_has_no_head(committee: Committee, setup: TrainingSetup) -> None:
    samples = setup.users[0].train
    for count, opens in ((16 * FEATURES - 1, False), (16 * FEATURES, True)):
        for each in committee.open(committee.part(samples.at(torch.arange(count)))).values():
            assert isinstance(each, Mapping), each
            assert bool(each[HEAD].any()) is opens


def test_an_owner_is_named_whose_shares_do_not_fit(committee: Committee, setup: TrainingSetup) -> None:
    def swapped(files: PartFiles) -> PartFiles:
        first, second, *others = files.files
        mixed = save(load(first) | {"2": load(second)["2"]})
        return replace(files, files=[mixed, second, *others])

    for each in committee.open(committee.part(setup.users[0].train, swapped)).values():
        assert "the owner of a dealt member(s) 2 wrong shares, which they proved" in str(each)


def test_a_member_that_complains_of_right_shares_is_named(
    committee: Committee, setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = DealtPart.complaint

    def lying(self: DealtPart, member: int, secret: int) -> PartComplaint | None:
        return PartComplaint(()) if member == 2 else honest(self, member, secret)

    monkeypatch.setattr(DealtPart, "complaint", lying)
    for each in committee.open(committee.part(setup.users[0].train)).values():
        assert isinstance(each, CheaterError) and each.members == (2,)
        assert "a complaint about right shares" in str(each)


def test_an_owner_that_claims_more_samples_is_named(committee: Committee, setup: TrainingSetup) -> None:
    part = committee.part(setup.users[0].train)
    first, *others = part.classes
    more = first.model_copy(update={"samples": first.samples + 1})
    for each in committee.open(part.model_copy(update={"classes": (more, *others)})).values():
        assert "the owner of a dealt member(s) 1, 2, 3, 4 wrong shares" in str(each)


def test_only_its_owner_has_a_model_opened_and_few_pools_of_it(
    committee: Committee, setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = committee.part(setup.users[0].train)
    assert "belongs to another participant" in str(committee.open(part, b"x" * 20, (0,))[0])
    opener = committee.opener(0)
    monkeypatch.setattr("blockful_py.pipeline.review.opened_heads.MOST_POOLS", 1)
    asking: Any = SimpleNamespace(sender=OWNER, subject=bytes(32))

    def begun(self: HeadOpener, asking: Any, asked: Sequence[Any], features: int) -> list[None]:
        for each in asked:
            self.sources.heads.begin(each.pool, each.version)
        return [None] * len(asked)

    monkeypatch.setattr(HeadOpener, "_run", begun)
    for _ in range(2):
        opener.open(asking, HeadRequest(("a",), 0, (), part_bytes(part)))
    other = part_bytes(committee.part(setup.users[0].train))
    with pytest.raises(BlockfulError, match="more would show sums"):
        opener.open(asking, HeadRequest(("a",), 0, (), other))


@pytest.mark.slow
def test_a_silent_member_is_left_out_and_takes_part_again(
    committee: Committee, setup: TrainingSetup, caplog: pytest.LogCaptureFixture
) -> None:
    committee.patience = 5.0
    part = committee.part(setup.users[0].train)
    without = committee.open(part, there=(0, 1, 3))
    require_head(without, setup)
    assert f"leaves out member 3 (0x{ADDRESSES[2].hex()})" in caplog.text
    caplog.clear()
    require_head(committee.open(part), setup, members=4)
    assert "leaves out" not in caplog.text


def test_no_head_opens_while_t_members_are_silent(committee: Committee, setup: TrainingSetup) -> None:
    committee.patience = 1.0
    for each in committee.open(committee.part(setup.users[0].train), there=(0, 3)).values():
        assert isinstance(each, QuorumError) and "member(s) 2, 3 take no part" in str(each)


def test_a_member_that_was_absent_uses_no_wrong_shares(committee: Committee, setup: TrainingSetup) -> None:
    def without_box(files: PartFiles) -> PartFiles:
        left = {name: each for name, each in load(files.proof).items() if name != "3"}
        return replace(files, proof=save(left))

    for spoil, fits in ((without_box, False), (lambda files: files, True)):
        part = committee.part(setup.users[0].train, spoil)
        for i in range(4):
            opener = committee.opener(i)
            if i != 2 or fits:
                opener._require_fitting("a", part, i + 1, committee.reader(i))
            else:
                with pytest.raises(RefusedError, match="wrong shares while it was absent"):
                    opener._require_fitting("a", part, i + 1, committee.reader(i))


class Liar:
    """A protocol whose member opens other numbers, from its `first` opening of a head's shape on."""

    def __init__(self, protocol: Any, first: int) -> None:
        self._protocol, self._left = protocol, first

    def __next__(self) -> Sent:
        return self._spoilt(next(self._protocol))

    def send(self, inbox: Any) -> Sent:
        return self._spoilt(self._protocol.send(inbox))

    def close(self) -> None:
        self._protocol.close()

    def _spoilt(self, sent: Sent) -> Sent:
        if isinstance(sent.public, np.ndarray) and sent.public.shape[1:] == (FEATURES, CLASSES):
            self._left -= 1
            if self._left <= 0:
                return replace(sent, public=(sent.public + 1) % np.min(FIELD.primes(3)))
        return sent


@pytest.mark.parametrize("in_product", [True, False])
def test_no_member_has_a_head_that_another_lied_about(
    committee: Committee, setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch, in_product: bool
) -> None:
    """The liar is named where the head itself is opened, and left out; in a product of shares it is found."""
    honest, samples = HeadOpener._protocol, setup.users[0].train
    counts = tuple(np.bincount(samples.y.numpy(), minlength=CLASSES).tolist())
    openings = 2 * len(HeadPlan(FEATURES, counts, 0, 2).refinements) + 2

    def lying(self: HeadOpener, holder: Shareholder, *args: Any) -> Any:
        protocol = honest(self, holder, *args)
        return Liar(protocol, 1 if in_product else openings) if holder.index == 3 else protocol

    monkeypatch.setattr(HeadOpener, "_protocol", lying)
    part = committee.part(samples)
    for each in committee.open(part).values():
        if in_product:
            assert isinstance(each, CryptoError) and "which cannot be told" in str(each)
        else:
            assert isinstance(each, CheaterError) and each.members == (3,)
    if not in_product:
        again = committee.open(part)
        assert isinstance(liars := again.pop(2), RefusedError) and "leave this member out" in str(liars)
        require_head(again, setup)
