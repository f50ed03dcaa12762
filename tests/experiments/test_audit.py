# SPDX-License-Identifier: Apache-2.0
"""A small experiment: it resumes after an interruption, and its output can be checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from blockful_lab.experiments import protocol, results
from blockful_lab.experiments.audit import Plan, collect, run
from blockful_lab.experiments.plateau import Plateau, find_plateau
from blockful_lab.experiments.protocol import Scale
from blockful_lab.experiments.summary import summarise
from blockful_lab.experiments.variants import variants
from blockful_lab.experiments.writing import write_report
from blockful_py.errors import FormatError, RunError, SettingsError
from blockful_py.file_lock import FileLock
from blockful_py.forget import LEVELS, Level
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSpec
from blockful_py.settings import EngineSettings


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(
        data=("digits",),
        situations=("all_hold",),
        levels=(Level.CLASS,),
        seeds=(5,),
        variants=variants(["retrain"]),
        folder=tmp_path_factory.mktemp("audit"),
        scale=Scale.SMALL,
    )


FEW = Plateau(4, {"4": 0.9, "8": 0.91}, 200)


def brief(settings: FederationSpec, users: Sequence[UserData]) -> Plateau:
    """A recipe of few epochs, in a moment; `find_plateau` would train seven federations for one."""
    assert all(user.train.classes() == tuple(range(10)) for user in users)
    return FEW


@contextmanager
def recipe(find: Callable[[FederationSpec, Sequence[UserData]], Plateau]) -> Iterator[None]:
    """Has recipes found by `find`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "find_plateau", find)
        protocol._recipe.cache_clear()
        yield
    protocol._recipe.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def _few_epochs() -> Iterator[None]:
    with recipe(brief):
        yield


@pytest.fixture(scope="module")
def found(plan: Plan) -> tuple[results.Result, ...]:
    return run(plan)


def files(plan: Plan) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in plan.folder.rglob("seed-5/*.json")}


def test_there_is_a_file_a_row_that_says_how_it_was_made(
    plan: Plan, found: tuple[results.Result, ...]
) -> None:
    assert [result.row.method for result in found] == ["original", "gold", "gold2", "head_mask", "retrain"]
    path = plan.folder / "digits/all_hold/class/seed-5/retrain.json"
    document = json.loads(path.read_text())
    assert document["command"] == (
        "blockful experiment audit --data digits --situation all_hold --level class --method retrain "
        f"--seeds 5 --scale small --output {plan.folder.name}"
    )
    assert document["cell"]["seed"] == 5
    assert document["machine"]["packages"]["torch"]
    assert document["recipe"] == asdict(FEW)
    assert str(plan.folder) not in path.read_text()


def test_costs_are_shares_of_golds(found: tuple[results.Result, ...]) -> None:
    by_name = {method.method: method for method in summarise(found)}
    assert by_name["gold"].passes == by_name["gold"].critical_path == 100
    retrain = by_name["retrain"].passes
    assert retrain is not None and 0 < retrain < 100  # gold retrains the ancestors too
    assert by_name["original"].passes is None


def test_the_verdicts_words_for_exact_follow_the_references_of_the_row(
    found: tuple[results.Result, ...],
) -> None:
    for settings, words in (
        ({}, "exact given the graph"),
        ({"references": "chosen again"}, "exact with the graph chosen again"),
    ):
        rows = [
            replace(each, exact=True, settings=settings) if each.row.method == "retrain" else each
            for each in found
        ]
        by_name = {method.method: method for method in summarise(rows)}
        assert f"forgotten, {words}" in str(by_name["retrain"].verdict)
        assert "exact" not in str(by_name["original"].verdict)


@pytest.mark.slow
def test_a_rerun_measures_what_is_missing_or_of_other_settings_alone_and_alike(
    plan: Plan, found: tuple[results.Result, ...]
) -> None:
    before = files(plan)
    said: list[str] = []
    run(plan, said.append)
    assert said == []
    results.path_of(plan.folder, found[0].cell, "gold2").unlink()
    retrain = results.path_of(plan.folder, found[0].cell, "retrain")
    retrain.write_text(retrain.read_text().replace('"settings": {}', '"settings": {"epochs": 3}'))
    assert [result.row.method for result in collect(plan)] == ["original", "gold", "head_mask"]
    again = run(plan, said.append)
    assert [line.split(":")[1].split(",")[0] for line in said] == [" 2 rows"]
    assert [result.row for result in again] == [result.row for result in found]
    assert again[-1].settings == {}
    measured = {"gold2", "retrain"}
    after = files(plan)
    assert all(after[name] == data for name, data in before.items() if name not in measured)


def test_methods_that_cannot_forget_at_a_level_are_named(
    plan: Plan, found: tuple[results.Result, ...]
) -> None:
    many = replace(plan, levels=LEVELS, variants=variants(["retrain", "scrub", "ppnr"]), seeds=())
    said: list[str] = []
    assert run(many, said.append) == ()
    assert said == [
        "Level client has no row of ppnr, scrub: not made for it.",
        "Level sample has no row of ppnr: not made for it.",
    ]
    assert said[1] in write_report(many, found).markdown


