# SPDX-License-Identifier: Apache-2.0
"""The two nodes that a federation works on: devnets of our own, or running nodes by URL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.chain.calls import GWEI
from blockful_py.chain.devnet import GAS_LIMIT, Devnet, NodeOptions, start_together
from blockful_py.chain.embedded_devnet import EmbeddedDevnet
from blockful_py.chain.node import Node, connect
from blockful_py.chain.programs import ganache_is_installed
from blockful_py.chain.sender import SENDER_KEY, Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.closable import Closable
from blockful_py.errors import RunError, SettingsError
from blockful_py.file_lock import FileLock
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.pipeline.run.shared_chains import ChainGuest, SharedChains, forget
from blockful_py.settings import ChainSettings
from blockful_py.settings.sections import Urls

LOCK = "chains.lock"


@dataclass(frozen=True, slots=True)
class ChainEndpoints:
    """The endpoints of both chains: URLs, or the folder with the databases of our own devnets.

    Attributes:
        databases: the folder; None for URLs.
        devnet: the kind of our own devnets: "ganache", "embedded", or "anvil", which is fast and keeps its
            chain in memory only.
        confirmations, max_fee_gwei: as in the settings.
    """

    live_chain_id: int
    archive_chain_id: int
    live_url: Urls = None
    archive_url: Urls = None
    databases: Path | None = None
    confirmations: int = 0
    max_fee_gwei: float | None = None
    devnet: str = "ganache"

    @classmethod
    def of(cls, settings: ChainSettings, databases: Path) -> ChainEndpoints:
        """The endpoints that the settings name; by default devnets, of Ganache if it is installed.

        Raises SettingsError if only one URL is set, or confirmations are set for devnets of our own.
        """
        urls = (settings.live_url, settings.archive_url)
        if not any(urls):
            if settings.confirmations:
                raise SettingsError(
                    "chain.confirmations needs chains that go on by themselves, and a run's own devnets mine "
                    "nothing but its transactions: give the URLs of nodes, or leave it out."
                )
            kind = settings.devnet or ("ganache" if ganache_is_installed() else "embedded")
            return cls(settings.live_chain_id, settings.archive_chain_id, databases=databases, devnet=kind)
        if not all(urls):
            raise SettingsError(
                "give chain.live_url and chain.archive_url, or neither; they may be the same node."
            )
        archive_id = settings.live_chain_id if urls[0] == urls[1] else settings.archive_chain_id
        limits = (settings.confirmations, settings.max_fee_gwei)
        return cls(settings.live_chain_id, archive_id, *urls, None, *limits)

    @property
    def own(self) -> bool:
        """Whether the nodes are devnets that we start and stop."""
        return self.databases is not None

    def to_json(self, base: Path) -> dict[str, Any]:
        """The entry for run.json; the databases as a path relative to `base`."""
        document: dict[str, Any] = {"live": self.live_chain_id, "archive": self.archive_chain_id}
        if self.databases is not None:
            return {**document, "databases": os.path.relpath(self.databases, base), "devnet": self.devnet}
        return {
            **document,
            "live_url": self.live_url,
            "archive_url": self.archive_url,
            "confirmations": self.confirmations,
            "max_fee_gwei": self.max_fee_gwei,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], base: Path) -> ChainEndpoints:
        try:
            databases = document.get("databases")
            return cls(
                int(document["live"]),
                int(document["archive"]),
                _urls(document.get("live_url")),
                _urls(document.get("archive_url")),
                (base / databases).resolve() if databases is not None else None,
                int(document.get("confirmations", 0)),
                None if (fee := document.get("max_fee_gwei")) is None else float(fee),
                str(document.get("devnet", "ganache")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"run.json does not say where the chains are ({error}); train again.") from None


class Nodes(Closable):
    """Both nodes, with a paying account on each.  Closing it stops the nodes that it started."""

    def __init__(self, place: ChainEndpoints, account: Signer | None = None, *, shared: bool = False) -> None:
        """Starts or reaches the nodes.

        `account` pays on nodes reached by URL, instead of the account of SENDER_KEY.  `shared`: other
        commands may use our own nodes meanwhile; closing waits for them.  Embedded chains are always shared.

        Raises NodeError, ToolchainError or MissingExtraError when a node cannot be started or reached.
        """
        self.place = place
        with ExitStack() as stack:
            if guest := _guest(stack, place):
                self.live, self.archive = (
                    _connected(stack, guest.live, place.live_chain_id, 0),
                    _connected(stack, guest.archive, place.archive_chain_id, 0),
                )
                self.live_sender, self.archive_sender = _payer(self.live), _payer(self.archive)
            elif place.databases is not None:
                live, archive = _devnets(stack, place, place.databases, shared)
                self.live, self.live_sender = live.node, live.sender()
                self.archive, self.archive_sender = archive.node, archive.sender()
            else:
                account = account or paying_account((place.live_chain_id, place.archive_chain_id))
                most = None if place.max_fee_gwei is None else round(place.max_fee_gwei * GWEI)
                self.live = _connected(stack, place.live_url, place.live_chain_id, place.confirmations)
                self.live_sender = Sender(self.live, account, max_fee=most)
                self.archive, self.archive_sender = self.live, self.live_sender
                if place.live_url != place.archive_url:
                    self.archive = _connected(
                        stack, place.archive_url, place.archive_chain_id, place.confirmations
                    )
                    self.archive_sender = Sender(self.archive, account, max_fee=most)
            self._stack = stack.pop_all()

    @property
    def one_chain(self) -> bool:
        return self.archive is self.live

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Has this thread read both chains as in `Node.one_look`."""
        with self.live.one_look(), self.archive.one_look():
            yield

    def close(self) -> None:
        self._stack.close()


