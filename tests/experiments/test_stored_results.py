# SPDX-License-Identifier: Apache-2.0
"""The tables in benchmarks/results/ match the figures stored beside them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.attack_costs_table import markdown as attack_costs
from benchmarks.audited_machines_table import table as audited_machines
from benchmarks.chosen_again import render as client_in_the_graph
from benchmarks.descent import render as descents
from benchmarks.federation_device_table import markdown as on_a_gpu
from benchmarks.machines import lines
from benchmarks.machines_table import markdown as processes
from benchmarks.pair_table import markdown as pairs
from benchmarks.requests_in_turn_table import markdown as in_turn
from benchmarks.short_recipes import render as short_recipes
from benchmarks.single_model_table import markdown as single_models
from benchmarks.stored import FIGURES, load
from benchmarks.unlearning import markdown as costs
from blockful_lab.experiments.attack.tabulate import markdown as attacks
from blockful_lab.experiments.comparison import compare
from blockful_lab.experiments.family.members import CHEATS, HEIRS
from blockful_lab.experiments.family.writing import markdown as families
from blockful_lab.experiments.overview import overview
from blockful_lab.experiments.paper import Rerun
from blockful_lab.experiments.protocol import Scale
from blockful_lab.experiments.scale.writing import markdown as render
from blockful_lab.experiments.scale.writing import read
from blockful_lab.experiments.tables import Case, Measured, cases, collect
from blockful_lab.experiments.tabulate import markdown
from blockful_lab.experiments.writing import rewrite_report
from blockful_py.errors import FormatError, RunError
from blockful_py.unlearning.audit import disclosed_bits

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
AUDITS = sorted(path.parent for path in RESULTS.rglob("audit.json"))
ATTACKS = sorted(path.parent for path in RESULTS.rglob("attack.json"))
SEEDS = (5, 6, 7, 8, 9)
SMALL = Rerun(Scale.SMALL)
FOUND_OUT = ("original", "head_mask")


@pytest.fixture(scope="module")
def found() -> dict[Case, tuple[Measured, ...]]:
    return collect(cases(SEEDS, SMALL), RESULTS / "tables")


@pytest.mark.parametrize("folder", AUDITS, ids=lambda folder: folder.name)
def test_an_audits_tables_follow_from_its_document(folder: Path) -> None:
    document = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    assert markdown(document) == (folder / "audit.md").read_text(encoding="utf-8")
    document["scenarios"][0]["methods"][0]["figures"]["damage"]["mean"]["value"] += 0.01
    assert markdown(document) != (folder / "audit.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_an_attacks_tables_follow_from_its_document(folder: Path) -> None:
    document = json.loads((folder / "attack.json").read_text(encoding="utf-8"))
    assert attacks(document) == (folder / "attack.md").read_text(encoding="utf-8")
    assert document["disclosed_bits"] == disclosed_bits(document["scenarios"])
    document["scenarios"][0]["views"][0]["methods"][0]["attack"]["auc"]["value"] += 0.01
    assert attacks(document) != (folder / "attack.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ATTACKS, ids=lambda folder: folder.name)
def test_the_attack_finds_the_control_out_and_passes_gold2(folder: Path) -> None:
    """The attack detects every forgotten target of the control, for all methods."""
    document = json.loads((folder / "attack.json").read_text(encoding="utf-8"))
    for scenario in document["scenarios"]:
        found = {
            method["method"]: method["attack"]
            for view in scenario["views"]
            if view["target"] != "retained" and view["view"] == "first start"
            for method in view["methods"]
        }
        assert found["gold2"]["auc"]["low"] <= 0.5
        assert found["gold2"]["epsilon"]["low"] == 0 < found["original"]["epsilon"]["low"]
        assert min(attack["auc"]["low"] for name, attack in found.items() if name in FOUND_OUT) > 0.6


@pytest.mark.parametrize("name", ["pair", "pair_fashion_mnist_small"])
def test_the_table_of_pairs_follows_from_its_document(name: str) -> None:
    document = load(FIGURES, name)
    assert pairs(document) == (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    document["rows"][0]["figures"]["start/drop/never seen"]["auc"][0] += 0.5
    assert pairs(document) != (RESULTS / f"{name}.md").read_text(encoding="utf-8")


def test_attacks_on_pairs_find_the_control_out_and_nothing_where_nothing_is() -> None:
    """Single samples, at the start."""
    document = load(FIGURES, "pair")
    found = {row["method"]: row for row in document["rows"] if row["size"] == 1}
    control, nothing = found["one step"], found["neither knew"]
    for score in ("drop", "aligned"):
        assert min(control["figures"][f"start/{score}/never seen"]["auc"]) > 0.9
        seeds = nothing["figures"][f"start/{score}/never seen"]["auc"]
        assert 0.35 < sum(seeds) / len(seeds) < 0.65
    assert min(control["rank"]) > 0.75
    assert 0.35 < sum(nothing["rank"]) / len(nothing["rank"]) < 0.65


def test_the_scale_follows_from_its_document() -> None:
    results = read(RESULTS / "scale")
    assert render(results) == (RESULTS / "scale" / "scale.md").read_text(encoding="utf-8")
    assert render(replace(results, growth=results.growth[:-1])) != render(results)
    assert all(run.counted == run.formula for run in results.real)


def test_the_tables_of_families_follow_from_their_document() -> None:
    document = json.loads((RESULTS / "family" / "family.json").read_text(encoding="utf-8"))
    assert families(document) == (RESULTS / "family" / "family.md").read_text(encoding="utf-8")
    document["audits"]["gil/pair"]["rows"]["gold"][0]["auc"] += 0.5
    assert families(document) != (RESULTS / "family" / "family.md").read_text(encoding="utf-8")


def test_families_forget_with_the_bits_of_others_and_pretenders_are_found() -> None:
    """U-LiRA tells both pretenders from models that never had the texts, and not what was computed again."""
    document = json.loads((RESULTS / "family" / "family.json").read_text(encoding="utf-8"))
    assert all(
        each["verified"] and all(each["same_bits"].values()) for each in document["forgotten"].values()
    )
    for name in HEIRS:
        attack = document["audits"][name]["u_lira"]
        assert attack["unlearned"]["low"] <= attack["gold2"]["high"]
        assert attack["original"]["low"] > 0.9
    for name in CHEATS:
        attack = document["audits"][name]["u_lira"]
        assert attack["unlearned"]["low"] > attack["gold2"]["high"]


def test_tables_are_made_anew_from_the_document_alone(tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_bytes((AUDITS[0] / "audit.json").read_bytes())
    assert rewrite_report(tmp_path).files == ("audit.md",)
    assert (tmp_path / "audit.md").read_bytes() == (AUDITS[0] / "audit.md").read_bytes()


def test_a_folder_without_a_document_and_a_damaged_one_are_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="measure them first"):
        rewrite_report(tmp_path)
    for damaged in ("", "{}", '{"scenarios": [{}]}'):
        (tmp_path / "audit.json").write_text(damaged)
        with pytest.raises(FormatError, match=r"audit\.json is no document of an audit"):
            rewrite_report(tmp_path)


def test_the_overview_follows_from_the_cases(found: dict[Case, tuple[Measured, ...]]) -> None:
    lines = "\n".join(overview(found, tuple(compare(found, SMALL))))
    stored = (RESULTS / "tables" / "tables.md").read_text(encoding="utf-8")
    assert lines in stored
    without = {case: measured for case, measured in found.items() if case.seed != SEEDS[0]}
    assert "\n".join(overview(without, tuple(compare(without, SMALL)))) not in stored


FASHION = Rerun(Scale.FULL, ("Fashion-MNIST",))
OWN_DATA = {
    "tables_full": (replace(FASHION, epochs=5), 8),
    "tables_alexnet": (replace(FASHION, classes=(1,), networks=("alexnet",), epochs=5), 2),
    "tables_networks": (
        replace(FASHION, classes=(1,), networks=("resnet18", "mobilenet_v2"), epochs=4, data_limit=3000),
        4,
    ),
}
"""Stored results on the paper's own data, with their numbers of cases."""


