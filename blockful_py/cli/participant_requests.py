# SPDX-License-Identifier: Apache-2.0
"""A participant's requests to forget: drafted, signed by all owners, filed and certified."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, MethodName, PassphraseFile, Wait
from blockful_py.cli.participant import Folder, opened_folder
from blockful_py.cli.request import File, say_file, shown
from blockful_py.cli.unlearn import advised, show_advice
from blockful_py.errors import FormatError, SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.types import Paradigm

if TYPE_CHECKING:
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.participant.folder import ParticipantFolder
    from blockful_py.pipeline.jobs.cosigning import AskedOfOwner
    from blockful_py.pipeline.party import PartyRun
    from blockful_py.record.request import Request
    from blockful_py.record.request_file import RequestFile
    from blockful_py.unlearning.choosing import Advice


def request(
    folder: Folder,
    starts: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            metavar="MODEL",
            help="A model to start from. Repeatable. Default for samples and clients: all models of their "
            "owners.",
        ),
    ] = None,
    classes: Annotated[
        list[int] | None, typer.Option("--class", metavar="LABEL", help="A class to forget. Repeatable.")
    ] = None,
    whole: Annotated[bool, typer.Option("--client", help="Forget all data of this participant.")] = False,
    others: Annotated[
        list[int] | None,
        typer.Option(
            "--with",
            metavar="NUMBER",
            min=1,
            help="With --client: forget all data of this participant, too, by its number. Repeatable.",
        ),
    ] = None,
    samples: Annotated[
        list[str] | None,
        typer.Option(
            "--sample",
            help="A sample to forget: its row, from 0 among those trained on, or another participant's as "
            "user:row. Repeatable.",
        ),
    ] = None,
    paradigm: Annotated[
        Paradigm | None,
        typer.Option(
            help="Decide on all models together, or on each in turn. Default: parallel for classes and "
            "for models of sums, else sequential."
        ),
    ] = None,
    method: MethodName = None,
    draft: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Do not file the request: write it, signed, for the other owners of its starts.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File this request, which all its owners have signed.", show_default=False
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """File a request: every model that inherits from the starts must forget.

    The owners of all starts sign it.  If others own some, write it with --draft, have them sign
    (`blockful participant sign`), and file it with --file.

    Example: blockful participant request hospital --start r5 --class 3
    """
    out = Output(as_json)
    if file is not None:
        if starts or classes or whole or others or samples or paradigm or method or draft:
            raise SettingsError(
                "--file already names what to forget: give either --file or the other options."
            )
        from blockful_py.record.request_file import RequestFile

        complete = RequestFile.read(file)
        with opened_run(*opened_folder(folder, passphrase_file)) as opened:
            _show_filed(out, folder, opened, opened.file(complete))
        return
    if draft is not None and draft.exists():
        raise FormatError(f"{draft} exists already: choose another file.")
    party, keys = opened_folder(folder, passphrase_file)
    _, joined = party.opened()
    forget = _forget(joined.user or 0, classes, whole, others, samples)
    with opened_run(party, keys) as opened:
        asked = (tuple(starts or ()), forget, paradigm or opened.usual_paradigm(forget), method)
        if draft is None:
            _show_filed(out, folder, opened, opened.request(*asked))
            return
        made = opened.draft(*asked)
        signed = opened.sign(made)
        advice = opened.federation.advice(signed.request)
    signed.write(draft)
    out.result({**_asked(draft, signed, made), **advised(signed.request.method, advice)})
    _say_asked(out, signed, made)
    _say_advice(out, folder, signed.request, advice)
    _say_next(out, draft, signed)


def sign(
    folder: Folder,
    file: File,
    yes: Annotated[bool, typer.Option("--yes", help="Sign without asking.")] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check and show a request that starts at an own model, and add the participant's signature.

    It is checked against this participant's own view of the chains, as members check it when it is filed.

    Example: blockful participant sign clinic request.json
    """
    out = Output(as_json)
    from blockful_py.record.request_file import RequestFile

    request_file = RequestFile.read(file)
    with opened_run(*opened_folder(folder, passphrase_file)) as opened:
        asked, method = opened.asked(request_file), request_file.request.method
        advice = opened.federation.advice(request_file.request)
        _say_asked(out, request_file, asked)
        show_advice(out, method, advice)
        if not yes:
            _confirm(as_json)
        signed = opened.sign(asked)
    signed.write(file)
    out.result({**_asked(file, signed, asked), **advised(method, advice)})
    out.say(f"signed with account {asked.account}")
    _say_next(out, file, signed)


