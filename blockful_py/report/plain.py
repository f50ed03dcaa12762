# SPDX-License-Identifier: Apache-2.0
"""An erasure certificate in plain language, for the requester."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blockful_py.forget import Forget, Level
from blockful_py.record.shown import MERGED
from blockful_py.report.certificate import CertificatePage, ModelRow, PlainPart
from blockful_py.report.summary import enumerated
from blockful_py.types import Checked

WITHDRAWAL = (
    "Before they voted, members checked that no model is left out that the record says the data reached. "
    "Nobody checked how the models were made."
)
CHECKED = {
    Checked.EXACT: "Before they voted, members computed every new version themselves from the published ones "
    "and got the same.",
    Checked.RECOMPUTED: "Before they voted, members computed every new version themselves and got the same.",
    Checked.MEASURED: "Before they voted, members tested every new version on public data. They did not see "
    "how its owner made it.",
    Checked.SPOT_CHECKED: "Before they voted, members tested every new version on public data, and repeated "
    "parts of its owner's training that were drawn by lot.",
    Checked.REPLAYED: "Before they voted, members tested every new version on public data. An auditor, drawn "
    "by lot, repeated its owner's whole training with the owner's data, and signed that it is right.",
    Checked.ATTESTED: "The models' owners signed that they left the data out. No public data can show "
    "it. Members tested how well the new versions do on everything else.",
}


def plain_language(page: CertificatePage) -> tuple[PlainPart, ...]:
    """Explains the request, its execution, its meaning and limits, the checks, and the remaining traces."""
    return (
        PlainPart("Who asked?", tuple(_asked(page))),
        PlainPart("What was done?", tuple(_done(page))),
        PlainPart("What does that mean, and what does it not mean?", tuple(_meaning(page))),
        PlainPart("Who checked it?", tuple(_checked(page))),
        PlainPart("What remains?", tuple(_remains(page))),
    )


def _asked(page: CertificatePage) -> Iterator[str]:
    starts = [name for name, _, _ in page.requesters]
    owners, models = ("owner", "model") if len(starts) == 1 else ("owners", "models")
    yield (
        f"On {page.requested}, the {owners} of the {models} {enumerated(starts)} asked that models forget "
        f"{_data(page.forget)}. The request carries the signature of each owner's account."
    )


def _done(page: CertificatePage) -> Iterator[str]:
    renewed = [model for model in page.models if model.new_weights is not None]
    withdrawn = [model.name for model in page.models if model.new_weights is None]
    later = [model.name for model in page.models if not model.start]
    if renewed:
        yield (
            f"{_counted(renewed, 'model')} got a new version: {enumerated([each.name for each in renewed])}. "
            f"The method was {page.method.split(' ')[0]}."
        )
    if withdrawn and page.forget.level is Level.DATASET:
        yield (
            f"{_counted(withdrawn, 'model')} were made elsewhere and were withdrawn from the record: "
            f"{enumerated(withdrawn)}."
        )
    elif withdrawn:
        yield (
            f"{_counted(withdrawn, 'model')} got no new version in time and cannot be used any more: "
            f"{enumerated(withdrawn)}."
        )
    if later:
        starts = [name for name, _, _ in page.requesters]
        yield (
            f"The request named {enumerated(starts)}. The others were reached because they had learnt from "
            f"{'it' if len(starts) == 1 else 'these'}, directly or through other models."
        )
    yield from _figures(page, renewed)
    lost = [model.name for model in renewed if model.at_chance]
    if lost:
        yield (
            f"Attention: on everything that {enumerated(lost)} should still know, "
            f"{'it is' if len(lost) == 1 else 'they are'} no better than guessing. Nobody should rely on "
            f"{'this model' if len(lost) == 1 else 'these models'}."
        )
    worse = [model.name for model in renewed if model.is_loss and not model.at_chance]
    if worse:
        yield (
            f"Attention: on everything that {enumerated(worse)} should still know, "
            f"{'it does' if len(worse) == 1 else 'they do'} worse than before, by more than chance explains."
        )


def _figures(page: CertificatePage, renewed: Sequence[ModelRow]) -> Iterator[str]:
    forgotten = [(each.before.ad_f, each.ad_f) for each in renewed if each.ad_f is not None]
    kept = [(each.before.ad_r, each.ad_r) for each in renewed if each.ad_r is not None]
    ranked = [(each.before.logit_auc, each.logit_auc) for each in renewed if each.logit_auc is not None]
    if page.forget.level is Level.CLASS and forgotten:
        yield (
            "In tests on samples of what was to be forgotten, the models are right in "
            f"{_passage(forgotten)} of 100 cases."
        )
    if page.forget.level is Level.CLASS and ranked:
        yield (
            "What the models do not say they may still know. Asked which of two samples is more likely to be "
            "of what was to be forgotten, one that is and one that is not, they are right in "
            f"{_passage(ranked)} of 100 cases. Guessing is right in 50; a model that never learnt it may be "
            "right in more."
        )
    if kept:
        yield f"In tests on everything else, they are right in {_passage(kept)} of 100 cases."


def _meaning(page: CertificatePage) -> Iterator[str]:
    if page.forget.level is Level.DATASET:
        yield (
            "It means that the record names these models no more as usable, and that whoever asks the record "
            "is told so. The models themselves are where their makers and recipients keep them: the record "
            "cannot delete those copies. A model made again without the data is a model of its own."
        )
        return
    yield (
        "It means that the federation's record names the new versions in the place of the old ones."
        + (" The members who signed destroyed their keys to the old versions." if page.keys_destroyed else "")
    )
    if page.how is Checked.EXACT and page.kind != MERGED:
        yield (
            "It proves that the new versions were made without the data. They go on recognising similar "
            "data, which they know from others. Which model learnt from which may still tell of the data: "
            "that is as it was."
        )
    elif page.forget.level is Level.CLASS:
        yield (
            "It does not prove that nothing of the data is left in the models. A model that is never right "
            "on it may still hold traces of it."
        )
    else:
        yield (
            "It does not prove that nothing of the data is left in the models. They go on recognising "
            "similar data, which they know from others."
        )
    yield "It is about models. The data itself stays wherever its owners keep it."


def _checked(page: CertificatePage) -> Iterator[str]:
    signed = page.votes[-1]
    what, how = ("withdrawal", WITHDRAWAL) if page.work else ("replacement", CHECKED[page.how])
    yield (
        f"A committee decided on the {what} on {page.decided}. {how} "
        f"{len(signed.voters)} of its {signed.members} members signed this certificate; {signed.needed} were "
        "needed."
    )
    yield (
        "This page itself proves nothing. Anybody can check the document that belongs to it with the program "
        f"blockful: {page.file}."
    )


def _remains(page: CertificatePage) -> Iterator[str]:
    yield (
        "The archive keeps the old versions under seal, so that auditors can see what happened. Auditors "
        "who were registered in time may be able to open them."
    )
    yield (
        "Copies that somebody made of the old versions earlier are out of reach. What was read before cannot "
        "be unread."
    )
    if page.left_alone:
        yield (
            f"{enumerated(page.left_alone)} also learnt from these models, and stayed as before: the change "
            "would have been too small."
        )


def _data(forget: Forget) -> str:
    if forget.clients:
        whose = "participant" if len(forget.clients) == 1 else "participants"
        return f"all data of {whose} {enumerated(list(map(str, forget.clients)))}"
    if forget.samples:
        users = sorted({user for user, _ in forget.samples})
        whose = "participant" if len(users) == 1 else "participants"
        return f"{_counted(forget.samples, 'sample')} of {whose} {enumerated(list(map(str, users)))}"
    if forget.datasets:
        return f"what they learnt of the data {enumerated(list(forget.datasets))}"
    kind = "class" if len(forget.classes) == 1 else "classes"
    return f"what they learnt of {kind} {enumerated(list(map(str, forget.classes)))}"


def _passage(passages: Sequence[tuple[float | None, float]]) -> str:
    """The figures as text; `before` only if it is known for every model."""
    before = [earlier for earlier, _ in passages if earlier is not None]
    after = _span([later for _, later in passages])
    return f"{_span(before)} (before) and {after} (now)" if len(before) == len(passages) else after


def _span(shares: Sequence[float]) -> str:
    least, most = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return least if least == most else f"{least} to {most}"


def _counted(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}{'' if len(things) == 1 else 's'}"
