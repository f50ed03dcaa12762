# SPDX-License-Identifier: Apache-2.0
"""The rerun tables in short: one row per setting, all methods side by side, and the methods' times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median, quantiles, stdev

from blockful_lab.experiments.comparison import Compared
from blockful_lab.experiments.paper import MODELS, Printed
from blockful_lab.experiments.tables import METHODS, ORIGINAL, Case, Measured

COLUMNS = (ORIGINAL, *METHODS)
DEEPEST = MODELS[-1]

LEGEND = (
    "Percent: AD_r / AD_f, mean of r5, r6 and r8. Ours: held-out data, mean and standard deviation over the "
    "seeds, each with other data and other classes. Paper: as printed."
)

Cases = Mapping[Case, tuple[Measured, ...]]


def overview(cases: Cases, compared: Sequence[Compared]) -> Iterator[str]:
    """Markdown lines: a table for each stand-in data set, then the times."""
    yield from ("## In short", "", LEGEND, "")
    for data in dict.fromkeys(case.setting.data for case in cases):
        yield from (f"### {data}", "", _row("classes", "whose", COLUMNS), "|" + "---|" * (len(COLUMNS) + 2))
        printed = {
            (each.row.classes, f"paper, {each.row.data}, {each.row.network}")
            for each in compared
            if each.printed is not None and each.setting.data == data
        }
        ours = {(case.classes, case.setting.title) for case in cases if case.setting.data == data}
        for classes in sorted({classes for classes, _ in printed | ours}):
            for _, whose in sorted(row for row in printed if row[0] == classes):
                yield _row(str(classes), whose, [_paper(compared, classes, whose, name) for name in COLUMNS])
            for _, whose in sorted(row for row in ours if row[0] == classes):
                yield _row(str(classes), whose, [_ours(cases, classes, whose, name) for name in COLUMNS])
        yield ""
    yield from _times(cases)


def _row(classes: str, whose: str, cells: Sequence[str]) -> str:
    return f"| {classes} | {whose} | {' | '.join(cells)} |"


def _paper(compared: Sequence[Compared], classes: int, whose: str, method: str) -> str:
    for each in compared:
        named = f"paper, {each.row.data}, {each.row.network}"
        if (each.row.classes, named, each.method) == (classes, whose, method) and each.printed is not None:
            return _means(each.printed)
    return ""


def _means(printed: Printed) -> str:
    return " / ".join(f"{fmean(figure.values()):.1f}" for figure in (printed.ad_r, printed.ad_f))


def _ours(cases: Cases, classes: int, title: str, method: str) -> str:
    seeds = [
        [one for one in measured if one.method == method]
        for case, measured in cases.items()
        if (case.classes, case.setting.title) == (classes, title)
    ]
    kept, left = ([100 * fmean(getattr(one, name) for one in seed) for seed in seeds if seed] for name in AD)
    return f"{_spread(kept)} / {_spread(left)}" if kept else ""


AD = ("ad_r_test", "ad_f_test")


def _spread(values: Sequence[float]) -> str:
    deviation = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    return f"{fmean(values):.1f}{deviation}"


def _times(cases: Cases) -> Iterator[str]:
    """Times of every method, as a share of retraining's up to the deepest model."""
    yield from ("### Time", "", f"Percent of what `retrain` takes up to {DEEPEST}, over all cases.", "")
    yield from ("| method | median | first tenth | last tenth | n |", "|---|---|---|---|---|")
    for name in METHODS:
        shares = sorted(
            100 * took[name] / took["retrain"]
            for measured in cases.values()
            if (took := {one.method: one.seconds for one in measured if one.model == DEEPEST})
        )
        if len(shares) > 1:
            tenths = quantiles(shares, n=10)
            yield f"| {name} | {median(shares):.0f} | {tenths[0]:.0f} | {tenths[-1]:.0f} | {len(shares)} |"
    yield ""
