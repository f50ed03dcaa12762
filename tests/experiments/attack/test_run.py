# SPDX-License-Identifier: Apache-2.0
"""Shadow federations, few and hardly trained: they go on where they stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from blockful_lab.experiments.attack import plan as plans
from blockful_lab.experiments.attack import rows
from blockful_lab.experiments.attack.figures import figures_of
from blockful_lab.experiments.attack.plan import AttackPlan, attacked, collect, run
from blockful_lab.experiments.attack.rows import ShadowRow
from blockful_lab.experiments.attack.shadows import VIEWS
from blockful_lab.experiments.attack.targets import Ask
from blockful_lab.experiments.plateau import Plateau
from blockful_lab.experiments.protocol import Scale
from blockful_py.errors import FormatError, RunError, SettingsError
from blockful_py.unlearning.audit.canaries import CANARIES

REFERENCES = ["original", "gold", "gold2"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> AttackPlan:
    return AttackPlan(
        data=("digits",),
        situations=("all_hold",),
        asks=(Ask.CANARIES,),
        seeds=(5,),
        variants=attacked(["clean_increments"]),
        folder=tmp_path_factory.mktemp("attack"),
        shadows=5,
        scale=Scale.SMALL,
    )


@pytest.fixture(scope="module", autouse=True)
def one_epoch() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "recipe_of", lambda settings, data: Plateau(1, {"1": 0.1}, 100))
        yield


@pytest.fixture(scope="module")
def found(plan: AttackPlan) -> tuple[ShadowRow, ...]:
    return run(plan)


def margins(found: tuple[ShadowRow, ...]) -> dict[tuple[str, int], rows.Margins]:
    return {(row.name, row.shadow): row.margins for row in found}


def test_every_federation_has_a_file_for_each_row(plan: AttackPlan, found: tuple[ShadowRow, ...]) -> None:
    assert {row.name for row in found} == {*REFERENCES, "clean_increments"}
    assert len(found) == 5 * 4
    (scenario,) = plan.scenarios()
    path = rows.path_of(plan.folder, scenario, 4, "gold")
    assert path.relative_to(plan.folder).as_posix() == "digits/all_hold/canaries/seed-5/shadow-04/gold.json"
    assert rows.read(path) in found
    assert rows.read(path).command == (
        "blockful experiment attack --data digits --situation all_hold --ask canaries --method "
        f"clean_increments --seeds 5 --shadows 5 --scale small --output {plan.folder.name}"
    )


def test_canaries_are_asked_about_beside_their_like_and_retained_samples(
    found: tuple[ShadowRow, ...],
) -> None:
    targets = found[0].margins
    assert list(targets) == ["mislabelled", "unusual", "retained"]
    for kind in ("mislabelled", "unusual"):
        assert list(targets[kind]) == list(VIEWS)
        sizes = {part: len(values) for part, values in targets[kind][VIEWS[0]].items()}
        assert sizes == {"asked": CANARIES, "strangers": CANARIES, "near": 8 * CANARIES}
    assert set(targets["retained"][VIEWS[0]]) == {"asked", "strangers"}


def test_federations_are_independent_and_gold_shares_no_draw(found: tuple[ShadowRow, ...]) -> None:
    assert len({row.federation for row in found}) == 5
    by_row = margins(found)
    assert by_row["gold", 0] != by_row["gold2", 0] != by_row["original", 0]


def test_a_rerun_measures_what_is_missing_alone_and_alike(
    plan: AttackPlan, found: tuple[ShadowRow, ...]
) -> None:
    (scenario,) = plan.scenarios()
    said: list[str] = []
    assert run(plan, said.append) == found
    assert said == []
    rows.path_of(plan.folder, scenario, 3, "gold").unlink()
    assert len(collect(plan)) == len(found) - 1
    assert margins(run(plan, said.append)) == margins(found)
    assert [line.split(": ")[0] for line in said] == ["digits, all hold, canaries, seed 5, shadows 3"]


def test_rows_of_other_federations_or_formats_are_refused(
    plan: AttackPlan, found: tuple[ShadowRow, ...]
) -> None:
    (scenario,) = plan.scenarios()
    path, other = (rows.path_of(plan.folder, scenario, 2, name) for name in ("gold", "original"))
    kept, missing = path.read_text(), other.read_text()
    try:
        path.write_text(kept.replace(found[0].federation[:8], "00000000").replace("attack/1", "attack/0"))
        with pytest.raises(FormatError, match=r"gold\.json is no result"):
            collect(plan)
        row = rows.read(other)
        path.write_text(kept.replace(row.federation, "0" * 64))
        other.unlink()
        with pytest.raises(RunError, match="came out otherwise"):
            run(plan)
    finally:
        path.write_text(kept)
        other.write_text(missing)
    with pytest.raises(RunError, match="of scale small, not full"):
        collect(replace(plan, scale=Scale.FULL))


def test_its_figures_follow(plan: AttackPlan, found: tuple[ShadowRow, ...]) -> None:
    (scenario,) = plan.scenarios()
    attacks = figures_of(scenario, found)
    assert attacks.shadows == 5
    assert len(attacks.views) == 3 * len(VIEWS)


def test_methods_are_named_exactly_and_a_few_federations_are_too_few(plan: AttackPlan) -> None:
    assert [variant.name for variant in attacked(["fiun", "retrain_ahead"])] == ["fiun", "retrain_ahead"]
    with pytest.raises(SettingsError, match="no method 'magic'"):
        attacked(["magic"])
    with pytest.raises(SettingsError, match="at least 4 shadow federations, not 3"):
        replace(plan, shadows=3)
