# SPDX-License-Identifier: Apache-2.0
"""Takes part in a federation of machines, with one's own data and keys (`blockful participant`)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.child_process import ChildProcesses
from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    AllowedCode,
    ArchiveUrl,
    AsJson,
    LabelColumn,
    LiveUrl,
    Monitor,
    OwnCallbacks,
    PassphraseFile,
    PersonColumn,
    address,
)
from blockful_py.cli.parties import nodes_of, once_reached, own_code, require_funds, serving_blocks
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.committee.service.duties import Duties
from blockful_py.errors import SettingsError
from blockful_py.names import called
from blockful_py.participant.task import MODULE

if TYPE_CHECKING:
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.participant.folder import ParticipantFolder
    from blockful_py.participant.serving import ParticipantService
    from blockful_py.types import Address

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The participant's folder.")]


def init(
    folder: Folder,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The participant's own rows, for a federation made of such files: CSV, parquet, or a folder "
            "of images. A fifth of them becomes public, in FOLDER/public.parquet.",
            show_default=False,
        ),
    ] = None,
    label: LabelColumn = None,
    person: PersonColumn = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a participant's folder with fresh keys, which only its user can read.

    Example: blockful participant init hospital --passphrase-file words
    """
    from blockful_py.participant.folder import ParticipantFolder

    out, party, own = Output(as_json), ParticipantFolder(folder), None
    if data is not None:
        from blockful_py.participant.bringing import OwnFile

        own = OwnFile.read(data, label, person)
    elif label is not None or person is not None:
        column = "--person" if label is None else "--label"
        raise SettingsError(f"{column} is a column of --data: give both, or neither.")
    keys = party.init(passphrase_from(passphrase_file, repeat=True))
    public = own.hand_out(party.public, keys.account) if own else 0
    brought = {"label": own.label, "rows": len(own.rows), "public": public} if own else {}
    out.result({"account": "0x" + keys.account.hex(), **brought})
    out.say(f"account 0x{keys.account.hex()}: it pays for gas on both chains")
    if own is not None:
        chosen = "as --label says" if label else "by its name or place; --label names another"
        out.say(
            f"{len(own.rows):,} rows, labels in column {own.label!r} ({chosen})",
            f"{public:,} rows are public, in {party.public}: give that file to the founder, no other",
        )


def join(
    folder: Folder,
    federation: Annotated[
        Path, typer.Option("--federation", metavar="FILE", help="The federation file (federation.toml).")
    ],
    data: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help="The participant's own data: CSV, parquet, a folder of images, a .safetensors file of "
            "samples, or package.module:object.",
        ),
    ],
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    device: Annotated[str, typer.Option(help="The torch device used for training.")] = "auto",
    allow: AllowedCode = None,
    callbacks: OwnCallbacks = None,
    disclose: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of a retraining's steps whose samples members may see for spot checks "
            "(docs/explanation/spot-checks.md). Default: 0.",
            min=0,
            max=1,
            show_default=False,
        ),
    ] = None,
    auditors: Annotated[
        list[str] | None,
        typer.Option(
            "--replay-by",
            metavar="ACCOUNT",
            help="An auditor that may replay your retrainings with your samples, if it is drawn "
            "(docs/explanation/replays.md). Repeatable; replaces earlier ones. `none` ends it.",
            show_default=False,
        ),
    ] = None,
    person: PersonColumn = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check a federation file against the chains, and register for it.

    The account pays for gas; on development chains an empty account is funded.  A participant follows changes
    of the file automatically; repeat the command for a file that no member serves.

    Example: blockful participant join hospital --federation federation.toml --data samples.safetensors
    --live-url URL --archive-url URL
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.record.federation_file import FederationFile, read_federation_file

    file = read_federation_file(federation)
    from blockful_py.participant.joining import join

    with nodes_of(FederationFile.parse(file).chain, live_url, archive_url, keys.account_secret) as nodes:
        require_funds(nodes, keys.account)
        code = own_code(allow=allow, callbacks=callbacks)
        said: list[str] = []
        run = join(
            *(party, keys, file, data, nodes),
            device=device,
            progress=out,
            code=code,
            discloses=disclose,
            auditors=_accounts(auditors),
            person=person,
            tell=said.append,
        )
    number = run.party.user if run.party else None
    account = "0x" + keys.account.hex()
    name = run.settings.federation.party(number or 0, account)
    out.result({"number": number, "name": name, "account": account, "run": str(run.path), "data": said})
    out.say(f"participant {called(number, name)}, account {account}", *said)
    out.say("next:")
    out.command("blockful", "participant", "serve", folder)


