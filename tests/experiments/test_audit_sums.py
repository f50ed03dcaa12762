# SPDX-License-Identifier: Apache-2.0
"""The experiment audits models of sums: without epochs, by bits, with methods and cheats of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blockful_lab.experiments import results
from blockful_lab.experiments.audit import Plan, collect, run
from blockful_lab.experiments.protocol import Scale
from blockful_lab.experiments.variants import CHEATS, variants
from blockful_lab.experiments.writing import rewrite_report, write_report
from blockful_py.errors import RunError, SettingsError
from blockful_py.forget import Level


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(
        data=("benchmarks.numbers:wine",),
        situations=("few_hold",),
        levels=(Level.CLASS,),
        seeds=(5,),
        variants=variants(["subtract", "cheat_hidden_32"], "analytic"),
        folder=tmp_path_factory.mktemp("audit"),
        scale=Scale.SMALL,
        model="analytic",
    )


@pytest.fixture(scope="module")
def found(plan: Plan) -> tuple[results.Result, ...]:
    return run(plan)


def test_subtraction_is_exact_and_what_hides_sums_is_found_out(
    plan: Plan, found: tuple[results.Result, ...]
) -> None:
    report = write_report(plan, found)
    (scenario,) = report.document["scenarios"]
    verdicts = {method["method"]: method["verdict"] for method in scenario["methods"]}
    assert [name for name, said in verdicts.items() if said.startswith("not forgotten")] == [
        "original", "head_mask", "cheat_hidden_32"
    ]  # fmt: skip
    assert verdicts["subtract"] == "forgotten, exact given the graph"
    assert "models with other bits than gold's" in verdicts["cheat_hidden_32"]
    assert "| method | other bits | damage |" in report.markdown
    assert "Epochs on" not in report.markdown and report.document["recipes"] == {}
    assert "--model analytic --method subtract" in report.document["command"]
    assert rewrite_report(plan.folder).markdown == report.markdown


@pytest.mark.slow
def test_merged_models_are_audited_by_bits_with_epochs_of_their_own(tmp_path: Path) -> None:
    """Where all hold a class, the request starts at all of their models."""
    plan = Plan(
        data=("benchmarks.numbers:wine",),
        situations=("all_hold",),
        levels=(Level.CLASS,),
        seeds=(5,),
        variants=variants(["subtract", "cheat_sheltered_1"], "merged"),
        folder=tmp_path,
        scale=Scale.SMALL,
        model="merged",
    )
    (scenario,) = write_report(plan, run(plan)).document["scenarios"]
    verdicts = {method["method"]: method["verdict"] for method in scenario["methods"]}
    assert verdicts["subtract"] == "forgotten, exact given the graph"
    assert all("not forgotten" in verdicts[name] for name in ("original", "head_mask", "cheat_sheltered_1"))
    recipe = results.read(results.path_of(tmp_path, plan.cells()[0], "gold")).recipe
    assert recipe["epochs"] >= 1


def test_rows_of_another_model_are_not_mixed(plan: Plan, found: tuple[results.Result, ...]) -> None:
    assert collect(plan) == found
    with pytest.raises(RunError, match="model analytic, not of small and the small network"):
        collect(replace(plan, model=None, variants=variants(["retrain"])))


def test_rows_from_before_models_were_named_are_of_the_small_network(
    found: tuple[results.Result, ...], tmp_path: Path
) -> None:
    document = results.to_document(found[0])
    assert results.from_document(document).cell.model == "analytic"
    del document["cell"]["model"]
    assert results.from_document(document).cell.model is None


def test_each_kind_of_models_has_its_methods() -> None:
    assert [each.recorded for each in variants(model="analytic")] == [{}]
    assert [each.recorded for each in variants(model="merged")] == [{"merged": True}]
    assert CHEATS != variants(["cheats"], "analytic") != variants(["cheats"], "merged") != CHEATS
    with pytest.raises(SettingsError, match=r"no method 'retrain' to audit on models of sums"):
        variants(["retrain"], "merged")
    with pytest.raises(SettingsError, match="no method 'subtract' to audit on networks"):
        variants(["subtract"])


def test_an_unknown_model_is_refused_before_anything_is_measured(plan: Plan) -> None:
    with pytest.raises(SettingsError, match="no model 'sums'"):
        run(replace(plan, model="sums"))
