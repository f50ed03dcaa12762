# SPDX-License-Identifier: Apache-2.0
"""A zoo of shards: harmless differences are joined; others are reported with column and both types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.datasets.images import CIFAR10
from blockful_py.learning.datasets.shards import shards_in
from blockful_py.settings import DataOptions
from tests.learning import files

pa = files.pa
CPU = torch.device("cpu")
SECOND = Path("data", "train-00001-of-00002.parquet")
TITLE = "question_title"


def load(name: str, folder: Path) -> Dataset:
    return load_dataset(name, 0, CPU, DataOptions(str(folder)))


def typed(column: str, kind: Any) -> Callable[[Any], Any]:
    def cast(table: Any) -> Any:
        place = table.column_names.index(column)
        return table.set_column(place, column, table[column].cast(kind))

    return cast


def without_values(column: str) -> Callable[[Any], Any]:
    return lambda table: table.set_column(table.column_names.index(column), column, pa.nulls(table.num_rows))


def backwards(table: Any) -> Any:
    return table.select(table.column_names[::-1])


def with_index(table: Any) -> Any:
    return table.append_column("__index_level_0__", pa.array(range(table.num_rows)))


def bytes_alone(table: Any) -> Any:
    return table.set_column(0, "img", pa.array([cell["bytes"] for cell in table["img"].to_pylist()]))


def path_first(table: Any) -> Any:
    kind = pa.struct([("path", pa.large_string()), ("bytes", pa.large_binary())])
    return table.set_column(0, "img", pa.array(table["img"].to_pylist(), kind))


ALIKE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "int32 labels": ("cifar10", typed("label", pa.int32())),
    "uint8 labels": ("cifar10", typed("label", pa.uint8())),
    "whole floats as labels": ("cifar10", typed("label", pa.float64())),
    "labels as categories": (
        "cifar10",
        lambda table: table.set_column(1, "label", table["label"].dictionary_encode()),
    ),
    "columns in another order": ("cifar10", backwards),
    "an index column": ("cifar10", with_index),
    "images as bytes alone": ("cifar10", bytes_alone),
    "images with their path first": ("cifar10", path_first),
    "large strings": ("yahoo_answers", typed(TITLE, pa.large_string())),
    "views of strings": ("yahoo_answers", typed(TITLE, pa.string_view())),
    "texts as categories": ("yahoo_answers", typed(TITLE, pa.dictionary(pa.int32(), pa.string()))),
    "a column besides of another type": ("yahoo_answers", typed("id", pa.string())),
}


@pytest.mark.parametrize("what", ALIKE)
def test_shards_that_differ_harmlessly_are_the_same_data(tmp_path: Path, what: str) -> None:
    name, changed = ALIKE[what]
    folder = files.write(tmp_path, name)
    expected = load(name, folder)
    table = files.parquet.read_table(folder / SECOND)
    files.parquet.write_table(changed(table), folder / SECOND)
    found = load(name, folder)
    assert torch.equal(found.train.x, expected.train.x)
    assert torch.equal(found.train.y, expected.train.y)


@pytest.mark.parametrize("shard", ["data/train-00000-of-00002.parquet", str(SECOND)])
def test_a_column_without_a_value_is_empty_texts(tmp_path: Path, shard: str) -> None:
    folder = files.write(tmp_path, "yahoo_answers")
    table = files.parquet.read_table(folder / shard)
    files.parquet.write_table(without_values("question_content")(table), folder / shard)
    assert len(load("yahoo_answers", folder).train) == 30


DIFFERENT: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "labels as texts": (
        "cifar10",
        typed("label", pa.string()),
        r"00000-of-00002.parquet has column 'label' as int64, .*00001-of-00002.parquet as large_string: save",
    ),
    "texts as bytes": (
        "yahoo_answers",
        typed(TITLE, pa.binary()),
        r"'question_title' as large_string, .* as large_binary: save it as one type",
    ),
    "texts as numbers": (
        "yahoo_answers",
        lambda table: table.set_column(2, TITLE, pa.array(range(table.num_rows))),
        "'question_title' as large_string, .* as int64",
    ),
    "half labels": (
        "cifar10",
        lambda table: table.set_column(1, "label", pa.array([0.5] * table.num_rows)),
        "column 'label' must hold an integer in every row, not double",
    ),
    "labels without a value": ("cifar10", without_values("label"), "not int64 with 20 empty"),
    "a column twice": (
        "cifar10",
        lambda table: table.append_column("label", table["label"]),
        "has column label 2 times: keep one",
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_shards_that_differ_are_named(tmp_path: Path, what: str) -> None:
    name, changed, reason = DIFFERENT[what]
    folder = files.write(tmp_path, name)
    table = files.parquet.read_table(folder / SECOND)
    files.parquet.write_table(changed(table), folder / SECOND)
    with pytest.raises(LearningError, match=reason):
        load(name, folder)


def test_bytes_are_no_texts(tmp_path: Path) -> None:
    folder = files.write(tmp_path, "yahoo_answers")
    path = folder / "data" / "test-00000-of-00001.parquet"
    files.parquet.write_table(typed(TITLE, pa.binary())(files.parquet.read_table(path)), path)
    with pytest.raises(LearningError, match="must hold texts, not large_binary: save it as strings"):
        load("yahoo_answers", folder)


def csv_with(folder: Path, title: str, rows: int = 40) -> Path:
    """Yahoo! Answers as CSV, every title of the training rows alike."""
    files.write_csv(folder)
    lines = [f'{i},{i % 10},"{title}","","answer"' for i in range(rows)]
    header = "id,topic,question_title,question_content,best_answer"
    (folder / "train.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return folder


def test_a_row_over_a_megabyte_is_read(tmp_path: Path) -> None:
    assert len(load("yahoo_answers", csv_with(tmp_path, "word " * 300_000, 4)).train) == 4


def test_a_row_that_never_ends_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blockful_py.learning.datasets.shards.LARGEST_ROW", 1 << 20)
    folder = csv_with(tmp_path, "word " * 300_000, 4)
    with pytest.raises(LearningError, match=r"train.csv .*a row has over 1 MB.*save the file as parquet"):
        load("yahoo_answers", folder)


def test_texts_of_digits_stay_texts(tmp_path: Path) -> None:
    one, other = (
        load("yahoo_answers", csv_with(tmp_path, "007")),
        load("yahoo_answers", csv_with(tmp_path, "7")),
    )
    assert not torch.equal(one.train.x, other.train.x)


def test_a_csv_file_in_another_encoding_is_told_to_be_saved_in_utf8(tmp_path: Path) -> None:
    path = csv_with(tmp_path, "español") / "train.csv"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    with pytest.raises(LearningError, match=r"train.csv cannot be read as csv .*: save it in UTF-8"):
        load("yahoo_answers", tmp_path)


LAYOUTS = {
    "train/0000.parquet": ["train/0000.parquet", "train/0001.parquet", "test/0000.parquet"],
    "plain_text/train/0000.parquet": ["plain_text/train/0000.parquet", "plain_text/test/0000.parquet"],
    "data/train-0.parquet": ["data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"],
    "Train.PARQUET": ["Train.PARQUET", "Test.PARQUET"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_found_as_hubs_lay_them_out(tmp_path: Path, layout: str) -> None:
    for name in LAYOUTS[layout]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = files.image_table("img", "label", 32, "RGB", files.each_class(10, 20))
        files.parquet.write_table(table, path)
    train = sum("train" in name.lower() for name in LAYOUTS[layout])
    found = load("cifar10", tmp_path)
    assert (len(found.train) + len(found.proxy), len(found.test)) == (20 * train, 20)


def test_the_last_name_in_a_path_tells_the_split(tmp_path: Path) -> None:
    for name in ("test_run/train/0.csv", "train/test.csv", "train/._0.csv", "train/notes.txt", "other.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = shards_in(tmp_path, ("train", "test"))
    assert found == {
        "train": [tmp_path / "test_run/train/0.csv"],
        "test": [tmp_path / "train/test.csv"],
    }


def test_a_folder_that_is_named_like_a_column_adds_none(tmp_path: Path) -> None:
    folder = files.write(tmp_path / "label=3", "cifar10")
    assert load("cifar10", folder).test.y.tolist() == files.each_class(10, 20)


def test_one_split_in_two_formats_is_refused(tmp_path: Path) -> None:
    files.write_csv(files.write(tmp_path, "yahoo_answers"))
    with pytest.raises(LearningError, match=r"has train as parquet and as CSV .*keep one of the two"):
        load("yahoo_answers", tmp_path)


def test_a_pointer_of_git_lfs_is_told_apart(tmp_path: Path) -> None:
    folder = files.write(tmp_path, "cifar10")
    (folder / SECOND).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(LearningError, match="run `git lfs pull`"):
        load("cifar10", folder)


def test_where_to_put_files_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no file train\*.parquet or train\*.csv, nor any in a folder"):
        load(CIFAR10.name, tmp_path)
