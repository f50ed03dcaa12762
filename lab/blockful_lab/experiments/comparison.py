# SPDX-License-Identifier: Apache-2.0
"""The paper's figures beside ours: row by row, method by method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from blockful_lab.experiments.paper import MODELS, PaperRow, Printed, Rerun, Setting
from blockful_lab.experiments.tables import ORIGINAL, Case, Measured


@dataclass(frozen=True, slots=True)
class Compared:
    """A method in a row of the paper.

    Attributes:
        printed: the paper's figures; None if its source has no figures.
        said: the statement of its text instead.
        ours: of r5, r6 and r8, seed after seed.
        seeds: number of seeds.
    """

    row: PaperRow
    setting: Setting
    method: str
    printed: Printed | None
    said: str | None
    ours: tuple[Measured, ...]
    seeds: int

    def mean(self, figure: str, model: str) -> float | None:
        """Mean over the seeds, accuracies in percent, seconds as measured; None without a run."""
        values = [getattr(one, figure) for one in self.ours if one.model == model]
        return fmean(values) * (1 if figure == "seconds" else 100) if values else None


def compare(cases: Mapping[Case, tuple[Measured, ...]], rerun: Rerun) -> Iterator[Compared]:
    """Our figures of the rows, in the paper's order."""
    for row, setting in rerun.rows():
        ours = [
            measured
            for case, measured in cases.items()
            if (case.setting, case.classes) == (setting, row.classes)
        ]
        for method in row.methods or (ORIGINAL, *row.averages):
            of_method = tuple(one for measured in ours for one in measured if one.method == method)
            printed, said = row.methods.get(method), row.averages.get(method)
            yield Compared(row, setting, method, printed, said, of_method, len(ours))


def document(cases: Mapping[Case, tuple[Measured, ...]], command: str) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        "command": command,
        "cases": [
            {**asdict(case), "measured": [asdict(one) for one in measured]}
            for case, measured in cases.items()
        ],
    }


LEGEND = (
    "Percent: AD_r / AD_f, seconds in brackets. Paper: as printed, on its own data and network. Ours: what "
    "the row names, mean over seeds. What compares is the pattern, not the value."
)


def markdown(compared: Sequence[Compared], about: Sequence[str], short: Iterable[str] = ()) -> str:
    """The command, `short` lines of overview, then the tables with the paper's row and ours."""
    parts = ["# The paper's tables", "", *about, "", _epochs(compared), "", *short, LEGEND, ""]
    table = ""
    for each in compared:
        if each.row.table != table:
            table = each.row.table
            parts += [
                *([""] if parts[-1] else []),
                f"## {table}",
                "",
                "| case | method | | r5 | r6 | r8 |",
                "|---|---|---|---|---|---|",
            ]
        parts += _lines(each)
    return "\n".join([*parts, ""])


def _epochs(compared: Sequence[Compared]) -> str:
    settings = dict.fromkeys((each.setting.data, each.setting.epochs) for each in compared)
    return f"Epochs: {', '.join(f'{epochs} on {data}' for data, epochs in settings)}."


def _lines(each: Compared) -> Iterator[str]:
    if each.printed is not None:
        yield _line(each.row.title, each.method, "paper", [_printed(each.printed, model) for model in MODELS])
    elif each.said is not None:
        yield _line(each.row.title, each.method, "paper", [each.said, "", ""])
    ours = f"{each.setting.title}, n = {each.seeds}"
    yield _line(ours, each.method, "ours", [_cell(each, model) for model in MODELS])


def _line(case: str, method: str, whose: str, cells: Sequence[str]) -> str:
    return f"| {case} | {method} | {whose} | {' | '.join(cells)} |"


def _printed(printed: Printed, model: str) -> str:
    took = f" ({printed.seconds[model]:g} s)" if printed.seconds else ""
    return f"{printed.ad_r[model]:g} / {printed.ad_f[model]:g}{took}"


def _cell(each: Compared, model: str) -> str:
    if not each.seeds:
        return "not run"
    test, train = (
        f"{each.mean(f'ad_r_{which}', model):.1f} / {each.mean(f'ad_f_{which}', model):.1f}"
        for which in ("test", "train")
    )
    return f"test {test}, train {train} ({each.mean('seconds', model):.2f} s)"
