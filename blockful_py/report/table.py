# SPDX-License-Identifier: Apache-2.0
"""Prints a report as tables in the terminal."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from blockful_py.report import summary
from blockful_py.report.roles import Role, role_of
from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.uncut import print_uncut
from blockful_py.types import Paradigm

ROLE_STYLES = {
    Role.START: "bold red",
    Role.AFFECTED: "blue",
    Role.BELOW_EPSILON: "cyan",
    Role.UNTOUCHED: "dim",
}
FORGOTTEN, KEPT = 10.0, 50.0  # AD_f in %: green up to the first, red from the second


def print_report(report: Report, console: Console, directory: Path | None = None) -> None:
    """Print the table, the summary and, if given, where the report is."""
    print_uncut(console, rendered(report), folded=True)
    if directory is not None:
        where = Text.assemble(("report".ljust(12), "bold"), str(directory / "report.html"))
        console.print(where, soft_wrap=True)
        for path in report.certificates.values():
            signed = Text.assemble(("certificate".ljust(12), "bold"), str(directory / path))
            console.print(signed, soft_wrap=True)


def rendered(report: Report) -> RenderableType:
    return Group(model_table(report), Text(), summary_table(report))


def model_table(report: Report) -> Table:
    """A row for each start and affected model: accuracy before, after parallel, after sequential."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
        title=summary.headline(report),
        title_justify="left",
        title_style="bold",
        caption=_caption(report),
        caption_justify="left",
    )
    table.add_column("model")
    table.add_column("depth", justify="right")
    table.add_column("role", no_wrap=True)
    for figure in ("AD_f %", "AD_r %"):
        table.add_column(f"{figure}\nbefore → par. → seq.", no_wrap=True)
    table.add_column("version", justify="right", no_wrap=True)
    for model in summary.concerned(report):
        table.add_row(*_row(model, summary.is_of_classes(report)))
    table.add_section()
    table.add_row("mean", "", "", _mean_row(report, "ad_f"), _mean_row(report, "ad_r"), "", style="bold")
    return table


def summary_table(report: Report) -> Table:
    """Counts, gas, time and verification, a line each."""
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
            table.add_row("increments", f"{paradigm.value}: {passes.said}")
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


def _row(model: ModelEntry, of_classes: bool) -> list[Text]:
    role = role_of(model)
    after = [model.after(paradigm) for paradigm in Paradigm]
    versions = [str(outcome.version) if outcome else "-" for outcome in after]
    return [
        Text(model.name, "bold" if model.start else ""),
        Text("" if model.depth is None else str(model.depth)),
        Text("below ε" if role is Role.BELOW_EPSILON else role.value, ROLE_STYLES[role]),
        _passage(model.before.ad_f, *(o.ad_f if o else None for o in after), forgetting=of_classes),
        _passage(model.before.ad_r, *(o.ad_r if o else None for o in after)),
        Text(" / ".join(versions)),
    ]


def _mean_row(report: Report, figure: str) -> Text:
    after = (summary.mean_after(report, figure, paradigm) for paradigm in Paradigm)
    forgetting = figure == "ad_f" and summary.is_of_classes(report)
    return _passage(summary.mean_before(report, figure), *after, forgetting=forgetting)


def _passage(before: float | None, *after: float | None, forgetting: bool = False) -> Text:
    """`before -> parallel -> sequential`, each five wide."""
    return Text(" → ").join([_percent(before), *(_percent(value, forgetting) for value in after)])


def _percent(value: float | None, forgetting: bool = False) -> Text:
    if value is None:
        return Text("-".rjust(5), "dim")
    style = ""
    if forgetting:
        style = "green" if value <= FORGOTTEN else "red" if value >= KEPT else "yellow"
    return Text(f"{value:5.1f}", style)


def _caption(report: Report) -> str:
    untouched = sum(role_of(model) is Role.UNTOUCHED for model in report.models)
    meant = (
        "accuracy on what was to be forgotten, lower is better"
        if summary.is_of_classes(report)
        else "accuracy on samples like those forgotten, which models know from others too"
    )
    return (
        f"AD_f: {meant}. AD_r: on the rest, higher is better. "
        "Held-out data: before, after parallel, after sequential unlearning; versions likewise. "
        f"{untouched} of {len(report.models)} models do not descend from a start and are as before."
    )
