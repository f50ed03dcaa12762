# SPDX-License-Identifier: Apache-2.0
"""The SQLite file of an embedded chain, which several threads and processes may have open."""

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

PATIENCE = 60.0
"""Seconds to wait for another process that is adding a block."""
_MARK = 0x626C6F63  # of SQLite's header, by which a file of ours is told from others'


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block as the file has it: its number, hash and header (RLP), and the hash of its transaction."""

    number: int
    hash: bytes
    header: bytes
    transaction: bytes | None


@dataclass(frozen=True, slots=True)
class StoredTransaction:
    """A mined transaction as the file keeps it: JSON documents, that of each log with who emitted it."""

    hash: bytes
    document: str
    receipt: str
    logs: Sequence[tuple[bytes, str]]


class ChainFile(Closable):
    """The tables of one chain.  Each use stands in a `reading` or a `writing` block."""

    def __init__(self, path: Path, chain_id: int | None = None) -> None:
        """Opens the file.  With a `chain_id`, makes it if it is missing, without any block.

        Raises NodeError when it is missing, of another chain, no chain, or cannot be used.
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
        """Sees the same blocks throughout, whatever other processes add meanwhile."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keeps all that is written in the block, or nothing; others who write wait."""
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
        """Hashes of the 256 blocks before `number`, newest first, as opcode BLOCKHASH sees them."""
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
        """Drops the blocks after `number`, and sets the clock as it was then."""
        self._connection.execute("DELETE FROM blocks WHERE number > ?", (number,))
        self._connection.execute(
            "UPDATE chain SET ahead = (SELECT ahead FROM blocks WHERE number = ?)", (number,)
        )

    def transaction(self, transaction_hash: bytes) -> tuple[str, str] | None:
        """The documents of a transaction and of its receipt."""
        row = self._connection.execute(
            "SELECT document, receipt FROM transactions WHERE hash = ?", (transaction_hash,)
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def logs(self, address: bytes, first: int, last: int) -> list[str]:
        """Documents of what a contract logged from block `first` to `last`."""
        rows = self._connection.execute(
            "SELECT document FROM logs WHERE address = ? AND block BETWEEN ? AND ? ORDER BY block, position",
            (address, first, last),
        )
        return [row[0] for row in rows]

    @property
    def ahead(self) -> int:
        """Seconds that the chain's clock is ahead of the machine's."""
        return int(self._connection.execute("SELECT ahead FROM chain").fetchone()[0])

    def advance(self, seconds: int) -> None:
        """Sets the chain's clock forward."""
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
                raise NodeError(f"{self.path} is no embedded chain: check the path.")
            (found,) = self._connection.execute("SELECT id FROM chain").fetchone()
        if chain_id not in (None, found):
            raise NodeError(f"{self.path} holds chain {found}, chain {chain_id} was expected.")
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
                f"the embedded chain at {self.path} cannot be used ({error}): see that the folder can be "
                "written to and has room, and that no process holds the chain for long."
            ) from error
