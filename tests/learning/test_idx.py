# SPDX-License-Identifier: Apache-2.0
"""Idx files: Fashion-MNIST as Debian's package has it, whole and in its smaller version."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.datasets import idx, load_dataset
from blockful_py.learning.datasets.images import FASHION_MNIST, image_loader
from blockful_py.learning.datasets.smaller import Smaller, smaller
from blockful_py.settings import DataOptions
from tests.learning import files

CPU = torch.device("cpu")
TRAIN, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
GIVEN = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
WHOLE = files.idx_bytes(GIVEN)


@pytest.mark.parametrize("ending", idx.ENDINGS)
def test_values_have_the_shape_that_the_header_states(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"values{ending}"
    files.write_bytes(path, WHOLE)
    assert np.array_equal(idx.read_idx(path, 3), GIVEN)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "begins with nothing, an idx file of bytes in 3 dimensions with 00000803"),
        (b"\0\0\x0d\x03" + WHOLE[4:], "begins with 00000d03"),
        (files.idx_bytes(GIVEN[0]), "begins with 00000802"),
        (WHOLE[:10], "ends within its header"),
        (WHOLE[:-1], "has 23 bytes of values, its header states 2 x 3 x 4 = 24: fetch it again"),
        (WHOLE + b"\0", "has more bytes of values"),
        (WHOLE[:4] + b"\xff" * 12, "more than the 1073741824 that are read"),
    ],
    ids=["empty", "floats", "two dimensions", "short header", "short", "long", "huge"],
)
@pytest.mark.parametrize("ending", idx.ENDINGS)
def test_files_that_are_not_right_are_named(tmp_path: Path, data: bytes, reason: str, ending: str) -> None:
    path = tmp_path / f"values{ending}"
    files.write_bytes(path, data)
    with pytest.raises(LearningError, match=f"values.*{reason}"):
        idx.read_idx(path, 3)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "values.gz"
    for damaged in (b"no gzip", gzip.compress(WHOLE)[:-9], gzip.compress(WHOLE)[:10] + b"\xff" * 20):
        path.write_bytes(damaged)
        with pytest.raises(LearningError, match=r"values\.gz cannot be read .*: fetch it again"):
            idx.read_idx(path, 3)


def test_no_more_is_unpacked_than_the_header_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes of gzip can hold gigabytes."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(WHOLE + bytes(10_000_000)))
    asked: list[int] = []
    read = gzip.GzipFile.read

    def noted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        asked.append(-1 if size is None else size)
        return read(file, size)

    monkeypatch.setattr(gzip.GzipFile, "read", noted)
    with pytest.raises(LearningError, match="has more bytes"):
        idx.read_idx(path, 3)
    assert asked == [4, 12, GIVEN.size + 1]


@pytest.mark.parametrize("ending", idx.ENDINGS)
def test_a_folder_of_idx_files_is_read_by_name(tmp_path: Path, ending: str) -> None:
    folder = files.write_idx(tmp_path / "deep", ending=ending)
    dataset = load_dataset("fashion_mnist", 0, CPU, DataOptions(str(tmp_path)))
    assert [len(part) for part in (dataset.train, dataset.proxy, dataset.test)] == [30, 10, 20]
    assert dataset.test.y.tolist() == files.each_class(10, 20)
    raw = idx.read_idx(folder / f"t10k-images-idx3-ubyte{ending}", 3)
    expected = (torch.from_numpy(raw.copy()).float() / 255 - 0.2860) / 0.3530
    assert torch.allclose(dataset.test.x[:, 0], expected)


def test_an_installed_package_is_read_where_no_folder_is_named(tmp_path: Path) -> None:
    installed = idx.IdxFiles(28, "some-package", files.write_idx(tmp_path))
    schema = replace(FASHION_MNIST, idx=installed)
    assert schema.folder(DataOptions()) == tmp_path
    assert len(image_loader(schema)(0, DataOptions(data_limit=5)).test) == 5
    (tmp_path / TRAIN).unlink()
    assert schema.folder(DataOptions()) is None


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        (TRAIN, np.zeros((40, 7, 112), np.uint8), "images of 112x7 pixels, not of 28x28"),
        (TRAIN, np.zeros((39, 28, 28), np.uint8), "has 39 images and train-labels-idx1-ubyte.gz 40 labels"),
        (LABELS, np.full(40, 10, np.uint8), "labels from 10 to 10; those of 'fashion_mnist' are from 0 to 9"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], reason: str
) -> None:
    files.write_bytes(files.write_idx(tmp_path) / name, files.idx_bytes(values))
    with pytest.raises(LearningError, match=reason):
        load_dataset("fashion_mnist", 0, CPU, DataOptions(str(tmp_path)))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    (files.write_idx(tmp_path) / LABELS).unlink()
    with pytest.raises(SettingsError, match=r"not both of train-images-idx3-ubyte and -labels-idx1-ubyte"):
        load_dataset("fashion_mnist", 0, CPU, DataOptions(str(tmp_path)))


def test_the_smaller_version_pools_and_draws_by_seed(tmp_path: Path) -> None:
    options = DataOptions(str(files.write_idx(tmp_path)))
    whole = load_dataset("fashion_mnist", 0, CPU, options)
    load = smaller("tiny", image_loader(FASHION_MNIST), Smaller(4, 12, 7))
    tiny, again, other = (load(seed, options) for seed in (0, 0, 1))
    assert (tiny.name, tiny.input_shape) == ("tiny", (1, 7, 7))
    assert [len(part) for part in (tiny.train, tiny.test, tiny.proxy)] == [12, 7, 10]
    assert torch.equal(tiny.proxy.x, functional.avg_pool2d(whole.proxy.x, 4))
    pooled = {row.numpy().tobytes() for row in functional.avg_pool2d(whole.test.x, 4)}
    assert tiny.spare is not None
    assert len(tiny.spare) == len(whole.test) - 7
    assert pooled == {row.numpy().tobytes() for part in (tiny.test, tiny.spare) for row in part.x}
    assert torch.equal(tiny.train.x, again.train.x)
    assert not torch.equal(tiny.train.x, other.train.x)


def test_sides_that_cannot_be_pooled_are_refused(tmp_path: Path) -> None:
    options = DataOptions(str(files.write_idx(tmp_path)))
    with pytest.raises(LearningError, match=r"sides are multiples of 3, 'fashion_mnist' has .*\(1, 28, 28\)"):
        smaller("tiny", image_loader(FASHION_MNIST), Smaller(3, 12, 7))(0, options)
    with pytest.raises(SettingsError, match="must be at least 1"):
        Smaller(0, 12, 7)
