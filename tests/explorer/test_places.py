# SPDX-License-Identifier: Apache-2.0
"""An address names one model, or is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.places import LISTED, UnknownPlaceError, address_of, position_of
from blockful_py.types import Position
from tests.explorer.generated import GeneratedFederation


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Models m0, m1, a 100 % one, one that is called as another's position, and many of one name."""
    federation = GeneratedFederation(users=20, references=0)
    federation.publish(2)
    for name in ("100 %", "1:0", *["twin"] * (LISTED + 1)):
        federation.publish(1, name)
    with RecordIndex(tmp_path / "index", federation.sources()) as index:
        index.follow()
    with IndexReader(tmp_path / "index").moment() as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "position"), [("1:1", Position(1, 1)), ("m1", Position(1, 1)), ("100 %", Position(2, 0))]
)
def test_a_position_or_a_name_is_found(connection: sqlite3.Connection, text: str, position: Position) -> None:
    assert position_of(connection, text) == position


def test_a_position_is_no_name(connection: sqlite3.Connection) -> None:
    assert position_of(connection, "1:0") == Position(1, 0)
    assert address_of(connection, Position(3, 0), "1:0") == "3:0"
    assert address_of(connection, Position(1, 1), "m1") == "m1"
    assert address_of(connection, Position(1, 1), None) == "1:1"


@pytest.mark.parametrize("text", ["", "M1", "m", "m1 ", "1:9", "2147483648:0", "1:4294967296", "\u0661:0"])
def test_others_are_not_found(connection: sqlite3.Connection, text: str) -> None:
    with pytest.raises(UnknownPlaceError, match="no model has the name or the position"):
        position_of(connection, text)


def test_a_name_of_several_models_lists_their_positions(connection: sqlite3.Connection) -> None:
    assert address_of(connection, Position(4, 0), "twin") == "4:0"
    with pytest.raises(UnknownPlaceError, match=r"several models have the name 'twin'.*4:0, 5:0, .*, \.\.\."):
        position_of(connection, "twin")


def test_a_long_name_is_cut_in_the_answer(connection: sqlite3.Connection) -> None:
    with pytest.raises(UnknownPlaceError) as caught:
        position_of(connection, "n" * 5000)
    assert len(str(caught.value)) < 150
