# SPDX-License-Identifier: Apache-2.0
"""Shared helpers of the commands for a federation of machines."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import NodeError, SettingsError
from blockful_py.monitoring.request_id import RequestIds
from blockful_py.types import Address

FOUNDED = "founded"
"""A file that marks a federation founded by `blockful up`."""

WAIT_SECONDS = 2.0
T = TypeVar("T")

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from starlette.types import ASGIApp

    from blockful_py.cli.console import Output
    from blockful_py.committee.keystore import MemberKeys
    from blockful_py.committee.service.block_custody import BlockCustody
    from blockful_py.committee.service.server import Server
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.monitoring.health import Health
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.nodes import Nodes
    from blockful_py.settings import ChainSettings


def is_founded(folder: Path) -> bool:
    """Whether `blockful up` has founded the federation in a folder."""
    return (folder / FOUNDED).exists()


def founder(folder: Path, words: str) -> ReaderKeys:
    """The keys in a founder's folder; created if missing.  Raises KeystoreError."""
    from blockful_py.participant.folder import KEYS, ParticipantFolder

    party = ParticipantFolder(folder)
    return party.keys(words) if (folder / KEYS).exists() else party.init(words)


def member_keys(folder: Path, passphrase_file: Path | None) -> MemberKeys:
    """The secrets of the member in a folder, which may be serving.  Raises KeystoreError, SettingsError."""
    from blockful_py.committee.service.folder import keys_in

    return keys_in(folder, passphrase_from(passphrase_file, folder))


def nodes_of(chain: ChainSettings, live: list[str] | None, archive: list[str] | None, secret: int) -> Nodes:
    """The chains at two URLs, with a paying account.  Raises SettingsError without URLs, and NodeError."""
    from blockful_py.chain.signer import Signer
    from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes

    chosen = replace(
        chain,
        live_url=tuple(live) if live else chain.live_url,
        archive_url=tuple(archive) if archive else chain.archive_url,
    )
    if chosen.live_url is None or chosen.archive_url is None:
        raise SettingsError(
            "a federation of machines needs the chains' nodes: give --live-url and --archive-url."
        )
    return Nodes(ChainEndpoints.of(chosen, Path()), Signer(secret.to_bytes(32, "big")))


def member_run(
    folder: Path,
    run: Path | None,
    federation: Path | None,
    live: list[str] | None,
    archive: list[str] | None,
    keys: MemberKeys,
    allow: list[str] | None = None,
) -> Path:
    """The run directory of a member: a laboratory's, or its own, made from the federation file.

    `allow` has import paths of code that others may name; None keeps the current ones.  If the committee has
    replaced the file meanwhile, only `allow` is used, as the member has or fetches a newer file.  Raises
    SettingsError if neither `run` nor `federation` is given; otherwise as `enter`.
    """
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.entering import RUN, enter, is_outdated
    from blockful_py.record.federation_file import FederationFile, read_federation_file

    if federation is None:
        if run is None:
            raise SettingsError("a member needs a federation: give --federation FILE, or --run DIR.")
        if allow:
            raise SettingsError(
                "--allow goes with --federation: a laboratory's settings allow what they name."
            )
        return run
    data = read_federation_file(federation)
    with nodes_of(FederationFile.parse(data).chain, live, archive, keys.account_secret) as nodes:
        own = folder / RUN
        if is_outdated(own, data, nodes):
            if allow is not None:
                RunDirectory.open(own).allowing(allow)
            return own
        return enter(own, data, nodes, own={"run": own_code(allow=allow)}).path


def once_reached(opened: Callable[[], T], out: Output, stopping: Collection[signal.Signals]) -> T:
    """Calls `opened` until the nodes of both chains answer, and returns its result.

    Services may start before the nodes; a line reports the wait.  Raises KeyboardInterrupt if one of
    the blocked signals `stopping` arrives.
    """
    told = ""
    while True:
        try:
            return opened()
        except NodeError as error:
            if str(error) != told:
                told = str(error)
                out.problem("waiting", told)
        if signal.sigtimedwait(stopping, WAIT_SECONDS) is not None:
            raise KeyboardInterrupt


def own_code(**named: list[str] | None) -> dict[str, tuple[str, ...]]:
    """The part of `RunSettings` given as options."""
    return {key: tuple(names) for key, names in named.items() if names is not None}


@contextmanager
def led_by_member(folder: Path, keys: MemberKeys) -> Iterator[Federation]:
    """A member's run in a federation of machines, for leading the committee; the member may be serving."""
    from blockful_py.member.endpoints import signer_of
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.entering import RUN
    from blockful_py.pipeline.run.nodes import Nodes

    run = folder / RUN
    with (
        Nodes(RunDirectory.open(run).place, signer_of(keys)) as nodes,
        Federation.open(run, nodes=nodes, secret=keys.voting_secret) as federation,
    ):
        yield federation


@contextmanager
def opened(run: Path | None, member: Path | None, passphrase_file: Path | None) -> Iterator[Federation]:
    """A laboratory's run, or the run of the member in the folder `member`.

    Raises SettingsError if neither is given.
    """
    if member is None:
        if run is None:
            raise SettingsError("this needs a committee: give --run DIR, or --member FOLDER among machines.")
        from blockful_py.pipeline.federation import Federation

        with Federation.open(run) as federation:
            yield federation
    else:
        with led_by_member(member, member_keys(member, passphrase_file)) as federation:
            yield federation


def blocks_of(run: Path) -> tuple[BlockCustody, ASGIApp]:
    """Custody of blocks that others push to a party, and the gateway that serves its kept blocks."""
    from blockful_py.committee.service.block_custody import BlockCustody
    from blockful_py.pipeline.run.directory import RunDirectory
    from blockful_py.pipeline.run.stores import PartyBlocks
    from blockful_py.storage.arrivals import Arrivals
    from blockful_py.storage.gateway import gateway
    from blockful_py.storage.store import ContentStore

    opened = RunDirectory.open(run)
    custody = BlockCustody(ContentStore(opened.live_store), Arrivals(opened.arrivals))
    return custody, gateway(PartyBlocks(opened))


def serving_blocks(
    run: RunDirectory,
    secret: int,
    host: str,
    port: int,
    state: Health | None = None,
    registry: CollectorRegistry | None = None,
) -> Server:
    """A server for the blocks of a party; uses TLS under its key beyond the loopback interface."""
    from blockful_py.committee.service.server import Server, counted, is_loopback
    from blockful_py.crypto.tls import server_context
    from blockful_py.pipeline.run.stores import PartyBlocks
    from blockful_py.storage.gateway import gateway

    tls = None if is_loopback(host) else server_context(secret)
    around = RequestIds if registry is None else counted(registry)
    return Server(None, host, port, tls, gateway(PartyBlocks(run)), state, around)


def require_funds(nodes: Nodes, account: Address) -> None:
    """Funds an empty account on a development chain.

    Raises SettingsError if an account is empty on another chain.
    """
    from blockful_py.chain.interface import interface_of
    from blockful_py.pipeline.run.accounts import provide
    from blockful_py.pipeline.run.nodes import Nodes

    empty = [node for node in (nodes.live, nodes.archive) if not node.balance(account)]
    if not empty:
        return
    with Nodes(nodes.place) as payer:
        for sender in (payer.live_sender, payer.archive_sender):
            provide(sender, interface_of("LiveChain"), account)
    for node in empty:
        if not node.balance(account):
            raise SettingsError(
                f"the account 0x{account.hex()} has no ether on chain {node.chain_id}: send it some for gas, "
                "and repeat the command."
            )
