# SPDX-License-Identifier: Apache-2.0
"""The committee page: epochs, members, stake and trust, votes, alarms, slashes, and reachable endpoints."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from blockful_py import pinned_http
from blockful_py.chain.committee import CommitteeContract
from blockful_py.errors import MessageError, SettingsError, UnreachableError
from blockful_py.explorer.lists import Document, hexed
from blockful_py.explorer.watched import Watched
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.storage.fetch import Machine
from blockful_py.types import Address

PROBE_SECONDS = 5.0
PROBED_FOR_SECONDS = 15.0
"""Seconds for which an endpoint's status is shown before it is probed again."""
PROBES = 16
"""Maximum number of concurrent probes."""


class EndpointProbe:
    """Probes endpoints, each at most once per PROBED_FOR_SECONDS."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._answers: dict[Machine, tuple[float, bool]] = {}

    def alive(self, machines: Sequence[Machine]) -> dict[str, bool]:
        """By URL, whether the machine with the right key answers HTTP there, with any status."""
        with self._asking:
            now = time.monotonic()
            due = [m for m in machines if now - self._answers.get(m, (-1e9, False))[0] > PROBED_FOR_SECONDS]
            found = asyncio.run(_all(due)) if due else []
            asked = {machine: (now, answer) for machine, answer in zip(due, found, strict=True)}
            self._answers = {each: asked.get(each) or self._answers[each] for each in machines}
            return {machine.url: answer for machine, (_, answer) in self._answers.items()}


async def _all(machines: Sequence[Machine]) -> list[bool]:
    turns = asyncio.Semaphore(PROBES)

    async def one(machine: Machine) -> bool:
        async with turns:
            return await _answers(machine)

    return await asyncio.gather(*(one(each) for each in machines))


async def _answers(machine: Machine) -> bool:
    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            pinned_http.stream("HEAD", machine.url, "/", machine.address, {}, inside=machine.inside),
        ):
            return True
    except (TimeoutError, UnreachableError, MessageError, SettingsError):
        return False


LATEST = 100
"""Maximum number of alarms, slashes and other events listed."""


def committee_document(connection: sqlite3.Connection, watched: Watched, probe: EndpointProbe) -> Document:
    """The committee page's document.  Raises NodeError if the live chain's node fails."""
    epochs = connection.execute(
        "SELECT epoch.*, sent.time FROM epoch JOIN sent ON sent.chain = epoch.chain"
        " AND sent.hash = epoch.sent WHERE epoch.chain = 'live' ORDER BY number DESC"
    ).fetchall()
    votes = _votes(connection)
    endpoints = _endpoints(connection, watched)
    alive = probe.alive(_machines(watched, endpoints))
    current = [bytes.fromhex(each[2:]) for each in json.loads(epochs[0]["members"])] if epochs else []
    return {
        "elected": isinstance(watched.contracts.committee, CommitteeContract),
        "epochs": [
            {
                "epoch": row["number"],
                "members": json.loads(row["members"]),
                "quorum": row["quorum"],
                "threshold": row["threshold"],
                "key": hexed(row["key_id"]),
                "time": row["time"],
            }
            for row in epochs
        ],
        "members": [
            {
                "index": index,
                "address": hexed(voter),
                "signed": votes["signed"][voter],
                "asked": votes["asked"][voter],
                **_standing(watched, voter, endpoints, alive),
            }
            for index, voter in enumerate(current)
        ],
        "endpoints": [{"url": url, "alive": answer} for url, answer in sorted(alive.items())],
        "alarms": happenings(connection, "alarms", ("AlarmRaised",)),
        "slashes": happenings(connection, "committee", ("Slashed", "Burnt")),
        "events": happenings(connection, "committee", ()),
    }


def _machines(watched: Watched, endpoints: dict[bytes, Document]) -> list[Machine]:
    """Announced endpoints with their voting keys, and endpoints listed in the federation file or settings.

    Addresses in this machine's own network are contacted only if they are listed, or on development chains.
    """
    listed = watched.run.settings.committee.members
    inside = watched.contracts.live.chain_id in DEVELOPMENT_CHAINS
    found = {
        each["url"]: Machine(each["url"], key, inside or each["url"] in listed)
        for key, each in endpoints.items()
    }
    return [*found.values(), *(Machine(url, None) for url in listed if url not in found)]


def _votes(connection: sqlite3.Connection) -> dict[str, Counter[bytes]]:
    """For each member, the number of certificates it signed, and of all certificates in its epochs."""
    rosters = {
        row["number"]: [bytes.fromhex(each[2:]) for each in json.loads(row["members"])]
        for row in connection.execute("SELECT number, members FROM epoch ORDER BY chain")
    }
    signed: Counter[bytes] = Counter()
    asked: Counter[bytes] = Counter()
    for row in connection.execute("SELECT epoch, voters, count(*) AS times FROM certificate GROUP BY 1, 2"):
        for index, voter in enumerate(rosters.get(row["epoch"], ())):
            asked[voter] += row["times"]
            signed[voter] += row["times"] * (int(row["voters"], 16) >> index & 1)
    return {"signed": signed, "asked": asked}


def _endpoints(connection: sqlite3.Connection, watched: Watched) -> dict[bytes, Document]:
    """Endpoints by voting address, only those announced by the account that registered the address."""
    committee = watched.contracts.committee
    if not isinstance(committee, CommitteeContract):
        return {}
    found = {}
    for row in connection.execute("SELECT * FROM endpoint WHERE url <> ''"):
        if committee.registrant_of(row["key"]) == row["account"]:
            found[row["key"]] = {"url": row["url"], "account": row["account"]}
    return found


def _standing(
    watched: Watched, voter: Address, endpoints: dict[bytes, Document], alive: dict[str, bool]
) -> Document:
    """Endpoint of a member, and for an elected one its stake (wei, as text) and trust (0 to 1)."""
    endpoint = endpoints.get(voter)
    url = endpoint["url"] if endpoint else None
    document: dict[str, Any] = {"url": url, "alive": alive.get(url) if url else None, "stake": None}
    committee = watched.contracts.committee
    if isinstance(committee, CommitteeContract):
        account = committee.registrant_of(voter)
        state = committee.candidate(account)
        document |= {
            "account": hexed(account),
            "stake": str(state.stake),
            "trust": committee.trust(account) / 1_000_000,
            "leaving": bool(state.unbonding_since),
            "slashed": state.slashed,
        }
    return document


def happenings(connection: sqlite3.Connection, source: str, names: tuple[str, ...]) -> list[Document]:
    """Events of a contract, newest first, restricted to `names` unless empty."""
    chosen = f"AND name IN ({','.join('?' * len(names))})" if names else ""
    rows = connection.execute(
        "SELECT happening.*, sent.time FROM happening JOIN sent ON sent.chain = happening.chain"  # noqa: S608
        f" AND sent.hash = happening.sent WHERE source = ? {chosen} ORDER BY id DESC LIMIT {LATEST}",
        (source, *names),
    )
    return [
        {
            "name": row["name"],
            "arguments": json.loads(row["arguments"]),
            "time": row["time"],
        }
        for row in rows
    ]