@pytest.mark.parametrize("page", OWN_DATA)
def test_the_overview_of_the_papers_own_data_follows_from_its_cases(page: str) -> None:
    rerun, count = OWN_DATA[page]
    found = collect(cases((5, 6), rerun), RESULTS / "tables")
    assert len(found) == count
    lines = "\n".join(overview(found, tuple(compare(found, rerun))))
    assert lines in (RESULTS / "tables" / f"{page}.md").read_text(encoding="utf-8")


def test_an_overview_has_a_mean_and_a_deviation_over_the_seeds(
    found: dict[Case, tuple[Measured, ...]],
) -> None:
    setting, count = next((case.setting, case.classes) for case in found if case.setting.data == "shapes")
    two = {case: found[case] for case in found if (case.setting, case.classes) == (setting, count)}
    two = dict(list(two.items())[:2])
    kept = [
        sum(one.ad_r_test for one in measured if one.method == "retrain") / 3 * 100
        for measured in two.values()
    ]
    expected = f"{sum(kept) / 2:.1f} ± {abs(kept[0] - kept[1]) / 2**0.5:.1f} / "
    rows = [line for line in overview(two, ()) if line.startswith(f"| {count} | {setting.title} |")]
    assert len(rows) == 1 and rows[0].split("|")[4].strip().startswith(expected)


