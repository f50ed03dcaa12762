# SPDX-License-Identifier: Apache-2.0
"""Persons who ask a participant to be forgotten: their rows, their cases, the answers to them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, MethodName, PassphraseFile, Wait
from blockful_py.cli.participant import Folder, opened_folder, service_of
from blockful_py.cli.participant_requests import opened_run
from blockful_py.cli.unlearn import advised, show_advice
from blockful_py.errors import RunError, SettingsError

if TYPE_CHECKING:
    from blockful_py.participant.cases import PersonCase
    from blockful_py.record.request_stage import RequestStage

MAX_IDS_BYTES = 1 << 20
STDIN = "-"


def forget_person(
    folder: Folder,
    id_file: Annotated[
        str | None,
        typer.Option(
            "--id-file",
            metavar="FILE",
            help=f"File with a person's identifier on each line; {STDIN} reads standard input.",
            show_default=False,
        ),
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="ID",
            help="A person's identifier. Repeatable. It stays in the shell's history, and others on this "
            "machine see it in the list of processes: prefer --id-file.",
        ),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Only note the cases, to be filed together later.")
    ] = False,
    collected: Annotated[
        bool, typer.Option("--collected", help="File all collected cases, in one request.")
    ] = False,
    days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            help="Days until the person must have an answer. Default: a month (GDPR, article 12(3)).",
            min=1,
            max=3660,
            show_default=False,
        ),
    ] = None,
    method: MethodName = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Find the rows of persons and file a request for them, which starts at all own models.

    The rows are found by the column that `participant join --person` named.  Identifiers are taken without
    white space around them; upper and lower case and leading zeros count.

    Example: blockful participant forget-person hospital --id-file letter.txt --collect
    """
    texts = [*(ids or ()), *(() if id_file is None else _lines(id_file))]
    if bool(texts) == collected or (collect and collected):
        raise SettingsError("name persons with --id-file or --id, or give --collected: one of the two.")
    if collected and days is not None:
        raise SettingsError("--days is for new cases, and --collected files those there: give one of them.")
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.participant.cases import CasesFile
    from blockful_py.participant.forgetting import PersonRequests, noted
    from blockful_py.participant.persons import Persons

    index, file = Persons(party, keys), CasesFile(party, keys)
    asked = [index.name(text) for text in texts]
    with file.writing():
        rows = index.read()
        cases = noted(file.read(), rows, asked, date.today(), days)
        if collect:
            file.write(file.read().having(cases))
            out.result({"cases": [_about(each, {}) for each in cases]})
            _say(out, cases, {})
            out.say("to file all that are collected:")
            out.command("blockful", "participant", "forget-person", folder, "--collected")
            return
        with opened_run(party, keys) as opened:
            requests = PersonRequests(opened, keys.account, rows, file)
            known = file.read()
            chosen = (
                [each for each in known.cases if each.is_collected(requests.stages)]
                if collected
                else noted(known, rows, asked, date.today(), days)
            )
            file.write(known.having(chosen))
            models = requests.models()
            number, cases = requests.file([each.number for each in chosen], method)
            stages = dict(requests.stages)
            if number is not None:
                filed, stages[number] = opened.filed(number), opened.stage(number)
                advice = opened.federation.advice(filed)
    document = {"request": number, "models": list(models), "cases": [_about(each, stages) for each in cases]}
    out.result(document if number is None else {**document, **advised(filed.method, advice)})
    _say(out, cases, stages)
    if number is None:
        out.say("nothing is left to be filed" if cases else "no case is collected")
        return
    show_advice(out, filed.method, advice)
    named, trained = _rows(len(filed.samples)), ", ".join(models)
    out.say(f"request {number} is {stages[number]}: it names {named}; models trained on them: {trained}")
    out.say("to follow it, and to answer the persons:")
    out.command("blockful", "participant", "persons", folder)


