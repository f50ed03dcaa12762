# SPDX-License-Identifier: Apache-2.0
"""The answer to a person who asked an owner to be forgotten: a page and a document, by a certificate.

Neither has the person's identifier, nor numbers of rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.fields import position
from blockful_py.record.shown import checked_in
from blockful_py.report.assets import page_templates
from blockful_py.report.certificate import PlainPart
from blockful_py.report.plain import plain_language
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.report.summary import CHECKED
from blockful_py.whole_file import write_whole

FORMAT = "blockful-answer/1"


@dataclass(frozen=True, slots=True)
class AnsweredCase:
    """The case that an answer is about.

    Attributes:
        owner: the owner's name in quotation marks, since these are its own words; its account without one.
        account: `0x...`.
        rows: number of the person's rows that models were trained on.
        earlier: number of these that earlier requests had named.
        together: number of rows that the request names, of all persons.
        tested: number of the person's rows that no model was trained on.
        handed_out: whether these are public.
    """

    number: int
    owner: str
    account: str
    received: date
    due: date
    answered: date
    rows: int
    earlier: int
    request: int
    together: int
    tested: int
    handed_out: bool


@dataclass(frozen=True, slots=True)
class AnsweredModel:
    """A model that the request replaced or withdrew, and the members' check of it, in words."""

    name: str
    outcome: str
    version: int
    checked: str


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """Content of the answer.

    Attributes:
        decided: time of the last decision, UTC.
        kind, warnings: as in `record.shown.Shown`.
        parts: the answer in plain language.
        certificate: digest of the certificate's statement, `0x...`.
        file: name of the certificate's file.
        verify: the command that checks it.
        development: the development chain that `decided` comes from; None for other chains.
    """

    case: AnsweredCase
    decided: str
    kind: str
    warnings: Sequence[str]
    models: Sequence[AnsweredModel]
    parts: Sequence[PlainPart]
    certificate: str
    file: str
    verify: str
    development: int | None
    format: str = FORMAT


def answer_of(case: AnsweredCase, certificate: ErasureCertificate, file: str) -> PersonAnswer:
    """The answer by a certificate in a `file` of this name.  Raises VerificationError for a false one."""
    checked = check_certificate(certificate)
    page = page_of(certificate, checked, file)
    request = certificate.statement.request
    spot_checks = dict(page.spot_checks)
    models = []
    for model in page.models:
        how = "no weights are left to check"
        if model.new_weights is not None:
            node = checked.record.nodes[position(model.position)]
            how = CHECKED[checked_in(request, [node])]
            if model.name in spot_checks:
                how = f"{how}: {spot_checks[model.name]}"
        outcome = "withdrawn" if model.new_weights is None else "replaced"
        models.append(AnsweredModel(model.name, outcome, model.version_after, how))
    own = PlainPart("What did you ask?", tuple(_asked(case)))
    return PersonAnswer(
        case=case,
        decided=page.decided,
        kind=page.kind,
        warnings=tuple(page.warnings),
        models=models,
        parts=(own, *plain_language(page)[1:]),
        certificate=page.digest,
        file=file,
        verify=f"blockful certificate verify {file} --block-hash … --roster-id … --archive-head …",
        development=page.development,
    )


def _asked(case: AnsweredCase) -> Iterator[str]:
    late = ", which is later than it should have" if case.answered > case.due else ""
    yield (
        f"On {case.received}, you asked {case.owner} that models forget your data. It had time until "
        f"{case.due}, and answers on {case.answered}{late}."
    )
    others = " together with those of others" if case.together > case.rows - case.earlier else ""
    yield (
        f"Models had been trained on {_records(case.rows)} of yours. {case.owner} found them by the "
        f"identifier that you gave, and named them{others} in request {case.request} of its federation."
    )
    if case.earlier:
        yield f"An earlier request had named {case.earlier} of them already."
    if case.tested and case.handed_out:
        yield (
            f"Attention: {case.owner} had made {_records(case.tested)} more of yours public, to measure "
            "models on them. Anybody may have copies, and no request takes them back."
        )
    elif case.tested:
        yield f"{case.owner} used {_records(case.tested)} more of yours to test its models, not to train any."
    yield (
        "This page has neither your identifier nor the numbers of your records. Nobody but "
        f"{case.owner} could check that these are your records, and that it has no others."
    )


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def write_answer(answer: PersonAnswer, folder: Path) -> tuple[Path, Path]:
    """Writes `answer-<case>.html` and `.json`; returns both paths.  Raises RunError if that fails."""
    page, document = (folder / f"answer-{answer.case.number}.{kind}" for kind in ("html", "json"))
    text = page_templates().get_template("answer.html.j2").render(answer=answer, case=answer.case)
    write_whole(page, text.encode(), parents=True)
    spelt = json.dumps(asdict(answer), indent=1, sort_keys=True, default=str, ensure_ascii=False)
    write_whole(document, spelt.encode() + b"\n")
    return page, document
