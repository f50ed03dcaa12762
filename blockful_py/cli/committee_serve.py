# SPDX-License-Identifier: Apache-2.0
"""Runs one committee member (`blockful committee serve`)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.child_process import ChildProcesses
from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    AllowedCode,
    ArchiveUrl,
    AsJson,
    FederationOption,
    LiveUrl,
    Monitor,
    PassphraseFile,
    address,
    urls,
)
from blockful_py.cli.parties import blocks_of, member_run, once_reached
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.committee.service.duties import Duties, Duty


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    run: Annotated[
        Path | None,
        typer.Option(
            "--run", "-r", metavar="DIR", help="A laboratory's run directory. It may be made later."
        ),
    ] = None,
    federation: FederationOption = None,
    port: Annotated[int, typer.Option(help="Port to listen on. 0 takes a free port.", min=0, max=65535)] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond the loopback interface, by TLS.")
    ] = "127.0.0.1",
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    allow: AllowedCode = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="Address at which others reach this member, if another than --host.",
            show_default=False,
        ),
    ] = None,
    leaders: Annotated[
        list[str] | None,
        typer.Option("--leader", metavar="ADDRESS", help="Another account that may lead. Repeatable."),
    ] = None,
    monitor: Monitor = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Answer proposals and key generations until stopped (SIGTERM or Ctrl-C).

    A member that has joined an elected committee takes part in its elections automatically.  The first line
    on standard output has the member's URL.

    Example: blockful committee serve members/1 --run runs/mine --port 7001
    """
    from blockful_py.committee.service.folder import MemberFolder

    place, trusted = urls(live_url, archive_url), frozenset(map(address, leaders or ()))
    member = MemberFolder.open(folder, passphrase_from(passphrase_file, folder))

    from blockful_py.committee.outbox_store import NOTES, OutboxStore
    from blockful_py.committee.service.dkg_participant import DkgParticipant
    from blockful_py.committee.service.outbox import Outbox
    from blockful_py.committee.service.request_handler import RequestHandler
    from blockful_py.committee.service.server import Server, counted, is_loopback
    from blockful_py.crypto.tls import server_context
    from blockful_py.member.candidacy import ElectionDuty
    from blockful_py.member.duties import (
        AlarmDuty,
        AnnounceDuty,
        ChainsDuty,
        CustodyDuty,
        PruneDuty,
        RulesDuty,
        SlashingDuty,
    )
    from blockful_py.member.file_retention import FilesDuty
    from blockful_py.member.finishing import FinishingDuty, FollowingDuty
    from blockful_py.member.monitoring import MeasuredHandler, MemberMetrics, MonitorDuty
    from blockful_py.member.office import MemberOffice
    from blockful_py.member.requests import RequestDuty
    from blockful_py.member.share_duty import SharesDuty
    from blockful_py.member.takeover import TakeoverDuty
    from blockful_py.member.turns import LeaderActivity, LeadRecorder, Turns
    from blockful_py.member.watching import when_changed
    from blockful_py.monitoring.page import monitor_page, registry_of

    out, stopping = Output(as_json), {signal.SIGTERM, signal.SIGINT}
    with _held_back(stopping):
        entered = partial(member_run, folder, run, federation, live_url, archive_url, member.keys, allow)
        run = once_reached(entered, out, stopping)
        custody, gate = (None, None) if federation is None else blocks_of(run)
        opened = partial(MemberOffice, run, member, place, trusted, custody)
        office = once_reached(opened, out, stopping)
        outbox = Outbox(OutboxStore(member.path / NOTES))
        handler = RequestHandler(
            member.voting_secret, office, DkgParticipant(member.voting_secret, member), outbox
        )
        registry = registry_of("member")
        watch = MonitorDuty(office, member, registry)
        try:
            processes = ChildProcesses("blockful_py.member.leader_process")
            tls = None if is_loopback(host) else server_context(member.voting_secret)
            measured = MeasuredHandler(handler, MemberMetrics(registry))
            leads = LeaderActivity()
            server = Server(
                LeadRecorder(measured, leads), host, port, tls, gate, watch.health, counted(registry)
            )
            watchful: list[Duty] = [
                RulesDuty(office),
                ElectionDuty(office, member),
                FinishingDuty(office, outbox),
                FollowingDuty(office, member),
                TakeoverDuty(office, member, processes),
                RequestDuty(office, member, processes, Turns(member.address, leads)),
                ChainsDuty(office),
                CustodyDuty(office, member),
                SharesDuty(office, member),
                FilesDuty(office),
                AlarmDuty(office, member, outbox),
                SlashingDuty(office, member, outbox),
                PruneDuty(office, outbox),
            ]
            announcing = AnnounceDuty(office, member, url or server.url)
            duties = Duties([watch, announcing, *when_changed(office, watchful)])
            with monitor_page(monitor, registry, watch.health) as page, server, duties, processes:
                own = "0x" + member.address.hex()
                out.line({"url": server.url, "address": own, "monitor": page and page.url})
                out.say(f"member {own} listens on {server.url}")
                if page:
                    out.say(f"its metrics and health are at {page.url}")
                signal.sigwait(stopping)
        finally:
            office.close()
            outbox.close()
            member.close()


@contextmanager
def _held_back(signals: set[signal.Signals]) -> Iterator[None]:
    """Blocks `signals` in this thread and in threads that it starts, so that `sigwait` receives them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