def persons(folder: Folder, passphrase_file: PassphraseFile = None, as_json: AsJson = False) -> None:
    """List the cases of persons who asked to be forgotten, with their deadlines.

    Example: blockful participant persons hospital
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.participant.cases import CasesFile, due_in

    with service_of(party, keys) as participant:
        stages = {each.number: each.stage for each in participant.statuses(participant.catalogue())}
    cases, today = CasesFile(party, keys).read().cases, date.today()
    out.result({"cases": [_about(each, stages) for each in cases]})
    table = Table("case", "received", "due", "", "rows", "state", box=None, pad_edge=False)
    for each in cases:
        left = "" if each.answered else due_in((each.due - today).days)
        dates = (str(each.received), str(each.due), left)
        table.add_row(str(each.number), *dates, str(len(each.rows)), each.standing(stages))
    out.say(table if cases else "no person has asked to be forgotten")


def answer(
    folder: Folder,
    number: Annotated[int, typer.Argument(metavar="CASE", help="Number of the case.", min=1)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the answer.")],
    wait: Wait = 0.0,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Write the answer to a person whose request was carried out: a page and a document.

    It names the request, its outcome and the members' checks, by the committee's certificate, which the
    command has issued if the run has none.  It has neither the identifier nor numbers of rows.

    Example: blockful participant answer hospital 1 --output answers
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.participant.cases import CasesFile
    from blockful_py.report.runs.answer_page import AnsweredCase, answer_of, write_answer
    from blockful_py.report.runs.certificate_page import keep, kept, kept_name

    file, today = CasesFile(party, keys), date.today()
    case = file.read()[number]
    if case.request is None:
        raise RunError(
            f"case {number} is not filed: `blockful participant forget-person {shlex.quote(str(folder))} "
            "--collected`."
        )
    with opened_run(party, keys) as opened:
        run, request = opened.federation.run, opened.filed(case.request)
        certificate = kept(request, run.certificates)
        if certificate is None:
            certificate = opened.certificate(case.request, wait)
            keep(certificate, run.certificates)
        user = opened.federation.setup.users[0].index
    account = "0x" + keys.account.hex()
    name = run.settings.federation.party(user, account)
    named = request.forget.rows(user) or case.rows
    about = AnsweredCase(
        number=number,
        owner=f'"{name}"' if name else account,
        account=account,
        received=case.received,
        due=case.due,
        answered=today,
        rows=len(case.rows),
        earlier=len(set(case.rows) - set(named)),
        request=case.request,
        together=len(named),
        tested=case.tested,
        handed_out=case.handed_out,
    )
    made = answer_of(about, certificate, kept_name(request))
    with file.writing():
        cases = file.read()
        if cases[number] != case:
            raise RunError(f"case {number} was changed meanwhile: repeat the command.")
        page, document = write_answer(made, output)
        file.write(cases.having([case.model_copy(update={"answered": today})]))
    out.result({"case": number, "page": str(page), "document": str(document)})
    out.say(f"{page} and {document}: give both to the person")
    out.say(f"the certificate, if the person asks for it: {run.certificates / kept_name(request)}")


def _about(case: PersonCase, stages: Mapping[int, RequestStage]) -> dict[str, object]:
    """A case in JSON, without its person."""
    return {
        "case": case.number,
        "received": str(case.received),
        "due": str(case.due),
        "rows": len(case.rows),
        "tested": case.tested,
        "public": case.handed_out,
        "request": case.request,
        "state": case.standing(stages),
        "answered": None if case.answered is None else str(case.answered),
    }


def _say(out: Output, cases: Iterable[PersonCase], stages: Mapping[int, RequestStage]) -> None:
    for case in cases:
        out.say(f"case {case.number}, due on {case.due}: {_rows(len(case.rows))}; {case.standing(stages)}")
        if case.tested and case.handed_out:
            rows = f"{_rows(case.tested)} of the person made public"
            out.say(f"  and {rows}: others have copies, and no request takes them back")
        elif case.tested:
            out.say(f"  and {_rows(case.tested)} of the person to test on, which no model was trained on")


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _lines(file: str) -> list[str]:
    """The identifiers in a file, one a line.  Raises SettingsError if it cannot be read, or has none."""
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(MAX_IDS_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MAX_IDS_BYTES + 1)
        lines = data[: MAX_IDS_BYTES + 1].decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the identifiers in {file} cannot be read ({error}): save them as UTF-8."
        ) from None
    if len(data) > MAX_IDS_BYTES:
        raise SettingsError(
            f"{file} has more than {MAX_IDS_BYTES:,} bytes: give fewer identifiers at a time."
        )
    found = [line for line in lines if line.strip()]
    if not found:
        raise SettingsError(f"{file} has no identifier: write one on each line.")
    return found
