# SPDX-License-Identifier: Apache-2.0
"""The audit of all methods over data sets, situations, levels and seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

from blockful_py.errors import RunError
from blockful_py.experiments import results
from blockful_py.experiments.machine import describe
from blockful_py.experiments.protocol import TUNING_SEEDS, Cell, PreparedCell, Scale, prepare
from blockful_py.experiments.variants import Variant
from blockful_py.forget import Level
from blockful_py.learning.device import use_threads
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.unlearning.audit import bench as benches
from blockful_py.unlearning.audit.auditing import samples_digest
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.cost import Cost
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.references import GOLD, HEAD_MASK, ORIGINAL, REFERENCES

THREADS = 1
"""Of torch: sums, and so the bits, depend on their number."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured, and where the files go."""

    data: tuple[str, ...]
    situations: tuple[str, ...]
    levels: tuple[Level, ...]
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]
    folder: Path
    scale: Scale = Scale.FULL

    @property
    def command(self) -> str:
        """What to type for the same results."""
        words = [f"--data {name}" for name in self.data]
        words += [f"--situation {name}" for name in self.situations]
        words += [f"--level {level}" for level in self.levels]
        words += [f"--method {variant.name}" for variant in self.variants]
        words += [f"--seeds {','.join(map(str, self.seeds))}", f"--scale {self.scale}"]
        words += ["--tuning"] * (not set(self.seeds).isdisjoint(TUNING_SEEDS))
        return f"blockful experiment audit {' '.join(words)} --output {self.folder.name}"

    def cells(self) -> tuple[Cell, ...]:
        """Seed after seed, so that an experiment cut short has every scenario."""
        return tuple(
            Cell(data, situation, level, seed, self.scale)
            for seed, data, situation, level in product(self.seeds, self.data, self.situations, self.levels)
        )


def run(
    plan: Plan, report: Callable[[str], None] = lambda line: None, progress: Progress | None = None
) -> tuple[results.Result, ...]:
    """Measure what no file has yet, or one made with other settings, and give back all rows of the plan.

    Reports each cell that is measured, and methods that cannot forget at a level of the plan.

    Raises:
        RunError: the folder holds results of another scale.
        FormatError: a file in it is damaged.
    """
    use_threads(THREADS)
    for line in left_out(plan):
        report(line)
    cells = {
        cell: [name for name in _rows(plan, cell) if not _read(plan, cell, name)] for cell in plan.cells()
    }
    total = sum(map(len, cells.values()))
    with (progress or Silent()).stage("audit", total, "rows") as advance:
        for cell, missing in cells.items():
            if missing:
                began = perf_counter()
                _measure(plan, cell, missing, lambda: advance(1))
                report(f"{_title(cell)}: {len(missing)} rows, {perf_counter() - began:.0f} s")
    return collect(plan)


def collect(plan: Plan) -> tuple[results.Result, ...]:
    """All rows of the plan that have a file, and were made with the plan's settings.

    Raises as `run`.
    """
    rows = (_read(plan, cell, name) for cell in plan.cells() for name in _rows(plan, cell))
    return tuple(result for result in rows if result is not None)


def _read(plan: Plan, cell: Cell, name: str) -> results.Result | None:
    path = results.path_of(plan.folder, cell, name)
    if not path.exists():
        return None
    result = results.read(path)
    if result.cell != cell:
        raise RunError(f"{path} is of scale {result.cell.scale}, not {cell.scale}: choose another folder.")
    recorded = {variant.name: variant.recorded_for(cell.data) for variant in plan.variants}
    return result if result.settings == recorded.get(name, {}) else None


def _rows(plan: Plan, cell: Cell) -> list[str]:
    """References and those methods that can forget at this level."""
    references = [name for name in REFERENCES if name != HEAD_MASK or cell.level is Level.CLASS]
    able = [variant.name for variant in plan.variants if cell.level in variant.levels]
    return [*references, *able]


def left_out(plan: Plan) -> tuple[str, ...]:
    """A line for each level of the plan that some of its methods cannot forget at, or are not tuned for."""
    lines = []
    for level in plan.levels:
        unable = [variant.name for variant in plan.variants if level not in variant.levels]
        if unable:
            lines.append(f"Level {level} has no row of {', '.join(unable)}: not made for it.")
    return tuple(lines)


def _method(variant: Variant, cell: Cell) -> Any:
    return create_method(variant.method, **variant.settings_for(cell.data))


def _measure(plan: Plan, cell: Cell, missing: Sequence[str], kept: Callable[[], None]) -> None:
    prepared = prepare(cell)
    _require_same_federation(plan, cell, prepared.task)
    bench = benches.prepare(prepared.task, audit_samples(prepared.task, prepared.data))
    digest, machine = samples_digest(bench.samples), describe(THREADS)

    def keep(name: str, made: Made, settings: Mapping[str, Any]) -> None:
        row = bench.measure(name, made.weights)
        results.write(
            plan.folder,
            results.Result(cell, settings, row, made.cost, made.seconds, digest, plan.command, machine),
        )
        kept()

    for name in REFERENCES:
        if name in missing:
            keep(name, _reference(bench, name), {})
    for variant in plan.variants:
        if variant.name in missing:
            keep(variant.name, _unlearn(prepared, variant, cell), variant.recorded_for(cell.data))


def _require_same_federation(plan: Plan, cell: Cell, task: UnlearningTask) -> None:
    """Rows of one cell belong together only where the federation came out bit for bit as before."""
    path = results.path_of(plan.folder, cell, ORIGINAL)
    if not path.exists():
        return
    before = {model.model: model.weights for model in results.read(path).row.models}
    after = {name: benches.weights_digest(task.models[name].weights) for name in task.affected()}
    if before != after:
        raise RunError(
            f"{path} is of a federation that came out otherwise, on another machine or by other code: "
            "choose another folder, or delete this cell's."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """New weights, and what they took."""

    weights: Mapping[str, Weights]
    cost: Cost | None
    seconds: float


def _reference(bench: benches.Bench, name: str) -> Made:
    began = perf_counter()
    weights = bench.reference(name)
    return Made(weights, bench.gold_cost if name == GOLD else None, perf_counter() - began)


def _unlearn(prepared: PreparedCell, variant: Variant, cell: Cell) -> Made:
    task = prepared.storing(variant.clean_references) if variant.stored else prepared.task
    began = perf_counter()
    outcome = _method(variant, cell).unlearn(task)
    return Made(outcome.weights, outcome.cost, perf_counter() - began)


def _title(cell: Cell) -> str:
    return f"{cell.data}, {cell.situation}, {cell.level}, seed {cell.seed}"


def scenarios(rows: Iterable[results.Result]) -> dict[tuple[str, str, Level], list[results.Result]]:
    """Rows by data set, situation and level, in the order of the plan."""
    grouped: dict[tuple[str, str, Level], list[results.Result]] = {}
    for result in rows:
        cell = result.cell
        grouped.setdefault((cell.data, cell.situation, cell.level), []).append(result)
    return grouped