def _accounts(auditors: list[str] | None) -> tuple[Address, ...] | None:
    """The named accounts; empty for `none`, None without the option.  Raises SettingsError."""
    if auditors is None:
        return None
    return () if auditors == ["none"] else tuple(map(address, auditors))


def serve(
    folder: Folder,
    port: Annotated[
        int | None,
        typer.Option(
            help="Port for others to fetch the participant's files. 0 takes a free port.",
            min=0,
            max=65535,
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond the loopback interface, by TLS.")
    ] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(help="Address at which others reach it, if another than --host.", show_default=False),
    ] = None,
    monitor: Monitor = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Train, publish and do one's part of requests, until stopped (SIGTERM or Ctrl-C).

    All work follows from the chains, so a participant that was away continues where it stopped.  It works
    within its owner's limits, FOLDER/limits.toml.  Without --port it only dials out: members store its
    publications.

    Example: blockful participant serve hospital --passphrase-file words
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)

    from blockful_py.monitoring.page import monitor_page, registry_of
    from blockful_py.participant.monitoring import ParticipantMetrics, ParticipantMonitor
    from blockful_py.participant.serving import ParticipantService

    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    processes, registry = ChildProcesses(MODULE), registry_of("participant")
    metrics = ParticipantMetrics(registry)
    watch = ParticipantMonitor(party, lambda: participant.contracts, registry)
    with ExitStack() as stack:
        stack.enter_context(party.serving())
        if port is not None:
            run, place = party.opened()[0], (host, port)
            server = serving_blocks(run, keys.account_secret, *place, watch.health, registry)
            stack.enter_context(server)
            url = url or server.url
        elif url is not None:
            raise SettingsError("--url is the public address of --port: give both, or neither.")
        opened = partial(ParticipantService, party, keys, processes, url=url, metrics=metrics)
        participant = stack.enter_context(once_reached(opened, out, stopping))
        page = stack.enter_context(monitor_page(monitor, registry, watch.health))
        about = {"participant": participant.user, "account": "0x" + keys.account.hex()}
        out.line({**about, "url": url, "monitor": page and page.url})
        out.say(f"participant {participant.user} is working")
        if page:
            out.say(f"its metrics and health are at {page.url}")
        with Duties([participant, watch]), processes:
            signal.sigwait(stopping)


