# SPDX-License-Identifier: Apache-2.0
"""The committee: epochs and members, stake and trust, votes, alarms, slashes, and which endpoints answer."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from blockful_py.chain.committee import CommitteeContract
from blockful_py.explorer.lists import Document, hexed
from blockful_py.explorer.watched import Watched

LATEST = 100
"""Alarms, slashes and other events that are listed."""
PROBE_SECONDS = 2.0
PROBED_FOR_SECONDS = 15.0
"""How long the answer of an endpoint is shown before it is asked again."""
PROBES = 16


class EndpointProbe:
    """Tells which of the committee's endpoints accept connections."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._answers: dict[str, tuple[float, bool]] = {}

    def alive(self, urls: list[str]) -> dict[str, bool]:
        """By URL, whether somebody listens there; asked at most every PROBED_FOR_SECONDS."""
        with self._asking:
            now = time.monotonic()
            due = [u for u in urls if now - self._answers.get(u, (-1e9, False))[0] > PROBED_FOR_SECONDS]
            with ThreadPoolExecutor(PROBES) as pool:
                for url, answer in zip(due, pool.map(_listens, due), strict=True):
                    self._answers[url] = now, answer
            self._answers = {url: self._answers[url] for url in urls}
            return {url: alive for url, (_, alive) in self._answers.items()}


def _listens(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=PROBE_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def committee_document(connection: sqlite3.Connection, watched: Watched, probe: EndpointProbe) -> Document:
    """Raises NodeError when the live chain's node fails."""
    epochs = connection.execute(
        "SELECT epoch.*, sent.time, sent.block FROM epoch JOIN sent ON sent.chain = epoch.chain"
        " AND sent.hash = epoch.sent WHERE epoch.chain = 'live' ORDER BY number DESC"
    ).fetchall()
    votes = _votes(connection)
    endpoints = _endpoints(connection, watched)
    urls = sorted({each["url"] for each in endpoints.values()} | set(_listed(watched)))
    alive = probe.alive(urls)
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
                "block": row["block"],
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


def _listed(watched: Watched) -> tuple[str, ...]:
    """URLs that the federation file, or the run's settings, name."""
    return tuple(watched.run.settings.committee.members)


def _votes(connection: sqlite3.Connection) -> dict[str, Counter[bytes]]:
    """How many certificates each member signed, and how many there were in its epochs."""
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
    """Announced endpoints by voting address, of accounts that registered that address; of no stranger."""
    committee = watched.contracts.committee
    if not isinstance(committee, CommitteeContract):
        return {}
    found = {}
    for row in connection.execute("SELECT * FROM endpoint WHERE url <> ''"):
        if committee.registrant_of(row["key"]) == row["account"]:
            found[row["key"]] = {"url": row["url"], "account": row["account"]}
    return found


def _standing(
    watched: Watched, voter: bytes, endpoints: dict[bytes, Document], alive: dict[str, bool]
) -> Document:
    """Stake in wei as text, trust from 0 to 1, and where a member is reached; nothing of an appointed one."""
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
    """Events of a contract, the newest first; those of `names`, or all."""
    chosen = f"AND name IN ({','.join('?' * len(names))})" if names else ""
    rows = connection.execute(
        "SELECT happening.*, sent.time, sent.block FROM happening JOIN sent ON sent.chain = happening.chain"  # noqa: S608
        f" AND sent.hash = happening.sent WHERE source = ? {chosen} ORDER BY id DESC LIMIT {LATEST}",
        (source, *names),
    )
    return [
        {
            "name": row["name"],
            "arguments": json.loads(row["arguments"]),
            "time": row["time"],
            "block": row["block"],
        }
        for row in rows
    ]
