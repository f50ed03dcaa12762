# SPDX-License-Identifier: Apache-2.0
"""Summary of a report in sentences and means, shared by the HTML page and the printed table."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.sections import ForgetSection
from blockful_py.types import Checked, Paradigm

SITUATIONS = {
    "few_hold": "only the starting users hold it",
    "all_hold": "every user holds it",
    "iid": "shared out at random",
    "sample_non_iid": "every user has every class, but other samples of it",
    "label_non_iid": "users lack classes",
    "dirichlet": "classes shared out unevenly",
    "shards": "most users have few classes",
}


CHECKED = {
    Checked.RECOMPUTED: "each member computed the weights itself, from what the starts' owners announced",
    Checked.MEASURED: "members measured AD_f and AD_r again, on public data",
    Checked.ATTESTED: "the owners attest it; members measured AD_r alone",
}


def is_of_classes(report: Report) -> bool:
    """Whether AD_f is to fall to 0.  Where clients or samples are forgotten it is measured on held-out
    samples of their classes, which models go on knowing from others."""
    return bool(report.forget.classes)


def concerned(report: Report) -> list[ModelEntry]:
    """Starts and affected models by depth, then in the order of publication."""
    return sorted((m for m in report.models if m.affected or m.start), key=lambda m: m.depth or 0)


def updated(report: Report, paradigm: Paradigm) -> list[ModelEntry]:
    """Models that the paradigm replaced on the live chain."""
    return [m for m in concerned(report) if (after := m.after(paradigm)) is not None and after.version > 0]


def mean_before(report: Report, figure: str) -> float | None:
    """Mean accuracy (%) of the affected models before unlearning; `figure` as in `Accuracies`."""
    return _mean([getattr(model.before, figure) for model in concerned(report)])


def mean_after(report: Report, figure: str, paradigm: Paradigm) -> float | None:
    """Mean accuracy (%) of the affected models after; a model left alone counts as it was before."""
    if not any(model.after(paradigm) for model in report.models):
        return None
    return _mean([getattr(m.after(paradigm) or m.before, figure) for m in concerned(report)])


def _forgotten(forget: ForgetSection) -> str:
    if forget.clients:
        kinds, listed = ("client", "clients"), [str(user) for user in forget.clients]
    elif forget.samples:
        kinds, listed = ("sample", "samples"), list(forget.samples)
    else:
        kinds, listed = ("class", "classes"), [str(label) for label in forget.classes]
    return f"{kinds[0] if len(listed) == 1 else kinds[1]} {_listed(listed)}"


def headline(report: Report) -> str:
    """Who asked to forget what, how many models were replaced, whether the record still verifies."""
    asked = f"{_listed(report.forget.starts)} asked to forget {_forgotten(report.forget)}"
    ways = {
        Paradigm.PARALLEL: "replaced in parallel under one certificate",
        Paradigm.SEQUENTIAL: "replaced one by one under a certificate each",
    }
    ran = [paradigm for paradigm, _ in report.operations.each()]
    done = [f"{len(updated(report, paradigm))} were {ways[paradigm]}" for paradigm in ran]
    said = "; from the same state, ".join(done) or "nothing was replaced"
    return f"{asked}. This reaches {len(concerned(report))} models: {said}. {verdict(report).capitalize()}."


def privacy(report: Report) -> str | None:
    """What the trainings spent, from the least to the most; None without differential privacy."""
    spent = [model.privacy for model in report.models if model.privacy is not None]
    if not spent:
        return None
    least, most = (chosen(spent, key=lambda each: each.epsilon) for chosen in (min, max))
    bounds = str(most) if least == most else f"ε {least.epsilon:.3g} to {most.epsilon:.3g}, δ {most.delta:g}"
    return f"{bounds} a training, in {len(spent)} of {len(report.models)} models"


def checked(report: Report, paradigm: Paradigm) -> str | None:
    """What members did before they signed, in words; None where the report does not say."""
    method = report.method.of(paradigm)
    return None if method is None or method.checked is None else CHECKED[method.checked]


def verdict(report: Report) -> str:
    checked, failed = report.verification.checked, len(report.verification.failed)
    if not checked:
        return "nothing has been verified"
    if failed:
        return f"{failed} of {checked} verifications failed"
    return f"the record verifies ({checked} of {checked})"


def situation(report: Report) -> str:
    """Who holds the forgotten classes, in words."""
    return SITUATIONS.get(report.situation, report.situation)


def limits(report: Report) -> list[str]:
    """What this run does not show, in plain words."""
    lines = [
        "A low AD_f says that a model no longer predicts the class. It does not prove that nothing of the "
        "data is left in the weights: masking one output would lower AD_f too."
        if is_of_classes(report)
        else "AD_f is the accuracy on held-out samples of the classes that were among what was forgotten. It "
        "is not to be 0, as models go on knowing these classes from others, and does not say whether they "
        "have forgotten.",
        "Seconds depend on this machine; gas, counts and accuracies do not.",
        "Local development chains stand in for two BFT networks, and the committee's members "
        "run on one machine.",
        "Replacing a model on the chain changes what the record points to, and its members destroy the old "
        "version's data key. Copies that others made of the sealed bytes stay, unreadable without it; what "
        "somebody has read in the clear stays readable to them.",
    ]
    if report.scenario == "paper14":
        lines.append(
            "The paper's figure of its 14-user graph is not in its source: the graph is a reconstruction."
        )
    alone = sum(model.below_epsilon for model in report.models)
    if alone:
        lines.append(
            f"The parallel paradigm left {alone} affected {'model' if alone == 1 else 'models'} as before, "
            "because the update is below epsilon."
        )
    lines += [
        f"{paradigm.capitalize()} ({method.name}): the models' owners attest that they left out "
        f"{_forgotten(report.forget)}. No public data shows it; members measured AD_r alone."
        for paradigm, method in report.method.each()
        if method.checked is Checked.ATTESTED
    ]
    return lines + [_remaining(report, paradigm) for paradigm, _ in report.operations.each()]


def _remaining(report: Report, paradigm: Paradigm) -> str:
    before, after = mean_before(report, "ad_f"), mean_after(report, "ad_f", paradigm)
    method = getattr(report.method.of(paradigm), "name", paradigm.value)
    if before is None or after is None:
        return f"AD_f after {method} ({paradigm}) was not measured."
    worst = max(
        (m for m in concerned(report) if (o := m.after(paradigm)) is not None and o.ad_f is not None),
        key=lambda m: getattr(m.after(paradigm), "ad_f", 0.0),
    )
    left = getattr(worst.after(paradigm), "ad_f", 0.0)
    least = "the least forgotten model is" if is_of_classes(report) else "it is highest on"
    return (
        f"{paradigm.capitalize()} ({method}): mean AD_f went from {before:.1f} % to {after:.1f} %; "
        f"{least} {worst.name}, at {left:.1f} %."
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
