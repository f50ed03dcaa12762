# SPDX-License-Identifier: Apache-2.0
"""Prints a report as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from blockful_py.report import summary
from blockful_py.report.measures import (
    AD_F,
    AD_R,
    MEMBERSHIP,
    Measure,
    Role,
    concerned,
    left,
    mean_after,
    mean_before,
    ran,
    role_of,
)
from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.uncut import print_uncut
from blockful_py.types import Paradigm

ROLE_STYLES = {
    Role.START: "bold red",
    Role.AFFECTED: "blue",
    Role.BELOW_EPSILON: "cyan",
    Role.UNTOUCHED: "dim",
}
SHORT = {Paradigm.PARALLEL: "par.", Paradigm.SEQUENTIAL: "seq."}
FORGOTTEN, KEPT = 10.0, 50.0  # AD_f in %: green up to the first, red from the second


def print_report(report: Report, console: Console, directory: Path | None = None) -> None:
    """Prints the table, the summary and, if given, the report's location."""
    print_uncut(console, Group(model_table(report), Text(), summary_table(report)), folded=True)
    if directory is not None:
        where = Text.assemble(("report".ljust(12), "bold"), str(directory / "report.html"))
        console.print(where, soft_wrap=True)
        for path in report.certificates.values():
            signed = Text.assemble(("certificate".ljust(12), "bold"), str(directory / path))
            console.print(signed, soft_wrap=True)


def model_table(report: Report) -> Table:
    """One row per start and affected model: figures before, and after each paradigm that ran."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        title=summary.account(report),
        title_justify="left",
        title_style="bold",
        caption=_caption(report),
        caption_justify="left",
    )
    table.add_column("model")
    table.add_column("depth", justify="right")
    table.add_column("role", no_wrap=True)
    measures = (left(report), AD_R)
    states = " → ".join(["before", *(SHORT[paradigm] for paradigm in ran(report))])
    for measure in measures:
        table.add_column(f"{measure.name}{measure.unit}\n{states}", no_wrap=True)
    table.add_column("version", justify="right", no_wrap=True)
    for model in concerned(report):
        table.add_row(*_row(model, measures, ran(report)))
    table.add_section()
    table.add_row("mean", "", "", *(_mean_row(report, measure) for measure in measures), "", style="bold")
    return table


def summary_table(report: Report) -> Table:
    """Counts, gas, time and verification, one line each."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for paradigm, check in report.operations.each():
        counted = check.counted
        equal = Text("= formula", "green") if check.equal else Text("differs from the formula", "bold red")
        table.add_row(
            paradigm.value,
            Text(
                f"{counted.ch_transactions} + {counted.ch_blocks} chameleon hashes, "
                f"{counted.consensus} consensus, {counted.uploads} up, {counted.downloads} down "
            ).append(equal),
        )
    gas = report.gas
    published = gas.publication.per_model
    spent = [f"publish {published:,}"] if published else []
    spent += [f"{p} {g.per_model:,}" for p, g in gas.each()]
    table.add_row("gas/model", ", ".join(spent) + " (both chains)")
    seconds = report.seconds
    took = [f"train {seconds.train:.1f}", f"publish {seconds.publish:.1f}"] if published else []
    took += [f"{p} {sum(seconds.of(p).values()):.1f}" for p in Paradigm if seconds.of(p)]
    took += [f"verify {seconds.verify:.1f}"] + [f"all {seconds.total:.1f}"] * (seconds.total > 0)
    table.add_row("seconds", ", ".join(took))
    for paradigm, passes in report.passes.each():
        if passes.said is not None:
            table.add_row("trainings", f"{paradigm.value}: {passes.said}")
    for paradigm, _ in report.operations.each():
        table.add_row("method", f"{paradigm.value}: {summary.method(report, paradigm)}")
        warned = summary.caveat(report, paradigm)
        if warned is not None:
            table.add_row("warning", Text(f"{paradigm.value}: {warned}", "yellow"))
        ranked = summary.behind(report, paradigm)
        if ranked is not None:
            table.add_row("behind", f"{paradigm.value}: {ranked}")
        lost = summary.alarm(report, paradigm)
        if lost is not None:
            table.add_row("alarm", Text(f"{paradigm.value}: {lost}", "bold red"))
    privacy = summary.privacy(report)
    if privacy is not None:
        table.add_row("privacy", privacy)
    for paradigm, erased in report.erasure.each():
        table.add_row("erased", f"{paradigm.value}: {erased.said}")
    for paradigm, members in report.excluded.items():
        table.add_row("excluded", Text(f"{paradigm.value}: {'; '.join(members)}", "bold red"))
    for paradigm, _ in report.operations.each():
        said = summary.checked(report, paradigm)
        if said is not None:
            table.add_row("checked", f"{paradigm.value}: {said}")
    failed = report.verification.failed
    table.add_row("verified", Text(summary.verdict(report), "bold red" if failed else "green"))
    for failure in failed[:5]:
        table.add_row("", Text(f"{failure.subject}: {failure.check}: {failure.detail}", "red"))
    return table


def _row(model: ModelEntry, measures: Sequence[Measure], paradigms: Sequence[Paradigm]) -> list[Text]:
    role = role_of(model)
    after = [model.after(paradigm) for paradigm in paradigms]
    versions = [str(outcome.version) if outcome else "-" for outcome in after]
    return [
        Text(model.name, "bold" if model.start else ""),
        Text("" if model.depth is None else str(model.depth)),
        Text("below ε" if role is Role.BELOW_EPSILON else role.value, ROLE_STYLES[role]),
        *(_passage(each, [each.of(model.before), *map(each.of, after)]) for each in measures),
        Text(" / ".join(versions)),
    ]


def _mean_row(report: Report, measure: Measure) -> Text:
    after = [mean_after(report, measure, paradigm) for paradigm in ran(report)]
    return _passage(measure, [mean_before(report, measure), *after])


def _passage(measure: Measure, values: Sequence[float | None]) -> Text:
    """Values before and after, each five wide; classes that are still known are red."""
    before, *after = values
    shown = [_figure(measure, before), *(_figure(measure, each, measure is AD_F) for each in after)]
    return Text(" → ").join(shown)


def _figure(measure: Measure, value: float | None, forgetting: bool = False) -> Text:
    if value is None:
        return Text("-".rjust(5), "dim")
    style = ""
    if forgetting:
        style = "green" if value <= FORGOTTEN else "red" if value >= KEPT else "yellow"
    return Text(measure.bare(value).rjust(5), style)


def _caption(report: Report) -> str:
    untouched = sum(role_of(model) is Role.UNTOUCHED for model in report.models)
    measure, states = (
        left(report),
        ", ".join(["before", *(f"after {each} unlearning" for each in ran(report))]),
    )
    return (
        f"{measure.name}: {measure.meaning}. AD_r: {AD_R.meaning}. "
        f"{'AD_r on held-out' if measure is MEMBERSHIP else 'Held-out'} data: {states}; versions likewise. "
        f"{untouched} of {len(report.models)} models do not descend from a start and are unchanged."
        + (f" {gone}" if (gone := summary.left_out(report)) else "")
    )
