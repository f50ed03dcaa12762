# SPDX-License-Identifier: Apache-2.0
"""The audit of all methods over data sets, situations, levels and seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from blockful_lab.experiments import cell_task, results
from blockful_lab.experiments.machine import THREADS
from blockful_lab.experiments.measured_on import HERE, measured_on
from blockful_lab.experiments.protocol import TUNING_SEEDS, Cell, Scale
from blockful_lab.experiments.variants import Variant
from blockful_py.engine.tasks import EngineTask
from blockful_py.errors import RunError
from blockful_py.forget import Level
from blockful_py.learning.datasets.registry import loader_of
from blockful_py.learning.models.registry import GROUP, MODELS
from blockful_py.learning.plugins import find
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.settings import EngineSettings
from blockful_py.settings.rules import SUMS
from blockful_py.verdicts.references import ORIGINAL, REFERENCES, rows_for


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells and methods to measure, and the folder of the files.

    Attributes:
        data_files: folder or hub id of the data set's files; None: the usual place.
        model: as in `Cell`.
    """

    data: tuple[str, ...]
    situations: tuple[str, ...]
    levels: tuple[Level, ...]
    seeds: tuple[int, ...]
    variants: tuple[Variant, ...]
    folder: Path
    scale: Scale = Scale.FULL
    data_files: str | None = None
    model: str | None = None

    @property
    def command(self) -> str:
        """The command that gives the same results."""
        words = [f"--data {name}" for name in self.data]
        words += [f"--situation {name}" for name in self.situations]
        words += [f"--level {level}" for level in self.levels]
        words += [f"--model {self.model}"] if self.model else []
        words += [f"--method {variant.name}" for variant in self.variants]
        words += [f"--seeds {','.join(map(str, self.seeds))}", f"--scale {self.scale}"]
        words += [f"--data-files {Path(self.data_files).name}"] if self.data_files else []
        words += ["--tuning"] * (not set(self.seeds).isdisjoint(TUNING_SEEDS))
        return f"blockful experiment audit {' '.join(words)} --output {self.folder.name}"

    def cells(self) -> tuple[Cell, ...]:
        """Seed after seed, so that an experiment cut short has every scenario."""
        return tuple(
            Cell(data, situation, level, seed, self.scale, self.model)
            for seed, data, situation, level in product(self.seeds, self.data, self.situations, self.levels)
        )


def run(
    plan: Plan,
    report: Callable[[str], None] = lambda line: None,
    progress: Progress | None = None,
    engine: EngineSettings = HERE,
) -> tuple[results.Result, ...]:
    """Measures the rows without a file, or with one of other settings, and returns all rows of the plan.

    A cell is a task of the engine; its rows get their files once all of them are measured.  Reports each
    cell, and methods that cannot forget at a level of the plan.

    Raises:
        SettingsError: there is no data set or model of a name.
        RunError: the folder holds results of another scale, or another process measures there.
        FormatError: a file in it is damaged, or of an earlier version.
        EngineError: the engine does not answer, or its workers cannot work.
    """
    for name in plan.data:
        loader_of(name)
    if plan.model is not None:
        find(plan.model, "model", MODELS, GROUP)
    for line in left_out(plan):
        report(line)
    missing = {
        cell: [name for name in _rows(plan, cell) if not _read(plan, cell, name)] for cell in plan.cells()
    }
    cells = [cell for cell, names in missing.items() if names]
    tasks = [_task(plan, cell, missing[cell]) for cell in cells]
    with (
        (progress or Silent()).stage("audit", sum(map(len, missing.values())), "rows") as advance,
        measured_on(engine, plan.folder, tasks) as measured,
    ):
        for place, result in measured:
            cell, told = cells[place], json.loads(result)
            rows = [replace(results.from_document(row), command=plan.command) for row in told["rows"]]
            _require_same_federation(plan, cell, told["federation"], {row.samples for row in rows})
            for row in rows:
                results.write(plan.folder, row)
            advance(len(missing[cell]))
            report(f"{_title(cell)}: {len(missing[cell])} rows, {told['seconds']:.0f} s")
    return collect(plan)


def collect(plan: Plan) -> tuple[results.Result, ...]:
    """All stored rows with the plan's settings.

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
        raise RunError(
            f"{path} is of scale {result.cell.scale} and {_model(result.cell)}, not of {cell.scale} and "
            f"{_model(cell)}: choose another folder."
        )
    recorded = {variant.name: variant.recorded for variant in plan.variants}
    return result if result.settings == recorded.get(name, {}) else None


def _model(cell: Cell) -> str:
    return f"model {cell.model}" if cell.model else "the small network"


def _rows(plan: Plan, cell: Cell) -> list[str]:
    """References and those methods that can forget at this level."""
    references = rows_for(cell.level is Level.CLASS, cell.model in SUMS)
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


def _task(plan: Plan, cell: Cell, missing: Sequence[str]) -> EngineTask:
    """Measures the missing rows of a cell."""
    made = [variant.told for variant in plan.variants if variant.name in missing]
    return EngineTask(
        title=_title(cell),
        function=f"{cell_task.__name__}:{cell_task.measure_cell.__name__}",
        settings={
            "cell": asdict(cell),
            "data_files": plan.data_files,
            "references": [name for name in REFERENCES if name in missing],
            "variants": made,
        },
        seeds=(cell.seed,),
        cpus=THREADS,
    )


def _require_same_federation(
    plan: Plan, cell: Cell, models: Mapping[str, str], samples: Collection[str]
) -> None:
    """Refuses rows of a cell whose federation was trained again to other bits, or whose samples differ."""
    path = results.path_of(plan.folder, cell, ORIGINAL)
    if not path.exists():
        return
    before = results.read(path)
    if {model.model: model.weights for model in before.row.models} != models:
        raise RunError(
            f"{path} is of a federation that came out otherwise, on another machine or by other code: "
            "choose another folder, or delete this cell's."
        )
    if any(digest != before.samples for digest in samples):
        raise RunError(
            f"{path} is of an audit that asked about other samples, by another version: "
            "choose another folder, or delete this cell's."
        )


def _title(cell: Cell) -> str:
    return f"{cell.data}, {cell.situation}, {cell.level}, seed {cell.seed}"


def scenarios(rows: Iterable[results.Result]) -> dict[tuple[str, str, Level], list[results.Result]]:
    """Rows by data set, situation and level, in the order of the plan."""
    grouped: dict[tuple[str, str, Level], list[results.Result]] = {}
    for result in rows:
        cell = result.cell
        grouped.setdefault((cell.data, cell.situation, cell.level), []).append(result)
    return grouped
