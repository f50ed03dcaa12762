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


def visits(folder: Path, count: int = 60, each: int = 3) -> Path:
    """Rows of patients with `each` rows, in turn; every tenth row has no patient."""
    rows = [f"{i % 2 and ' '}00{i % (count // each)},{row}" for i, row in enumerate(people(count))]
    rows = [row if i % 10 else f",{row.partition(',')[2]}" for i, row in enumerate(rows)]
    return table(folder / "north.csv", rows, f"patient,{HEADER}")


def of_persons(persons: Sequence[str | None] | None, rows: Sequence[int]) -> set[str]:
    assert persons is not None
    return {name for row in rows if (name := persons[row]) is not None}


@pytest.mark.parametrize("seed", range(5))
def test_a_persons_rows_are_all_public_or_all_kept(tmp_path: Path, seed: int) -> None:
    rows = read_rows(visits(tmp_path), "patient")
    assert "patient" not in rows.columns and "patient" not in rows.at([0]).columns
    public, kept = drawn_public(rows, "ill", generator(seed))
    assert not of_persons(rows.persons, public) & of_persons(rows.persons, kept)
    assert 0 < len(public) <= 12
    assert {rows.columns["ill"][row] for row in public} == {"no", "yes"}
    write_public(tmp_path / "public.parquet", rows.at(public), AboutParty("north", "ill", ("no", "yes")))
    assert "patient" not in read_rows(tmp_path / "public.parquet").columns
    assert kept_rows(rows, tmp_path / "public.parquet") == (public, kept)


def test_equal_rows_of_several_persons_keep_persons_whole(tmp_path: Path) -> None:
    """The first of the equal rows is of a person whose other row is not public."""
    rows = read_rows(
        table(
            tmp_path / "north.csv",
            ["1,m,yes,a", "2,m,yes,a", "1,m,yes,b", "3,f,no,b", "4,f,no,c"],
            f"{HEADER},patient",
        ),
        "patient",
    )
    write_public(tmp_path / "public.parquet", rows.at([2, 3]), AboutParty("north", "ill", ("no", "yes")))
    assert kept_rows(rows, tmp_path / "public.parquet") == ([2, 3], [0, 1, 4])


def test_a_class_of_persons_with_many_rows_is_public_by_the_smallest(tmp_path: Path) -> None:
    held = ["yes,a"] * 6 + ["yes,b"] * 4 + ["no,c"] * 5 + ["rare,a"] * 2
    rows = read_rows(
        table(tmp_path / "north.csv", [f"1,{each}" for each in held], "age,ill,patient"), "patient"
    )
    public, _ = drawn_public(rows, "ill", generator(0))
    assert of_persons(rows.persons, public) == {"b"}, "classes that one person has alone stay private"
    alone = table(tmp_path / "alone.csv", ["1,yes,a"] * 4, "age,ill,patient")
    with pytest.raises(LearningError, match="no class with two rows of several persons"):
        drawn_public(read_rows(alone, "patient"), "ill", generator(0))


def test_a_partys_samples_come_with_their_persons(tmp_path: Path) -> None:
    path = visits(tmp_path)
    rows = read_rows(path, "patient")
    rule = SampleRule.fitted("ill", ["no", "yes"], [rows])
    own = own_samples(path, rule, tmp_path / "none", generator(0), "patient")
    assert own.dataset.train.x.shape[1] == 3, "age and the two sexes"
    assert own.persons is not None
    of_age = dict(zip(rows.columns["age"], rows.persons or (), strict=True))
    for samples, persons in zip((own.dataset.train, own.dataset.test), own.persons, strict=True):
        ages = samples.x[:, 0] * rule.columns[0].spread + rule.columns[0].mean
        assert [of_age[f"{age:.0f}"] for age in ages.tolist()] == persons
    named = table(tmp_path / "named.csv", ["1,7,yes", "2,8,no"], "patient,age,ill")
    rule = SampleRule.fitted("ill", ["no", "yes"], [read_rows(named)])
    with pytest.raises(LearningError, match="column 'patient' is an input of this federation's models"):
        own_samples(path, rule, tmp_path / "none", generator(0), "patient")


@pytest.mark.parametrize(
    ("values", "persons"),
    [
        (pa.array([7, 8, None]), ["7", "8", None]),
        (pa.array(["007", " Jose\u0301", "NA"]), ["007", "Jos\u00e9", None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    ],
)
def test_persons_are_texts_or_whole_numbers(
    tmp_path: Path, values: pa.Array, persons: list[str | None]
) -> None:
    parquet.write_table(
        pa.table({"patient": values, "age": [1, 2, 3], "ill": [0, 1, 1]}), tmp_path / "n.parquet"
    )
    assert read_rows(tmp_path / "n.parquet", "patient").persons == persons


def test_persons_that_can_be_written_in_several_ways_are_refused(tmp_path: Path) -> None:
    """A missing whole number makes pandas write 7.0."""
    parquet.write_table(
        pa.table({"patient": [7.0, None], "age": [1, 2], "ill": [0, 1]}), tmp_path / "n.parquet"
    )
    with pytest.raises(LearningError, match=r"column 'patient' of persons as double, .* save it as text"):
        read_rows(tmp_path / "n.parquet", "patient")


def test_a_column_of_persons_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "north.csv", ["1,2"], "a,b")
    with pytest.raises(SettingsError, match="has no column 'patient' of persons; it has a, b"):
        read_rows(path, "patient")
    with pytest.raises(LearningError, match="has one column beside 'a'"):
        read_rows(path, "a")
    with pytest.raises(SettingsError, match="has images and no column 'patient' of persons"):
        read_rows(tmp_path, "patient")


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
