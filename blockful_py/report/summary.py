# SPDX-License-Identifier: Apache-2.0
"""Summarises a report in sentences for the HTML page and the printed table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blockful_py.report.measures import (
    AD_F,
    AD_R,
    LOGIT_AUC,
    MEMBERSHIP,
    concerned,
    left,
    mean_after,
    mean_at_starts,
    mean_before,
    mean_outside,
    ran,
)
from blockful_py.report.schema import ModelEntry, Report
from blockful_py.report.sections import ForgetSection
from blockful_py.types import Checked, Paradigm
from blockful_py.verdicts.methods import warning

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
    Checked.EXACT: "each member computed the weights itself, from the published ones alone",
    Checked.RECOMPUTED: "each member computed the weights itself, from data announced by the starts' owners",
    Checked.MEASURED: "members measured AD_f and AD_r again, on public data",
    Checked.SPOT_CHECKED: "members measured on public data, and recomputed randomly drawn parts of each "
    "owner's training",
    Checked.REPLAYED: "members measured on public data, and an auditor, drawn by lot, replayed each owner's "
    "whole training",
    Checked.ATTESTED: "the owners attest it; members measured only AD_r",
}


def updated(report: Report, paradigm: Paradigm) -> list[ModelEntry]:
    """Models that the paradigm replaced on the live chain."""
    return [m for m in concerned(report) if (after := m.after(paradigm)) is not None and after.version > 0]


def _forgotten(forget: ForgetSection) -> str:
    if forget.clients:
        kinds, listed = ("client", "clients"), [str(user) for user in forget.clients]
    elif forget.samples:
        kinds, listed = ("sample", "samples"), list(forget.samples)
    else:
        kinds, listed = ("class", "classes"), [str(label) for label in forget.classes]
    return f"{kinds[0] if len(listed) == 1 else kinds[1]} {enumerated(listed)}"


def headline(report: Report) -> str:
    """One sentence on the data unlearned, the number of models, the result, and the verification."""
    replaced = {model.name for paradigm in ran(report) for model in updated(report, paradigm)}
    models = f"{len(replaced)} {'model' if len(replaced) == 1 else 'models'}" if replaced else "no model"
    what = _forgotten(report.forget)
    said = f"{what[0].upper()}{what[1:]} {_were(report.forget)} unlearned from {models}"
    passed = _passed(report) if replaced else None
    if passed:
        said += f": {passed}"
    verified = report.verification.checked and not report.verification.failed
    return f"{said}, and the record verifies." if verified else f"{said}, but {verdict(report)}."


def _were(forget: ForgetSection) -> str:
    return "was" if len(forget.clients or forget.samples or forget.classes) == 1 else "were"


def _passed(report: Report) -> str | None:
    """The figure before and after; None if it says nothing."""
    measure = left(report)
    if measure is AD_F:
        what = "mean accuracy on it" if len(report.forget.classes) == 1 else "mean accuracy on them"
        before = mean_before(report, measure)
        after = {paradigm: mean_after(report, measure, paradigm) for paradigm in ran(report)}
    elif measure is MEMBERSHIP:
        starts = report.forget.starts
        what = f"membership AUC of {starts[0]}" if len(starts) == 1 else "mean membership AUC of the starts"
        before = mean_at_starts(report, measure)
        after = {paradigm: mean_at_starts(report, measure, paradigm) for paradigm in ran(report)}
    else:
        return None
    if before is None:
        return None
    texts = {paradigm: measure.written(value) for paradigm, value in after.items()}
    same = len(set(texts.values())) == 1
    said = next(iter(texts.values())) if same else enumerated([f"{text} ({p})" for p, text in texts.items()])
    return f"{what} went from {measure.written(before)} to {said}"


def carried_out(report: Report) -> str:
    """The requesters, the data to forget, and the number of replaced models."""
    asked = f"{enumerated(report.forget.starts)} asked to forget {_forgotten(report.forget)}"
    ways = {
        Paradigm.PARALLEL: "replaced in parallel under one certificate",
        Paradigm.SEQUENTIAL: "replaced one by one under a certificate each",
    }
    done = [f"{len(updated(report, paradigm))} were {ways[paradigm]}" for paradigm in ran(report)]
    said = "; from the same state, ".join(done) or "nothing was replaced"
    return f"{asked}. This reaches {len(concerned(report))} models: {said}."


def account(report: Report) -> str:
    """The requesters, the data to forget, the number of replaced models, and the verification."""
    return f"{carried_out(report)} {verdict(report).capitalize()}."


def privacy(report: Report) -> str | None:
    """Privacy loss of the trainings, from the least to the most; None without differential privacy."""
    spent = [model.privacy for model in report.models if model.privacy is not None]
    if not spent:
        return None
    least, most = (chosen(spent, key=lambda each: each.epsilon) for chosen in (min, max))
    bounds = str(most) if least == most else f"ε {least.epsilon:.3g} to {most.epsilon:.3g}, δ {most.delta:g}"
    return f"{bounds} a training, in {len(spent)} of {len(report.models)} models"


def checked(report: Report, paradigm: Paradigm) -> str | None:
    """Members' checks before they signed, in words; None if the report does not say."""
    method = report.method.of(paradigm)
    return None if method is None or method.checked is None else CHECKED[method.checked]