def test_the_control_is_found_out_and_the_report_says_so(
    plan: Plan, found: tuple[results.Result, ...]
) -> None:
    report = write_report(plan, found)
    assert sorted(report.files) == ["audit.json", "audit.md", "audit.png"]
    (scenario,) = report.document["scenarios"]
    verdicts = {method["method"]: method["forgotten"] for method in scenario["methods"]}
    assert verdicts["gold2"]
    assert not verdicts["head_mask"] and not verdicts["original"]
    lines = report.markdown.splitlines()
    epochs = report.document["recipes"]["digits"]["5"]["epochs"]
    assert any(
        line.startswith(
            f"Epochs on digits, with the held-out accuracy that they and twice as many reach: {epochs} ("
        )
        for line in lines
    )
    assert "## digits, all hold, class" in lines
    masked = next(line for line in lines if line.startswith("| head_mask |"))
    assert masked.rstrip(" |").endswith(("not forgotten", "not forgotten, damaged"))
    assert (plan.folder / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((plan.folder / "audit.json").read_text())["seeds"] == [5]


def test_nothing_measured_is_no_report(plan: Plan, tmp_path: Path) -> None:
    empty = replace(plan, folder=tmp_path)
    with pytest.raises(RunError, match="measure them first"):
        write_report(empty, collect(empty))


def test_a_damaged_or_foreign_file_is_named(plan: Plan, found: tuple[results.Result, ...]) -> None:
    path = results.path_of(plan.folder, found[0].cell, "retrain")
    whole = path.read_text()
    try:
        for broken in (whole[:200], json.dumps({"format": "other/1"}), "[]"):
            path.write_text(broken)
            with pytest.raises(FormatError, match=r"retrain\.json is no result"):
                collect(plan)
    finally:
        path.write_text(whole)
    with pytest.raises(RunError, match="of scale small and the small network, not of full"):
        collect(replace(plan, scale=Scale.FULL))


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["weights", "samples"])
def test_rows_of_another_federation_or_other_samples_are_not_mixed(
    plan: Plan, found: tuple[results.Result, ...], changed: str
) -> None:
    original, retrain = (
        results.path_of(plan.folder, found[0].cell, name) for name in ("original", "retrain")
    )
    kept = original.read_bytes(), retrain.read_bytes()
    document = json.loads(kept[0])
    (document if changed == "samples" else document["models"][0])[changed] = "0" * 64
    original.write_text(json.dumps(document))
    retrain.unlink()
    try:
        with pytest.raises(RunError, match=r"came out otherwise|asked about other samples"):
            run(plan)
    finally:
        original.write_bytes(kept[0])
        retrain.write_bytes(kept[1])


def test_a_reference_that_is_missing_is_named(found: tuple[results.Result, ...]) -> None:
    with pytest.raises(RunError, match="row gold2 of seed 5"):
        summarise([result for result in found if result.row.method != "gold2"])


def test_methods_are_chosen_by_name() -> None:
    assert {"retrain", "gradient_ascent"} <= {variant.name for variant in variants()}
    assert [variant.name for variant in variants(["retrain"])] == ["retrain"]
    assert [variant.name for variant in variants(["fiun"])] == ["fiun", "fiun_all"]
    made, short, stored = variants(["clean_increments"])
    assert made.levels == stored.levels == frozenset(LEVELS)
    assert short.levels == {Level.SAMPLE}
    assert made.recorded == {}
    assert short.recorded == {"share": 0.8}
    assert stored.recorded == {"stored": True}
    assert (made.stored, stored.stored) == ("", "increments")
    with pytest.raises(SettingsError, match="no method 'magic' to audit"):
        variants(["magic"])


@pytest.mark.slow
@pytest.mark.slow
def test_processes_measure_the_same_rows(plan: Plan, tmp_path: Path) -> None:
    there, here = (replace(plan, folder=tmp_path / name) for name in ("there", "here"))
    rows = run(there, engine=EngineSettings("processes", None, 1))
    with recipe(find_plateau):
        assert [(each.row, each.samples) for each in run(here)] == [(each.row, each.samples) for each in rows]
    assert sorted(path.name for path in there.folder.iterdir()) == ["digits"]


def test_a_data_set_of_ones_own_has_a_folder(plan: Plan) -> None:
    (cell,) = replace(plan, data=("wines:load",)).cells()
    assert results.path_of(plan.folder, cell, "gold").relative_to(plan.folder).parts[0] == "wines.load"


def test_unknown_data_sets_are_refused_before_anything_is_measured(plan: Plan) -> None:
    for name, reason in (("mnist", "Known: cifar10"), ("nowhere:load", "cannot be imported")):
        with pytest.raises(SettingsError, match=reason):
            run(replace(plan, data=("digits", name)))


def test_one_process_at_a_time_measures_in_a_folder(plan: Plan, tmp_path: Path) -> None:
    there = replace(plan, folder=tmp_path)
    with FileLock(tmp_path / "experiment.lock", RunError), pytest.raises(RunError, match="measures in"):
        run(there)
