# SPDX-License-Identifier: Apache-2.0
"""The SQLite file of an embedded chain; several threads and processes may share it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from blockful_py.closable import Closable
from blockful_py.errors import NodeError
from blockful_py.types import Address, Bytes32

PATIENCE = 60.0
"""Seconds to wait while another process adds a block."""
_MARK = 0x626C6F63  # application_id in SQLite's header; identifies our files


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A stored block: number, hash, RLP-encoded header, and hash of its transaction."""

    number: int
    hash: bytes
    header: bytes
    transaction: bytes | None


@dataclass(frozen=True, slots=True)
class StoredTransaction:
    """A mined transaction as JSON documents; each log document comes with the emitting address."""

    hash: bytes
    document: str
    receipt: str
    logs: Sequence[tuple[bytes, str]]


class ChainFile(Closable):
    """The tables of one chain.  Use it only inside a `reading` or `writing` context."""

    def __init__(self, path: Path, chain_id: int | None = None) -> None:
        """Opens the file.  With a `chain_id`, creates it without blocks if it is missing.

        Raises NodeError if it is missing, holds another chain or no chain, or cannot be used.
        """
        self.path = path
        self._lock = threading.RLock()
        if chain_id is None and not path.exists():
            raise NodeError(f"there is no embedded chain at {path}: check the path.")
        with self._errors():
            self._connection = sqlite3.connect(
                path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                self.chain_id = self._opened(chain_id)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Reads one consistent snapshot, even if other processes add blocks meanwhile."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Writes everything in the context atomically; other writers wait."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    def node(self, key: bytes) -> bytes | None:
        row = self._connection.execute("SELECT content FROM nodes WHERE hash = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def add_node(self, key: bytes, content: bytes) -> None:
        self._connection.execute("INSERT OR IGNORE INTO nodes VALUES (?, ?)", (key, content))

    @property
    def height(self) -> int:
        """Number of the newest block; -1 before the first."""
        (number,) = self._connection.execute("SELECT max(number) FROM blocks").fetchone()
        return -1 if number is None else int(number)

    def block(self, number: int) -> StoredBlock | None:
        row = self._connection.execute(
            "SELECT number, blocks.hash, header, transactions.hash FROM blocks "
            "LEFT JOIN transactions ON block = number WHERE number = ?",
            (number,),
        ).fetchone()
        return None if row is None else StoredBlock(*row)

    def hashes_before(self, number: int) -> Iterator[bytes]:
        """Hashes of the 256 blocks before `number`, newest first, for opcode BLOCKHASH."""
        rows = self._connection.execute(
            "SELECT hash FROM blocks WHERE number < ? ORDER BY number DESC LIMIT 256", (number,)
        )
        for (found,) in rows:
            yield found

    def add_block(self, block: StoredBlock, transaction: StoredTransaction | None) -> None:
        self._connection.execute(
            "INSERT INTO blocks VALUES (?, ?, ?, (SELECT ahead FROM chain))",
            (block.number, block.hash, block.header),
        )
        if transaction is None:
            return
        self._connection.execute(
            "INSERT INTO transactions VALUES (?, ?, ?, ?)",
            (transaction.hash, block.number, transaction.document, transaction.receipt),
        )
        self._connection.executemany(
            "INSERT INTO logs VALUES (?, ?, ?, ?)",
            [(block.number, at, address, log) for at, (address, log) in enumerate(transaction.logs)],
        )

    def rewind(self, number: int) -> None:
        """Drops the blocks after `number` and restores the clock of that time."""
        self._connection.execute("DELETE FROM blocks WHERE number > ?", (number,))
        self._connection.execute(
            "UPDATE chain SET ahead = (SELECT ahead FROM blocks WHERE number = ?)", (number,)
        )

    def transaction(self, transaction_hash: Bytes32) -> tuple[str, str] | None:
        """Documents of a transaction and of its receipt."""
        row = self._connection.execute(
            "SELECT document, receipt FROM transactions WHERE hash = ?", (transaction_hash,)
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def logs(self, address: Address, first: int, last: int) -> list[str]:
        """Documents of the logs that a contract emitted from block `first` to `last`."""
        rows = self._connection.execute(
            "SELECT document FROM logs WHERE address = ? AND block BETWEEN ? AND ? ORDER BY block, position",
            (address, first, last),
        )
        return [row[0] for row in rows]

    @property
    def ahead(self) -> int:
        """Seconds by which the chain's clock is ahead of the machine's."""
        return int(self._connection.execute("SELECT ahead FROM chain").fetchone()[0])

    def advance(self, seconds: int) -> None:
        self._connection.execute("UPDATE chain SET ahead = ahead + ?", (seconds,))

    def _opened(self, chain_id: int | None) -> int:
        self._connection.execute("PRAGMA foreign_keys = ON")
        with self.writing() if chain_id is not None else self.reading():
            (mark,) = self._connection.execute("PRAGMA application_id").fetchone()
            (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if chain_id is not None and not tables:
                schema = (resources.files(__package__) / "schema.sql").read_text(encoding="utf-8")
                for statement in filter(str.strip, schema.split(";\n")):
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO chain VALUES (?, 0)", (chain_id,))
                self._connection.execute(f"PRAGMA application_id = {_MARK}")
            elif mark != _MARK:
                raise NodeError(f"{self.path} is not an embedded chain: check the path.")
            (found,) = self._connection.execute("SELECT id FROM chain").fetchone()
        if chain_id not in (None, found):
            raise NodeError(f"{self.path} holds chain {found}, but chain {chain_id} was expected.")
        self._connection.execute("PRAGMA journal_mode = WAL")
        return int(found)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._lock, self._errors():
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise NodeError(f"the embedded chain at {self.path} is closed ({error}).") from error
        except sqlite3.DatabaseError as error:
            raise NodeError(
                f"the embedded chain at {self.path} cannot be used ({error}): check that the folder can be "
                "written to and has room, and that no process holds the chain for long."
            ) from error