def method(report: Report, paradigm: Paradigm) -> str | None:
    """The method, and why "auto" chooses it if so; None if the paradigm did not run."""
    used = report.method.of(paradigm)
    return None if used is None else f"{used.name}, {used.reason}" if used.reason else used.name


def caveat(report: Report, paradigm: Paradigm) -> str | None:
    """Data that the method is known not to forget in this situation; None if unknown."""
    used = report.method.of(paradigm)
    return None if used is None or used.caveat is None else warning(used.name, used.caveat)


def behind(report: Report, paradigm: Paradigm) -> str | None:
    """Mean AUC of the logit before and after; None if it was not measured."""
    before, after = mean_before(report, LOGIT_AUC), mean_after(report, LOGIT_AUC, paradigm)
    if before is None or after is None:
        return None
    return f"mean {LOGIT_AUC.name} went from {LOGIT_AUC.written(before)} to {LOGIT_AUC.written(after)}"


def alarm(report: Report, paradigm: Paradigm) -> str | None:
    """Names the models that are no better than chance on the rest; None without such models."""
    lost = {
        model.name: AD_R.written(after.ad_r)
        for model in concerned(report)
        if (after := model.after(paradigm)) is not None and after.at_chance
    }
    return no_better_than_chance(lost) if lost else None


def no_better_than_chance(lost: Mapping[str, str]) -> str:
    """The alarm in words; `lost` has each model's AD_r as text."""
    named = enumerated([f"{name} (AD_r {ad_r})" for name, ad_r in lost.items()])
    return f"{named} {'is' if len(lost) == 1 else 'are'} no better than chance on what was to be kept"


def left_out(report: Report) -> str | None:
    """The classes left out of AD_r, by model; None without earlier removals."""
    models: dict[tuple[int, ...], list[str]] = {}
    for model in concerned(report):
        if model.left_out:
            models.setdefault(model.left_out, []).append(model.name)
    if not models:
        return None
    said = [f"{enumerated(list(map(str, gone)))} (in {enumerated(names)})" for gone, names in models.items()]
    return f"AD_r leaves out the classes that earlier requests removed: {'; '.join(said)}."


def verdict(report: Report) -> str:
    checked, failed = report.verification.checked, len(report.verification.failed)
    if not checked:
        return "no verification was made"
    if failed:
        return f"{failed} of {checked} verifications failed"
    return f"the record verifies ({checked} of {checked})"


def situation(report: Report) -> str:
    """The distribution of the forgotten classes among users, in words."""
    return SITUATIONS.get(report.situation, report.situation)


def limits(report: Report) -> list[str]:
    """Limits of this run's evidence, in plain words."""
    lines = [
        _unproven(report),
        "Seconds depend on this machine; gas, counts and accuracies do not.",
        "Local development chains stand in for two BFT networks, and the committee's members "
        "run on one machine.",
        "Replacing a model on the chain changes what the record points to, and its members destroy the old "
        "version's data key. Copies that others made of the sealed bytes stay, unreadable without it; "
        "weights that somebody has already decrypted stay readable to them.",
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
        f"{_forgotten(report.forget)}. No public data shows it; members measured only AD_r."
        for paradigm, method in report.method.each()
        if method.checked is Checked.ATTESTED
    ]
    return lines + [_remaining(report, paradigm) for paradigm, _ in report.operations.each()]


def _unproven(report: Report) -> str:
    """Limits of the figure that shows what remains."""
    measure = left(report)
    if measure is AD_F:
        told = [f"{said} ({paradigm})" for paradigm in ran(report) if (said := behind(report, paradigm))]
        ranked = f" Behind the output, {enumerated(told)}." if told else ""
        return (
            "A low AD_f says that a model no longer predicts the class. It does not prove that nothing of "
            f"the data is left in the weights: masking one output would lower AD_f too.{ranked}"
        )
    like = (
        "AD_f is the accuracy on held-out samples of the classes that were among what was forgotten. It "
        "should not be 0, since models still know these classes from others, and does not show whether they "
        "have forgotten."
    )
    if measure is not MEMBERSHIP:
        return like
    outside = mean_outside(report, MEMBERSHIP)
    beside = "" if outside is None else f" The models that the request does not reach have {outside:.3f}."
    return (
        "Membership AUC compares a model's confidence in the forgotten training samples with that in unseen "
        "samples of their classes: 1 where it always is higher, 0.5 where it tells nothing, if both are "
        f"equally hard.{beside} It does not prove that a stronger attack fails. {like}"
    )


def _remaining(report: Report, paradigm: Paradigm) -> str:
    measure = left(report)
    before, after = mean_before(report, measure), mean_after(report, measure, paradigm)
    method = getattr(report.method.of(paradigm), "name", paradigm.value)
    known = {
        model.name: value
        for model in concerned(report)
        if (value := measure.of(model.after(paradigm))) is not None
    }
    if before is None or after is None or not known:
        return f"{measure.name} after {method} ({paradigm}) was not measured."
    worst = max(known, key=lambda name: known[name])
    least = "the least forgotten model is" if measure is AD_F else "it is highest on"
    return (
        f"{paradigm.capitalize()} ({method}): mean {measure.name} went from {measure.written(before)} to "
        f"{measure.written(after)}; {least} {worst}, at {measure.written(known[worst])}."
    )


def enumerated(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
