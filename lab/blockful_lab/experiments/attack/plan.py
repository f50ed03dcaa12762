# SPDX-License-Identifier: Apache-2.0
"""Shadow federations over data sets, situations and requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from blockful_lab.experiments.attack import rows, shadows
from blockful_lab.experiments.attack.rows import AttackScenario, ShadowRow
from blockful_lab.experiments.attack.targets import LEVELS, Ask
from blockful_lab.experiments.machine import THREADS
from blockful_lab.experiments.measured_on import HERE, measured_on
from blockful_lab.experiments.protocol import Cell, Scale, lay_out, recipe_of
from blockful_lab.experiments.variants import Variant, variants
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import RunError, SettingsError
from blockful_py.forget import Level
from blockful_py.learning.datasets.registry import loader_of
from blockful_py.learning.device import use_threads
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.settings import DataOptions, EngineSettings
from blockful_py.unlearning.audit.margins import LEAST_MODELS
from blockful_py.verdicts.references import REFERENCES, rows_for

METHODS = ("clean_increments", "retrain_ahead")
"""Methods attacked by default."""

TOGETHER = 4
"""Shadow federations of a task: their waves of two models fill the largest stacks."""


@dataclass(frozen=True, slots=True)
class AttackPlan:
    """The scenarios and methods to attack, and the folder of the files.

    Attributes:
        shadows: federations a scenario; each gives a model of either kind.
        data_files: folder or hub id of the data set's files; None: the usual place.

    Raises SettingsError (when made) for too few shadow federations.
    """

    data: tuple[str, ...]
    situations: tuple[str, ...]
    asks: tuple[Ask, ...]
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]
    folder: Path
    shadows: int = 64
    scale: Scale = Scale.FULL
    data_files: str | None = None

    def __post_init__(self) -> None:
        if self.shadows < LEAST_MODELS:
            raise SettingsError(
                f"an attack needs at least {LEAST_MODELS} shadow federations, not {self.shadows}: "
                "64 are few already."
            )

    @property
    def command(self) -> str:
        """The command that gives the same results."""
        words = [f"--data {name}" for name in self.data]
        words += [f"--situation {name}" for name in self.situations]
        words += [f"--ask {ask}" for ask in self.asks]
        words += [f"--method {variant.name}" for variant in self.variants]
        words += [f"--seeds {','.join(map(str, self.seeds))}", f"--shadows {self.shadows}"]
        words += [f"--scale {self.scale}"]
        words += [f"--data-files {Path(self.data_files).name}"] if self.data_files else []
        return f"blockful experiment attack {' '.join(words)} --output {self.folder.name}"

    def scenarios(self) -> tuple[AttackScenario, ...]:
        return tuple(
            AttackScenario(Cell(data, situation, LEVELS[ask], seed, self.scale), ask)
            for seed, data, situation, ask in product(self.seeds, self.data, self.situations, self.asks)
        )

    def rows(self, scenario: AttackScenario) -> list[str]:
        """References, and the methods that can carry out the request."""
        level = scenario.cell.level
        references = rows_for(level is Level.CLASS)
        return [*references, *(variant.name for variant in self.variants if level in variant.levels)]


def attacked(names: Iterable[str]) -> tuple[Variant, ...]:
    """The variants of exactly these names.  Raises SettingsError as `variants`."""
    wanted = tuple(names)
    return tuple(variant for variant in variants(wanted) if variant.name in wanted)


def run(
    plan: AttackPlan,
    report: Callable[[str], None] = lambda line: None,
    progress: Progress | None = None,
    engine: EngineSettings = HERE,
) -> tuple[ShadowRow, ...]:
    """Trains the rows without a file, or with one of other settings, and returns all rows of the plan.

    A few shadow federations, which train in common stacks, are a task of the engine.  Finds the epochs of a
    data set and seed in this process first.

    Raises:
        SettingsError: there is no data set of a name.
        LearningError: too few samples to plant canaries.
        RunError: the folder holds rows of another scale or federation, or another process measures there.
        FormatError: a file in it is damaged.
        EngineError: the engine does not answer, or its workers cannot work.
    """
    for name in plan.data:
        loader_of(name)
    orders = tuple(_orders(plan))
    recipes = _recipes(plan, [order.scenario for order in orders])
    tasks = [_task(plan, order, recipes[order.scenario]["epochs"]) for order in orders]
    count = sum(len(order.missing) for order in orders)
    with (
        (progress or Silent()).stage("attack", count, "federations") as advance,
        measured_on(engine, plan.folder, tasks) as measured,
    ):
        for place, result in measured:
            order, told = orders[place], json.loads(result)
            for row in _told(plan, order.scenario, told, recipes[order.scenario]):
                _require_same_federation(plan, row)
                rows.write(plan.folder, row)
            advance(len(order.missing))
            report(f"{order.title}: {told['seconds']:.0f} s")
    return collect(plan)


def collect(plan: AttackPlan) -> tuple[ShadowRow, ...]:
    """All stored rows with the plan's settings.  Raises as `run`."""
    found = (
        _read(plan, scenario, shadow, name)
        for scenario in plan.scenarios()
        for name in plan.rows(scenario)
        for shadow in range(plan.shadows)
    )
    return tuple(row for row in found if row is not None)