def certificate(
    folder: Folder,
    number: Annotated[int, typer.Argument(metavar="REQUEST", help="Number of the request.", min=1)],
    file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The new file.")],
    wait: Wait = 0.0,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Have the committee certify that a request was completed.

    A copy stays in the participant's run, where an explorer that shows its jobs finds it.

    Example: blockful participant certificate hospital 1 --output erasure.json --wait 600
    """
    out = Output(as_json)
    from blockful_py.report.runs.certificate_page import keep
    from blockful_py.whole_file import write_whole

    with (
        opened_run(*opened_folder(folder, passphrase_file)) as opened,
        out.stage(f"certify request {number}", None),
    ):
        document = opened.certificate(number, wait)
        certificates = opened.federation.run.certificates
    write_whole(file, document.to_bytes())
    keep(document, certificates)
    out.result({"request": number, "file": str(file)})
    out.say(f"certificate {file}")


def _forget(
    user: int,
    classes: Sequence[int] | None,
    whole: bool,
    others: Sequence[int] | None,
    samples: Sequence[str] | None,
) -> Forget:
    """The data that the options of participant `user` name.  Raises UnlearningError and FormatError."""
    if sum((bool(classes), whole, bool(samples))) != 1:
        raise UnlearningError(
            "a request forgets classes, samples or all data of this participant: give --class, --sample or "
            "--client."
        )
    if others and not whole:
        raise UnlearningError("--with names participants that leave together with this one: add --client.")
    if whole:
        return Forget.of_clients([user, *(others or ())])
    if classes:
        return Forget.of_classes(classes)
    from blockful_py.record.request import parse_sample

    named = (text if ":" in text else f"{user}:{text}" for text in samples or ())
    return Forget.of_samples(map(parse_sample, named))


def _show_filed(out: Output, folder: Path, opened: PartyRun, number: int) -> None:
    filed, stage = opened.filed(number), opened.stage(number)
    advice = opened.federation.advice(filed)
    out.result({"request": number, "stage": stage, **advised(filed.method, advice)})
    _say_advice(out, folder, filed, advice)
    out.say(f"request {number} is {stage}; to follow it:")
    out.command("blockful", "participant", "status", folder)


def _say_advice(out: Output, folder: Path, request: Request, advice: Advice) -> None:
    show_advice(out, request.method, advice)
    if advice.more_starts and request.classes:
        starts = [word for start in request.starts for word in ("--start", start.name)]
        classes = [word for label in request.classes for word in ("--class", str(label))]
        out.say("to start at models of other owners too, draft a request that they sign:")
        more = ("--start", "MODEL", *classes, "--draft", "request.json")
        out.command("blockful", "participant", "request", folder, *starts, *more)


def _asked(path: Path, file: RequestFile, asked: AskedOfOwner) -> dict[str, Any]:
    """Document for `--json`; `file` is the checked one, perhaps with one signature more."""
    return {
        **shown(path, file),
        "starts": list(asked.starts),
        "reached": list(asked.reached),
        "own": list(asked.own_reached),
        "clean": list(asked.own_clean),
        "data": asked.own_data,
        "blocks": asked.blocks,
        "gas": asked.gas,
    }


def _say_asked(out: Output, file: RequestFile, asked: AskedOfOwner) -> None:
    """Prints a request, its owners, and the part of one of them."""
    say_file(out, file, asked.owners)
    out.say(f"it starts from your {', '.join(asked.starts)}")
    out.say(f"models that must forget: {len(asked.reached)}, of them yours: {', '.join(asked.own_reached)}")
    if asked.own_clean:
        out.say(f"you hand in clean models of {', '.join(asked.own_clean)}, which stay as they are")
    if asked.own_data is not None:
        out.say(f"it names {asked.own_data}")
    out.say(f"owners have {asked.blocks:,} blocks of the live chain's node from its admission to hand in")
    out.say(f"replacing the models costs about {asked.gas:,} gas on both chains")


def _say_next(out: Output, path: Path, file: RequestFile) -> None:
    if file.missing:
        out.say("hand the file on; each owner that has yet to sign types:")
        out.command("blockful", "participant", "sign", "FOLDER", path)
    else:
        out.say("all owners have signed; one of them files it:")
        out.command("blockful", "participant", "request", "FOLDER", "--file", path)


def _confirm(as_json: bool) -> None:
    """Asks whether to sign.  Raises SettingsError where nobody can be asked, and Exit on a no."""
    if as_json or not sys.stdin.isatty():
        raise SettingsError("nothing is signed: nobody can be asked here, so add --yes to sign the request.")
    if not typer.confirm("Sign it?", err=True):
        raise typer.Exit(1)


@contextmanager
def opened_run(party: ParticipantFolder, keys: ReaderKeys) -> Iterator[PartyRun]:
    """A participant's run on its nodes.  Raises as `PartyRun.of_participant`."""
    from blockful_py.chain.signer import Signer
    from blockful_py.pipeline.party import PartyRun
    from blockful_py.pipeline.run.nodes import Nodes

    run, _ = party.opened()
    with (
        Nodes(run.place, Signer(keys.account_secret.to_bytes(32, "big"))) as nodes,
        PartyRun.of_participant(run.path, nodes, keys) as opened,
    ):
        yield opened
