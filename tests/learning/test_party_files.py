# SPDX-License-Identifier: Apache-2.0
"""Parties' files become samples by one rule, which public rows decide, or are refused by row and column."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from pyarrow import parquet

from blockful_py.errors import BlockfulError, LearningError, SettingsError
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.datasets.parties.dataset import own_samples
from blockful_py.learning.datasets.parties.public_part import (
    AboutParty,
    about_public,
    drawn_public,
    kept_rows,
    write_public,
)
from blockful_py.learning.datasets.parties.rows import PartyRows, label_column, read_rows
from blockful_py.learning.datasets.parties.rule import SampleRule
from blockful_py.learning.sample_files import public_part, samples_from_bytes, samples_to_bytes
from blockful_py.learning.streams import generator
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.settings import DataOptions, Settings

CPU = torch.device("cpu")
HEADER = "age,sex,ill"


def table(path: Path, rows: Sequence[str], header: str = HEADER) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def people(count: int, first: int = 30) -> list[str]:
    return [f"{first + i},{'mf'[i % 2]},{'yes' if i % 3 else 'no'}" for i in range(count)]


def rule_of(*files: Path) -> SampleRule:
    rows = [read_rows(path) for path in files]
    return SampleRule.fitted("ill", ["no", "yes"], rows)


def test_numbers_are_scaled_and_few_texts_are_categories(tmp_path: Path) -> None:
    rows = read_rows(table(tmp_path / "north.csv", ["10,m,yes", "30,f,no"]))
    samples = SampleRule.fitted("ill", ["no", "yes"], [rows]).samples(rows)
    assert samples.x.tolist() == [[-1, 0, 1], [1, 1, 0]]
    assert samples.y.tolist() == [1, 0]


def test_private_rows_do_not_change_the_rule(tmp_path: Path) -> None:
    whole = read_rows(table(tmp_path / "north.csv", people(40)))
    public, kept = drawn_public(whole, "ill", generator(0))
    changed = whole.columns | {
        "age": [value if i in public else "999" for i, value in enumerate(whole.columns["age"])]
    }
    rules = [
        SampleRule.fitted("ill", ["no", "yes"], [rows.at(public)])
        for rows in (whole, PartyRows("changed", changed))
    ]
    assert rules[0] == rules[1]
    assert len(kept) == 32


def test_the_rule_survives_the_public_file(tmp_path: Path) -> None:
    for name in ("north", "south"):
        table(tmp_path / "files" / f"{name}.csv", people(30))
    data = load_dataset("parties", 0, CPU, DataOptions(str(tmp_path / "files")))
    shared = samples_from_bytes(samples_to_bytes(public_part(data)))
    assert shared.rule is not None
    assert SampleRule.parse(shared.rule).to_json() == data.rule
    assert len(shared.train) == 0


def test_rows_belong_to_their_party_in_a_laboratory(tmp_path: Path) -> None:
    table(tmp_path / "files" / "north.csv", people(20, 0))
    table(tmp_path / "files" / "south.csv", people(40, 1000))
    parties = {
        "federation": {"scenario": "organic", "situation": "parties", "users": 2},
        "learning": {"dataset": "parties", "model": "mlp", "data_files": str(tmp_path / "files")},
        "unlearning": {"starts": ["r1"], "classes": [0]},
    }
    users = TrainingSetup.of(Settings.parse(parties)).users
    assert [len(user.train) for user in users] == [16, 32]
    assert users[0].train.x[:, 0].max() < users[1].train.x[:, 0].min()
    parties["federation"]["users"] = 3
    with pytest.raises(SettingsError, match=r"has 2 and federation\.users is 3"):
        TrainingSetup.of(Settings.parse(parties))


def test_parquet_and_csv_give_the_same_samples(tmp_path: Path) -> None:
    text = table(tmp_path / "north.csv", people(9))
    columns = read_rows(text).columns
    typed = {**columns, "age": [int(value) for value in columns["age"]]}
    parquet.write_table(pa.table(typed), tmp_path / "north.parquet")
    rule = rule_of(text)
    assert torch.equal(rule.samples(read_rows(text)).x, rule.samples(read_rows(tmp_path / "north.parquet")).x)


def test_folders_of_images_are_classes(tmp_path: Path) -> None:
    for party, shades in (("north", (0, 50)), ("south", (200, 250))):
        for name in ("cat", "dog"):
            folder = tmp_path / party / name
            folder.mkdir(parents=True)
            for number, shade in enumerate(shades * 3):
                Image.new("L", (8, 8), shade).save(folder / f"{number}.png")
    data = load_dataset("parties", 0, CPU, DataOptions(str(tmp_path)))
    assert data.input_shape == (1, 8, 8)
    assert (data.class_count, len(data.holdings)) == (2, 2)


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (["30,m,yes", "31,,no"], HEADER, "no value in row 2, column 'sex'"),
        (["30,m,yes", "NA,f,no"], HEADER, "no value in row 2, column 'age'"),
        (["0,30,m,yes"], f",{HEADER}", "a column without a name"),
        (["30,30,yes"], "age,age,ill", "column 'age' 2 times"),
        (["30;m;yes"], "age;sex;ill", "one column"),
        (["30,m"], HEADER, "cannot be read as csv"),
        ([], HEADER, "has no rows"),
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, rows: list[str], header: str, said: str) -> None:
    with pytest.raises(LearningError, match=said):
        read_rows(table(tmp_path / "north.csv", rows, header))


@pytest.mark.parametrize(
    ("row", "header", "said"),
    [
        ("old,m,yes", HEADER, "'old' in row 1, column 'age', where a number is expected"),
        ("inf,m,yes", HEADER, "'inf' in row 1, column 'age'"),
        ("30,m,maybe", HEADER, "class 'maybe' in row 1; the federation has no, yes"),
        ("30,yes", "age,ill", "has the columns age, ill; this federation has age, ill, sex"),
    ],
)
def test_rows_that_the_rule_does_not_know_are_refused(
    tmp_path: Path, row: str, header: str, said: str
) -> None:
    rule = rule_of(table(tmp_path / "north.csv", people(9)))
    with pytest.raises(LearningError, match=said):
        rule.samples(read_rows(table(tmp_path / "south.csv", [row], header)))


def test_a_text_of_no_public_row_counts_as_none(tmp_path: Path) -> None:
    rule = rule_of(table(tmp_path / "north.csv", people(9)))
    rows = read_rows(table(tmp_path / "south.csv", ["30,x,yes"]))
    assert rule.samples(rows).x[0, 1:].tolist() == [0, 0]
    assert rule.unseen(rows) == {"sex": 1}


def test_many_texts_are_no_categories(tmp_path: Path) -> None:
    with pytest.raises(LearningError, match=r"column 'age' has 30 different texts .* such as '1,5 years'"):
        rule_of(table(tmp_path / "north.csv", [f'"{i},5 years",m,yes' for i in range(1, 31)]))


def test_parties_have_the_same_columns(tmp_path: Path) -> None:
    north = table(tmp_path / "north.csv", people(9))
    with pytest.raises(LearningError, match=r"south\.csv has the columns .*; .*north\.csv has"):
        rule_of(north, table(tmp_path / "south.csv", ["1,2"], "height,ill"))


@pytest.mark.parametrize(
    ("header", "asked", "label"),
    [("a,b", None, "b"), ("Class,b", None, "Class"), ("y,target", None, "target"), ("a,b", "a", "a")],
)
def test_the_label_is_named_or_guessed(tmp_path: Path, header: str, asked: str | None, label: str) -> None:
    assert label_column(read_rows(table(tmp_path / "north.csv", ["1,2"], header)), asked) == label


def test_a_label_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no column 'sick' of labels; it has age, sex, ill"):
        label_column(read_rows(table(tmp_path / "north.csv", people(3))), "sick")


def test_public_rows_leave_the_file_and_nothing_else(tmp_path: Path) -> None:
    path = table(tmp_path / "north.csv", [*people(40), "99,m,rare"])
    rows = read_rows(path)
    public, kept = drawn_public(rows, "ill", generator(1))
    about = AboutParty.of(path, rows, "ill", "0x" + "ab" * 20)
    write_public(tmp_path / "public.parquet", rows.at(public), about)
    assert about_public(tmp_path / "public.parquet") == about
    assert (about.name, about.classes) == ("north", ("no", "rare", "yes"))
    assert "rare" not in read_rows(tmp_path / "public.parquet").columns["ill"]
    assert kept_rows(rows, tmp_path / "public.parquet") == (public, kept)
    changed = read_rows(table(path, people(5)))
    with pytest.raises(LearningError, match="has changed: "):
        kept_rows(changed, tmp_path / "public.parquet")


def test_a_row_that_stands_twice_stays_once(tmp_path: Path) -> None:
    rows = read_rows(table(tmp_path / "north.csv", ["1,m,yes"] * 4 + ["2,f,no"] * 4))
    public, _ = drawn_public(rows, "ill", generator(0))
    write_public(tmp_path / "public.parquet", rows.at(public), AboutParty("north", "ill", ("no", "yes")))
    test, train = kept_rows(rows, tmp_path / "public.parquet")
    assert (len(test), len(train)) == (2, 6)


def test_a_founder_has_public_rows_alone(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for name in ("north", "south"):
        path = table(tmp_path / f"{name}.csv", people(30))
        rows = read_rows(path)
        public, _ = drawn_public(rows, "ill", generator(0, name))
        write_public(parts / f"{name}.parquet", rows.at(public), AboutParty.of(path, rows, "ill"))
    data = load_dataset("parties", 0, CPU, DataOptions(str(parts)))
    assert len(data.train) == len(data.test) + len(data.proxy) == 12
    assert data.rule is not None
    own = own_samples(
        tmp_path / "north.csv", SampleRule.parse(data.rule), parts / "north.parquet", generator(0)
    )
    assert (len(own.dataset.train), len(own.dataset.test)) == (24, 6)
    assert own.said[1] == "classes: 0 no, 1 yes"


@pytest.mark.parametrize("name", ["north.xlsx", "missing.csv"])
def test_another_kind_of_file_is_refused(tmp_path: Path, name: str) -> None:
    if name == "north.xlsx":
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SettingsError, match=name):
        read_rows(tmp_path / name)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"label": "y", "classes": 3}'])
def test_a_rule_that_is_none_is_one_error(text: str) -> None:
    with pytest.raises(BlockfulError):
        SampleRule.parse(text)


@pytest.mark.parametrize(
    "change",
    [
        {"image": {"column": "image", "side": 10**6, "mean": [0.5], "spread": [1.0]}},
        {"image": {"column": "image", "side": 8, "mean": [0.5] * 10_000, "spread": [1.0] * 10_000}},
        {"image": {"column": "image", "side": 8, "mean": [0.5], "spread": []}},
        {"columns": [{"name": "age", "mean": 0.0, "spread": 0.0, "values": []}]},
    ],
)
def test_a_rule_of_a_dishonest_founder_is_refused(change: dict[str, object]) -> None:
    honest = {"label": "ill", "classes": ["no", "yes"]}
    with pytest.raises(SettingsError, match="the rule of the parties' files"):
        SampleRule.parse(json.dumps({**honest, **change}))


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    for name, data in (("1.png", b"no image"), ("2.png", _png())):
        (tmp_path / "north" / "cat").mkdir(parents=True, exist_ok=True)
        (tmp_path / "north" / "cat" / name).write_bytes(data)
    rows = read_rows(tmp_path / "north")
    with pytest.raises(LearningError, match="image 1 cannot be read"):
        SampleRule.fitted("label", ["cat"], [rows])


def _png() -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(file, "PNG")
    return file.getvalue()