def status(folder: Folder, passphrase_file: PassphraseFile = None, as_json: AsJson = False) -> None:
    """Show a participant's published models, and the requests that wait for it.

    Example: blockful participant status hospital --json
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.participant.cases import CasesFile

    with service_of(party, keys) as participant:
        catalogue = participant.catalogue()
        own = {
            name: placed.version
            for name, placed in catalogue.models.items()
            if placed.node.statement.user == participant.user
        }
        withdrawn = [name for name in catalogue.models if name not in catalogue.with_weights]
        requests = participant.statuses(catalogue)
        work = participant.next_work(catalogue)
        why = "it is paused" if party.is_paused else work and participant.withheld(work, catalogue)
        name = party.opened()[0].settings.federation.party(participant.user, "0x" + keys.account.hex())
        worse = {
            model: {"before": claims.before or 0.0, "after": claims.ad_r}
            for model in own
            if (done := catalogue[model].node.redaction) and (claims := done.claims) and claims.is_loss
        }
        stages = {each.number: each.stage for each in requests}
        warnings = [*participant.warnings, *CasesFile(party, keys).warnings(date.today(), stages)]
        document = {
            "participant": participant.user,
            "name": name,
            "account": "0x" + keys.account.hex(),
            "paused": party.is_paused,
            "served": party.is_served,
            "models": own,
            "federation": len(catalogue.models),
            "withdrawn": withdrawn,
            "worse": worse,
            "next": None if work is None else {"models": work.models, "request": work.request},
            "withheld": why if work is not None else None,
            "requests": [asdict(each) for each in requests],
            "warnings": warnings,
        }
    out.result(document)
    out.say(f"participant {called(participant.user, name)}{', paused' if party.is_paused else ''}")
    if not document["served"]:
        out.say("no process serves it, so it does no work; to start one:")
        out.command("blockful", "participant", "serve", folder)
    for name, version in own.items():
        out.say(f"{name}  version {version}")
    for model, lost in worse.items():
        figures = f"{100 * lost['before']:.1f} % before, {100 * lost['after']:.1f} % now"
        out.say(f"{model} is worse on the data to keep, by more than chance explains: {figures}")
    for warning in warnings:
        out.say(f"warning: {warning}")
    if withdrawn:
        out.say(f"withdrawn by a request, without weights: {', '.join(withdrawn)}")
    if work is not None:
        out.say(f"next: {work}{f' (not yet: {why})' if why else ''}")
    for each in requests:
        out.say(str(each))
        if each.refused:
            out.say(f"  this participant refuses its part: {each.refused}")
        if each.failed:
            out.say(f"  its part failed and will be retried: {each.failed}")
        for turn in each.turns:
            out.say(f"  {turn}")
        if each.built_on_old:
            out.say(
                f"  {', '.join(each.built_on_old)} was trained later from a replaced version: "
                "its owner can request that it forgets, too"
            )


def log(
    folder: Folder,
    last: Annotated[int, typer.Option("--last", metavar="N", help="Show the newest N.", min=1)] = 20,
    as_json: AsJson = False,
) -> None:
    """Show a participant's trainings and parts of requests, with times, durations and failures.

    Example: blockful participant log hospital --last 5
    """

    from blockful_py.participant.folder import ParticipantFolder

    out, party = Output(as_json), ParticipantFolder(folder)
    party.require()
    entries = party.log.entries()[-last:]
    out.result([asdict(each) for each in entries])
    for each in entries:
        what = "training" if each.request is None else f"request {each.request},"
        when = datetime.fromtimestamp(each.started).astimezone().isoformat(" ", "seconds")
        took = "not finished" if each.seconds is None else f"{each.seconds:.1f} s"
        failed = f": failed, {each.error}" if each.error else ""
        out.say(f"{when}  {what} {', '.join(each.models)}  {took}{failed}")


def pause(folder: Folder, as_json: AsJson = False) -> None:
    """Have a participant start no new work until `resume`.

    Example: blockful participant pause hospital
    """
    from blockful_py.participant.folder import ParticipantFolder

    ParticipantFolder(folder).pause()
    Output(as_json).result({"paused": True})
    Output(as_json).say("paused: it starts no new work")


def resume(folder: Folder, as_json: AsJson = False) -> None:
    """Have a paused participant go on.

    Example: blockful participant resume hospital
    """
    from blockful_py.participant.folder import ParticipantFolder

    ParticipantFolder(folder).resume()
    Output(as_json).result({"paused": False})
    Output(as_json).say("it continues")


def leave(
    folder: Folder,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Leave even if requests wait for this participant's models.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Leave the federation: the participant publishes nothing more.  Its models stay.

    If requests wait for its models, the command names them and does not leave: let `serve` finish them.

    Example: blockful participant leave hospital
    """
    out, (party, keys) = Output(as_json), opened_folder(folder, passphrase_file)
    from blockful_py.participant.joining import leave

    with service_of(party, keys) as participant:
        left_open = leave(participant, keys, anyway)
        out.result(
            {"left": participant.user, "open": {str(n): list(names) for n, names in left_open.items()}}
        )
        for number, names in left_open.items():
            out.say(f"request {number} no longer gets {', '.join(names)} from it")
        out.say(f"participant {participant.user} has left")


def opened_folder(folder: Path, passphrase_file: Path | None) -> tuple[ParticipantFolder, ReaderKeys]:
    """A participant's folder, and its keys.  Raises KeystoreError, or SettingsError without a passphrase."""
    from blockful_py.participant.folder import ParticipantFolder

    party = ParticipantFolder(folder)
    return party, party.keys(passphrase_from(passphrase_file, folder))


@contextmanager
def service_of(party: ParticipantFolder, keys: ReaderKeys) -> Iterator[ParticipantService]:
    """A participant's service, which starts no work by itself.  Raises as `ParticipantService`."""
    from blockful_py.participant.serving import ParticipantService

    with ChildProcesses(MODULE) as processes, ParticipantService(party, keys, processes) as participant:
        yield participant