def _read(plan: AttackPlan, scenario: AttackScenario, shadow: int, name: str) -> ShadowRow | None:
    path = rows.path_of(plan.folder, scenario, shadow, name)
    if not path.exists():
        return None
    row = rows.read(path)
    if row.scenario != scenario:
        other = row.scenario.cell.scale
        raise RunError(f"{path} is of scale {other}, not {plan.scale}: choose another folder.")
    return row if row.settings == _recorded(plan, name) else None


@dataclass(frozen=True, slots=True)
class _Batch:
    """Groups of shadow federations that train together, with the missing rows of each by number."""

    scenario: AttackScenario
    missing: Mapping[int, list[str]]

    @property
    def title(self) -> str:
        return f"{self.scenario.title}, shadows {', '.join(map(str, self.missing))}"


def _orders(plan: AttackPlan) -> Iterator[_Batch]:
    for scenario in plan.scenarios():
        names = plan.rows(scenario)
        lacking = {
            shadow: [name for name in names if not _read(plan, scenario, shadow, name)]
            for shadow in range(plan.shadows)
        }
        left = [shadow for shadow, missing in lacking.items() if missing]
        for first in range(0, len(left), TOGETHER):
            yield _Batch(scenario, {shadow: lacking[shadow] for shadow in left[first : first + TOGETHER]})


def _told(
    plan: AttackPlan, scenario: AttackScenario, told: Mapping[str, Any], recipe: Mapping[str, Any]
) -> Iterator[ShadowRow]:
    for number, shadow in told["shadows"].items():
        for name, margins in shadow["rows"].items():
            yield ShadowRow(
                scenario=scenario,
                shadow=int(number),
                name=name,
                settings=_recorded(plan, name),
                margins=margins,
                federation=shadow["federation"],
                affected=shadow["affected"],
                command=plan.command,
                machine=told["machine"],
                recipe=recipe,
            )


def _recorded(plan: AttackPlan, name: str) -> dict[str, Any]:
    return next((variant.recorded for variant in plan.variants if variant.name == name), {})


def _recipes(plan: AttackPlan, scenarios: Sequence[AttackScenario]) -> dict[AttackScenario, dict[str, Any]]:
    """Each scenario's epochs and how they were found, as for the audit's federations."""
    use_threads(THREADS)
    by_data: dict[tuple[str, int], dict[str, Any]] = {}
    found = {}
    for scenario in dict.fromkeys(scenarios):
        key = scenario.cell.data, scenario.cell.seed
        if key not in by_data:
            laid = lay_out(scenario.cell, DataOptions(plan.data_files))
            by_data[key] = asdict(recipe_of(laid.settings, laid.data))
        found[scenario] = by_data[key]
    return found


def _task(plan: AttackPlan, order: _Batch, epochs: int) -> EngineTask:
    asked = {
        str(shadow): {
            "references": [name for name in REFERENCES if name in missing],
            "variants": [variant.told for variant in plan.variants if variant.name in missing],
        }
        for shadow, missing in order.missing.items()
    }
    return EngineTask(
        title=order.title,
        function=f"{shadows.__name__}:{shadows.attack_shadows.__name__}",
        settings={
            "cell": asdict(order.scenario.cell),
            "ask": order.scenario.ask,
            "epochs": epochs,
            "data_files": plan.data_files,
            "shadows": asked,
        },
        cpus=THREADS,
    )


def _require_same_federation(plan: AttackPlan, row: ShadowRow) -> None:
    """Refuses rows of a shadow federation that was trained again to other bits."""
    for path in sorted(rows.path_of(plan.folder, row.scenario, row.shadow, row.name).parent.glob("*.json")):
        if rows.read(path).federation != row.federation:
            raise RunError(
                f"{path} is of a federation that came out otherwise, on another machine or by other code: "
                "choose another folder, or delete this scenario's."
            )


def by_scenario(found: Iterable[ShadowRow]) -> Mapping[AttackScenario, list[ShadowRow]]:
    """Rows by scenario, in the order of the plan."""
    grouped: dict[AttackScenario, list[ShadowRow]] = {}
    for row in found:
        grouped.setdefault(row.scenario, []).append(row)
    return grouped
