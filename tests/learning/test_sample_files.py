# SPDX-License-Identifier: Apache-2.0
"""A file of samples is used as a whole or refused by one error that names it; nothing in it is executed."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import torch as safetensors_torch

from blockful_py.errors import BlockfulError, FormatError, LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.sample_files import MAX_HEADER, own_data, public_part, samples_to_bytes
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.settings import DataOptions
from tests.federations import small

SETUP = TrainingSetup.of(small())
GOOD = replace(SETUP.dataset, train=SETUP.users[0].train, test=SETUP.users[0].test)
BYTES = samples_to_bytes(GOOD)
HEADER = int.from_bytes(BYTES[:8], "little")
PLUGIN = "there is no data set"


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def loaded(folder: Path, data: bytes, name: str = "mine.safetensors") -> Dataset:
    (folder / name).write_bytes(data)
    return own_data(str(folder / name), 0, DataOptions())


def with_tensors(**changed: torch.Tensor) -> bytes:
    tensors = safetensors_torch.load(BYTES) | {name.replace("_", "."): each for name, each in changed.items()}
    about = json.loads(BYTES[8 : 8 + HEADER])["__metadata__"]
    return safetensors_torch.save(tensors, metadata=about)


def test_a_good_file_is_the_data(tmp_path: Path) -> None:
    data = loaded(tmp_path, BYTES)
    assert torch.equal(data.train.x, GOOD.train.x)
    assert torch.equal(data.test.y, GOOD.test.y)


@pytest.mark.parametrize("end", [0, 1, 8, 9, 8 + HEADER, 9 + HEADER, len(BYTES) // 2, len(BYTES) - 1])
def test_a_truncated_file_is_named(tmp_path: Path, end: int) -> None:
    with pytest.raises(FormatError, match=r"mine\.safetensors cannot be used.*blockful data --save"):
        loaded(tmp_path, BYTES[:end])


X, Y = GOOD.train.x, GOOD.train.y


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (with_tensors(train_x=X.clone().fill_(float("nan"))), FormatError, "not finite"),
        (with_tensors(test_x=GOOD.test.x.clone().fill_(float("inf"))), FormatError, "not finite"),
        (with_tensors(train_x=X.double()), FormatError, "float64"),
        (with_tensors(train_y=Y.to(torch.int32)), FormatError, "int32"),
        (with_tensors(train_y=Y[:-1]), LearningError, "one label each"),
        (with_tensors(train_y=Y + 100), LearningError, "labels from 10"),
        (with_tensors(train_y=Y - 100), LearningError, "labels from -100"),
        (with_tensors(test_x=GOOD.test.x[..., :-1].contiguous()), LearningError, "one shape"),
        (with_tensors(train_x=X[:0], train_y=Y[:0]), LearningError, "no train samples"),
        (
            safetensors_torch.save({"train.x": X}, {"format": "blockful-samples/1"}),
            FormatError,
            "not a file of samples",
        ),
        (safetensors_torch.save({"train.x": X}, {"format": "other"}), FormatError, "format 'other'"),
        ((MAX_HEADER + 1).to_bytes(8, "little") + BYTES[8:], FormatError, "header of"),
        ((1 << 63).to_bytes(8, "little") + BYTES[8:], FormatError, "header of"),
        (b"\x08" + bytes(7) + b"[[[[[[[[" + BYTES, FormatError, "not a file of samples"),
        (bytes(100), FormatError, "header of 0"),
        ((60_000).to_bytes(8, "little") + b"[" * 60_000, FormatError, "not a file of samples"),
    ],
)
def test_a_damaged_file_is_one_error(
    tmp_path: Path, data: bytes, error: type[BlockfulError], said: str
) -> None:
    with pytest.raises(error, match=said):
        loaded(tmp_path, data)


@pytest.mark.parametrize("name", ["mine.safetensors", "mine.pkl", "mine.pt"])
def test_a_pickle_in_disguise_is_not_executed(tmp_path: Path, name: str) -> None:
    with pytest.raises((FormatError, SettingsError)):
        loaded(tmp_path, pickle.dumps(Trap(tmp_path / "sprung")), name)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["../mine:data", "mine:", "nowhere.module:data", "nothing"])
def test_a_name_that_is_no_data_set_is_told(name: str) -> None:
    with pytest.raises(SettingsError, match="data set"):
        own_data(name, 0, DataOptions())


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (Samples(X.repeat(1, 3, 1, 1), Y), "convert them"),
        (Samples(X.to(torch.int64), Y), "convert them"),
        (Samples(X, Y + 90), "labels from 90 to 99, this federation has labels from 0 to 9"),
    ],
)
def test_data_of_another_kind_than_the_federations_is_refused(samples: Samples, said: str) -> None:
    initial, public = initial_weights(SETUP.federation), public_part(SETUP.dataset)
    for own in (UserData(1, samples, GOOD.test), UserData(1, GOOD.train, samples)):
        with pytest.raises(LearningError, match=said):
            TrainingSetup.of_party(small(), public, initial, [own])
