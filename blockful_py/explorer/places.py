# SPDX-License-Identifier: Apache-2.0
"""Resolves models in addresses: by position (height:index) or by name."""

from __future__ import annotations

import re
import sqlite3

from blockful_py.errors import BlockfulError
from blockful_py.names import LONGEST
from blockful_py.types import HEADER_INDEX, Position

POSITION = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")
HIGHEST = 2**31 - 1
"""Maximum height of a position that fits into an integer of SQLite."""
LISTED = 5
"""Maximum number of models with one name that an error lists."""


class UnknownPlaceError(BlockfulError):
    """An address matches no model, or several."""


def position_of(connection: sqlite3.Connection, text: str) -> Position:
    """Position of the model at position `text`, or else with the name `text`.

    Raises UnknownPlaceError.
    """
    shown = repr(text if len(text) <= LONGEST else text[:LONGEST] + "…")
    position = parsed(text)
    if position is not None and _stands(connection, position):
        return position
    found = _named(connection, text)
    if not found:
        raise UnknownPlaceError(f"no model has the name or the position {shown}.")
    if len(found) > 1:
        positions = [str(Position.unpack(each)) for each in found[:LISTED]]
        listed = ", ".join([*positions, *["..."] * (len(found) > LISTED)])
        raise UnknownPlaceError(f"several models have the name {shown}: name one by its position, {listed}.")
    return Position.unpack(found[0])


def address_of(connection: sqlite3.Connection, position: Position, name: str | None) -> str:
    """The model's name if it is unique, else its position."""
    if name is None or parsed(name) is not None or len(_named(connection, name)) > 1:
        return str(position)
    return name


def parsed(text: str) -> Position | None:
    """Parses a position; None for anything else."""
    found = POSITION.fullmatch(text)
    if found is None or int(found[1]) > HIGHEST or int(found[2]) > HEADER_INDEX:
        return None
    return Position(int(found[1]), int(found[2]))


def _stands(connection: sqlite3.Connection, position: Position) -> bool:
    row = connection.execute("SELECT 1 FROM model WHERE position = ?", (position.packed,)).fetchone()
    return row is not None


def _named(connection: sqlite3.Connection, name: str) -> list[int]:
    rows = connection.execute(
        "SELECT position FROM model WHERE name = ? COLLATE NOCASE AND name = ? ORDER BY position LIMIT ?",
        (name, name, LISTED + 1),
    )
    return [row[0] for row in rows]