def test_what_a_request_takes_follows_from_its_file() -> None:
    result = load(FIGURES, "unlearning")
    assert costs(result) == (RESULTS / "unlearning.md").read_text(encoding="utf-8")
    result["cases"][1]["passes"] *= 2
    assert costs(result) != (RESULTS / "unlearning.md").read_text(encoding="utf-8")


def test_the_page_of_a_client_in_the_graph_follows_from_its_figures() -> None:
    figures = load(FIGURES, "chosen_again")
    assert client_in_the_graph(figures) == (RESULTS / "chosen_again.md").read_text(encoding="utf-8")


def test_the_page_of_descent_follows_from_its_figures() -> None:
    figures, stored = load(FIGURES, "descent"), (RESULTS / "descent.md").read_text("utf-8")
    assert descents(figures) == stored
    figures["federations"]["honest"]["organic, cnn, 20 epochs"][0] += 1
    assert descents(figures) != stored


def test_the_page_of_short_recipes_follows_from_its_figures() -> None:
    figures, stored = load(FIGURES, "short_recipes"), (RESULTS / "short_recipes.md").read_text("utf-8")
    assert short_recipes(figures) == stored
    figures[0]["recipes"]["smallest"]["ad_r"] += 0.01
    assert short_recipes(figures) != stored


def test_audited_machines_follow_from_their_figures() -> None:
    result = load(FIGURES, "audited_machines")
    stored = (RESULTS / "audited_machines.md").read_text(encoding="utf-8")
    assert audited_machines(result) == stored
    result["levels"]["class"]["5"][0]["auc"]["machines"][0] += 0.5
    assert audited_machines(result) != stored


def test_requests_in_turn_follow_from_their_file() -> None:
    result = load(FIGURES, "in_turn")
    assert in_turn(result) == (RESULTS / "in_turn.md").read_text(encoding="utf-8")
    result["groups"][0]["unlearned"]["figures"]["damage"]["mean"]["value"] += 0.01
    assert in_turn(result) != (RESULTS / "in_turn.md").read_text(encoding="utf-8")


def test_the_tables_of_single_models_follow_from_their_file() -> None:
    result = load(FIGURES, "single_model")
    assert single_models(result) == (RESULTS / "single_model.md").read_text(encoding="utf-8")
    for request in result["requests"]:
        found = {row["method"]: row for row in request["rows"]}
        assert found["gold2"]["u_lira"]["auc"]["low"] < 0.5 < found["gold2"]["u_lira"]["auc"]["high"]
        assert found["gold2"]["klom"]["forget"]["p95"] < found["original"]["klom"]["forget"]["p95"]
    result["requests"][0]["rows"][0]["klom"]["forget"]["p95"] += 1
    assert single_models(result) != (RESULTS / "single_model.md").read_text(encoding="utf-8")


def test_the_tables_of_a_federation_of_processes_follow_from_its_figures() -> None:
    figures, stored = lines(RESULTS / "machines.jsonl"), (RESULTS / "machines.md").read_text(encoding="utf-8")
    assert processes(figures) == stored
    figures[0]["seconds"] += 1
    assert processes(figures) != stored


def test_the_tables_of_a_federation_on_a_gpu_follow_from_its_figures() -> None:
    result = load(FIGURES, "federation_device")
    assert on_a_gpu(result) == (RESULTS / "federation_device.md").read_text(encoding="utf-8")
    result["cases"][0]["sides"]["gpu"]["training"]["seconds"][0] *= 2
    assert on_a_gpu(result) != (RESULTS / "federation_device.md").read_text(encoding="utf-8")


def test_what_attacks_cost_follows_from_its_file() -> None:
    result = load(FIGURES, "attack_costs")
    assert attack_costs(result) == (RESULTS / "attack_costs.md").read_text(encoding="utf-8")
    result[0]["rows"][0]["seconds"] *= 2
    assert attack_costs(result) != (RESULTS / "attack_costs.md").read_text(encoding="utf-8")


def test_the_index_names_every_script_that_is_a_command() -> None:
    folder = RESULTS.parent
    index = (folder / "README.md").read_text(encoding="utf-8")
    scripts = {path.name for path in folder.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert {name for name in scripts if f"]({name})" not in index} == {"cifar10_files.py"}
    assert all((folder / name).is_file() for name in re.findall(r"\]\((\w+\.py)\)", index))
