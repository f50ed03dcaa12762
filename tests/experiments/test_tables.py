# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_lab.experiments.comparison import compare, markdown
from blockful_lab.experiments.paper import MODELS, Rerun, Setting, paper_rows
from blockful_lab.experiments.plot_tables import draw
from blockful_lab.experiments.protocol import Scale
from blockful_lab.experiments.tables import CASES, Case, Measured, cases, collect, prepare, run
from blockful_py.errors import FormatError, SettingsError
from blockful_py.report.plots.canvas import LIGHT
from tests.cli.commands import blockful

SETTING = Setting("digits", "cnn", 10, 0.05)
SMALL = Rerun(Scale.SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[Case, tuple[Measured, ...]]:
    return run([Case(SETTING, 1, 5)], folder, "a command")


def test_the_papers_figures_are_those_it_printed() -> None:
    rows = paper_rows()
    assert len(rows) == 53
    (row,) = [row for row in rows if (row.data, row.network, row.classes) == ("Yahoo! Answers", "GCNN", 4)]
    passed = row.methods["gradient_ascent"]
    assert [passed.ad_r[model] for model in MODELS] == [54.34, 35.8, 41.72]
    assert [passed.ad_f[model] for model in MODELS] == [10.54, 10.0, 11.19]
    assert passed.seconds == {"r5": 2.04, "r6": 3.14, "r8": 4.51}
    assert row.methods["original"].seconds is None


def test_every_row_has_a_setting_at_both_scales() -> None:
    assert [row for row, _ in SMALL.rows()] == list(paper_rows())
    assert {setting.data for _, setting in SMALL.rows()} == {"digits", "shapes"}
    full = {(setting.data, setting.network) for _, setting in Rerun(Scale.FULL).rows()}
    assert ("tiny_imagenet", "resnet18") in full and ("yahoo_answers", "bert") in full
    assert len(cases((5, 6), SMALL)) == 2 * 30


def test_fewer_epochs_are_other_cases() -> None:
    whole, brief = (Rerun(Scale.FULL, ("Fashion-MNIST",), epochs=epochs) for epochs in (None, 3))
    few = cases((5,), brief)
    assert {case.setting.epochs for case in few} == {3}
    same = [replace(case, setting=replace(case.setting, epochs=100)) for case in few]
    assert same == list(cases((5,), whole))
    made = dict.fromkeys(few, MADE)
    assert all(each.seeds == 1 for each in compare(made, brief))
    assert all(each.seeds == 0 for each in compare(made, whole))


def test_the_papers_pattern_is_there(found: dict[Case, tuple[Measured, ...]]) -> None:
    """Retraining forgets and keeps the rest, and takes longer the deeper a model lies; passing is quicker."""
    ((_, measured),) = found.items()
    by_name = {(one.method, one.model): one for one in measured}
    assert by_name["original", "r5"].ad_f_test > 0.5
    for model in MODELS:
        assert by_name["retrain", model].ad_f_test == by_name["retrain", model].ad_f_train == 0
        assert by_name["retrain", model].ad_r_test > 0.8
    took = [by_name["retrain", model].seconds for model in MODELS]
    assert took == sorted(took)
    assert by_name["gradient_ascent", "r8"].seconds < by_name["retrain", "r8"].seconds


def test_a_rerun_measures_nothing_again(folder: Path, found: dict[Case, tuple[Measured, ...]]) -> None:
    said: list[str] = []
    assert run(found, folder, "another command", said.append) == found
    assert said == []
    (line,) = (folder / CASES).read_text().splitlines()
    assert json.loads(line)["command"] == "a command"


def test_a_case_of_other_settings_counts_as_not_measured(
    folder: Path, found: dict[Case, tuple[Measured, ...]], tmp_path: Path
) -> None:
    (case,) = found
    assert collect([case], tmp_path) == {}
    text = (folder / CASES).read_text()
    other = text.replace('"epochs": 10', '"epochs": 9')
    for written, known in ((text, True), (other, False), (other + text, True)):
        (tmp_path / CASES).write_text(written)
        assert (case in collect([case], tmp_path)) == known


def test_the_command_renders_what_is_there_and_measures_nothing(tmp_path: Path) -> None:
    command = ("experiment", "tables", "--seeds", "5", "--table", "Fashion", "--render-only")
    done = blockful(tmp_path, *command, "--output", ".", "--json")
    assert (done.status, done.document["cases"]) == (0, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tables.md", "tables.png"]
    text = (tmp_path / "tables.md").read_text()
    assert "| digits, cnn, n = 0 | retrain | ours | not run |" in text
    assert "--table 'Fashion' --seeds 5 --render-only --output" in text
    assert blockful(tmp_path, *command, "--output", ".", "--name", "fashion").status == 0
    assert "--seeds 5 --name fashion --render-only" in (tmp_path / "fashion.md").read_text()
    lost = blockful(tmp_path, *command, "--output", "nowhere")
    assert lost.status != 0
    assert "cannot be written" in lost.error
    audit = ("experiment", "audit", "--seeds", "5", "--output", ".", "--render-only")
    assert "measure them first" in blockful(tmp_path, *audit).error


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / CASES).write_text('{"format": "other"}\n')
    with pytest.raises(FormatError, match=r"line 1, is no result of this experiment"):
        run([Case(SETTING, 1, 5)], tmp_path, "")


MADE = tuple(
    Measured(method, model, 0.99, 0.01, 0.9, 0.02, 1.5)
    for method in ("original", "retrain", "gradient_ascent", "fine_tune", "distill")
    for model in MODELS
)


def test_ours_stand_beside_the_papers() -> None:
    text = markdown(tuple(compare(dict.fromkeys(cases((5,), SMALL), MADE), SMALL)), ["about"])
    assert "| GCNN, 4 classes | gradient_ascent | paper | 54.34 / 10.54 (2.04 s) |" in text
    assert (
        "| digits, cnn, n = 1 | gradient_ascent | ours | test 90.0 / 2.0, train 99.0 / 1.0 (1.50 s) |" in text
    )
    assert "| ResNet18, 10 classes, label_non_iid (15 each) | retrain | paper | not printed |" in text
    assert "| shapes, cnn, label_non_iid (3 each), n = 1 | retrain | ours | test 90.0" in text
    assert text.count("## ") == 10
    assert "not run" not in text


def test_what_was_not_run_says_so() -> None:
    found = dict.fromkeys(cases((5,), Rerun(Scale.SMALL, ("TinyImageNet",))), MADE)
    text = markdown(tuple(compare(found, SMALL)), [])
    assert "| shapes, cnn, iid, n = 0 | original | ours | not run | not run | not run |" in text


def test_a_table_is_chosen_by_a_part_of_its_title() -> None:
    assert {row.table for row, _ in Rerun(Scale.SMALL, ("fashion",)).rows()} == {"Fashion-MNIST"}
    assert len({row.table for row, _ in SMALL.rows()}) == 10
    with pytest.raises(SettingsError, match=r"the paper has no table 'SVHN'\. Known: CIFAR-100"):
        Rerun(Scale.SMALL, ("SVHN",))
    with pytest.raises(SettingsError, match=r"forgets 3 classes\. Known: 1, 2, 4, 7"):
        Rerun(Scale.SMALL, ("Fashion",), classes=(1, 3))


def test_a_row_is_rerun_with_each_network_that_is_named() -> None:
    rerun = Rerun(Scale.FULL, ("Fashion",), (1, 4), ("alexnet", "resnet18"), data_limit=500)
    found = [(row.classes, setting.network, setting.data_limit) for row, setting in rerun.rows()]
    assert found == [(1, "alexnet", 500), (1, "resnet18", 500), (4, "alexnet", 500), (4, "resnet18", 500)]
    with pytest.raises(SettingsError, match="no network 'resnet19'"):
        Rerun(Scale.FULL, networks=("resnet19",))


def test_fewer_samples_are_trained_on_and_said() -> None:
    setting = replace(SETTING, epochs=1, data_limit=280)
    case = Case(setting, 1, 5)
    prepared = prepare(case)
    assert sum(len(user.train) for user in prepared.task.users.values()) <= 280
    assert len(prepared.data.train) == len(prepared.data.test) == 280
    assert setting.title == "digits, cnn, 280 samples"


def test_the_picture_changes_with_the_figures() -> None:
    rerun = Rerun(Scale.SMALL, ("TinyImageNet",))
    wanted = cases((5,), rerun)
    pictures = []
    for made in (MADE, tuple(replace(one, ad_r_test=0.2) for one in MADE)):
        pictures.append(draw(tuple(compare(dict.fromkeys(wanted, made), rerun)), LIGHT))
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] != pictures[1]


def test_the_picture_names_a_network_that_the_paper_has_not() -> None:
    pictures = []
    for network in ("cnn", "alexnet"):
        rerun = Rerun(Scale.FULL, ("Fashion-MNIST",), networks=(network,))
        made = dict.fromkeys(cases((5,), rerun), MADE)
        pictures.append(draw(tuple(compare(made, rerun)), LIGHT))
    assert pictures[0] != pictures[1]


def test_two_users_lack_classes_that_the_others_have() -> None:
    setting = replace(SETTING, situation="label_non_iid", lacking=2, epochs=1)
    task = prepare(Case(setting, 1, 5)).task
    held = {index: set(user.train.classes()) for index, user in task.users.items()}
    assert len(held[5]) == len(held[7]) == 8
    assert len(held[5] & held[7]) == 6
    assert all(len(held[index]) == 10 for index in held if index not in (5, 7))
    assert set(task.classes) <= held[5] & held[7]