def _guest(stack: ExitStack, place: ChainEndpoints) -> ChainGuest | None:
    """The nodes of an explorer that runs these chains and shares them; None without one."""
    if place.databases is None:
        return None
    try:
        if not FileLock.is_free(place.databases / LOCK):
            return stack.enter_context(ChainGuest(place.databases))
    except (LookupError, OSError):
        pass
    return None


def _payer(node: Node) -> Sender:
    """The paying account of one of our own nodes, as in `Devnet.sender`."""
    return Sender(node, Signer.from_mnemonic(DEV_MNEMONIC, 0), gas_limit=GAS_LIMIT)


def _devnets(
    stack: ExitStack, place: ChainEndpoints, databases: Path, shared: bool
) -> tuple[Devnet, Devnet] | tuple[EmbeddedDevnet, EmbeddedDevnet]:
    ids = {"live": place.live_chain_id, "archive": place.archive_chain_id}
    if place.devnet == "embedded":
        first, second = (
            stack.enter_context(EmbeddedDevnet(databases / f"{name}.sqlite", chain_id))
            for name, chain_id in ids.items()
        )
        return first, second
    if place.devnet == "ganache":
        stack.enter_context(_sole_user(databases))
        forget(databases)
    options = []
    for name, chain_id in ids.items():
        database = databases / name if place.devnet == "ganache" else None
        if database is not None:
            database.mkdir(parents=True, exist_ok=True)
        options.append(NodeOptions(chain_id, kind=place.devnet, database=database))
    live, archive = start_together(*options)
    stack.enter_context(live)
    stack.enter_context(archive)
    if shared and place.devnet == "ganache":
        stack.enter_context(SharedChains(databases, live.url, archive.url))
    return live, archive


def _sole_user(databases: Path) -> FileLock:
    """Locks these databases for one process's nodes.  Raises RunError, naming the holder of the lock."""

    def held(holder: str) -> RunError:
        return RunError(
            f"the chains in {databases} are run by {holder}, and by one command at a time: wait until it is "
            "done, or end it. Chains of `blockful devnet up` serve several commands at once."
        )

    try:
        databases.mkdir(parents=True, exist_ok=True)
        return FileLock(databases / LOCK, held)
    except OSError as error:
        raise RunError(
            f"{databases} cannot be used ({error.strerror}): its chains need a folder to write to."
        ) from None


def _urls(value: Any) -> Urls:
    """Converts URLs from JSON."""
    return tuple(map(str, value)) if isinstance(value, list) else value


def _connected(stack: ExitStack, url: Urls, chain_id: int, confirmations: int) -> Node:
    if not url:
        raise SettingsError("a URL of a node is missing.")
    node = connect(url, chain_id, confirmations=confirmations)
    stack.callback(node.close)
    return node


def paying_account(chain_ids: Iterable[int]) -> Signer | None:
    """The account of SENDER_KEY; otherwise, on development chains, the first of their public mnemonic."""
    if key := os.environ.get(SENDER_KEY):
        return Signer(key)
    return Signer.from_mnemonic(DEV_MNEMONIC, 0) if DEVELOPMENT_CHAINS.issuperset(chain_ids) else None
