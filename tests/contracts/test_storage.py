# SPDX-License-Identifier: Apache-2.0
"""The storage table of docs/reference/contracts.md says what the compiler lays out."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from scripts.toolchain.solc import COMPILER, PROJECT, SETTINGS

FILE = "contracts/Committee.sol"
WORD = 32


@pytest.fixture(scope="module")
def layout() -> Any:
    """What the compiler reports for Committee."""
    settings = {**SETTINGS, "outputSelection": {FILE: {"Committee": ["storageLayout"]}}}
    sources = {FILE: {"content": (PROJECT / FILE).read_text()}}
    request = json.dumps({"language": "Solidity", "sources": sources, "settings": settings})
    command = [str(COMPILER), "--standard-json", "--allow-paths", "."]
    answer = subprocess.run(command, input=request, cwd=PROJECT, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["contracts"][FILE]["Committee"]["storageLayout"]


@pytest.fixture(scope="module")
def rows() -> list[list[str]]:
    """Name, slots and content of each row of the table."""
    text = (PROJECT / "docs" / "reference" / "contracts.md").read_text()
    table = text.split("| Committee | slot | |\n|---|---|---|\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def slots(cell: str) -> list[int]:
    first, to, last = cell.partition(" to ")
    return list(range(int(first), int(last) + 1)) if to else [int(each) for each in re.findall(r"\d+", cell)]


def test_the_table_lists_every_slot_in_order(layout: Any, rows: list[list[str]]) -> None:
    found: dict[int, None] = {}
    for variable in layout["storage"]:
        words = -(-int(layout["types"][variable["type"]]["numberOfBytes"]) // WORD)
        found |= dict.fromkeys(int(variable["slot"]) + each for each in range(words))
    taken = list(found)
    assert [slot for _, cell, _ in rows for slot in slots(cell)] == taken == list(range(len(taken)))


@pytest.mark.parametrize("struct", ["Candidate", "Election", "Current"])
def test_the_table_names_packed_fields_with_their_bits(
    layout: Any, rows: list[list[str]], struct: str
) -> None:
    names = {"Candidate": "candidate by account", "Election": "election", "Current": "current epoch"}
    (content,) = (row[2] for row in rows if row[0] == names[struct])
    (members,) = (each["members"] for each in layout["types"].values() if each["label"] in _labels(struct))
    found = re.findall(r"([a-zA-Z]+) (\d+)", content)
    packed = [(each["label"], int(layout["types"][each["type"]]["numberOfBytes"]) * 8) for each in members]
    assert [(name, int(bits)) for name, bits in found] == [each for each in packed if each[1] < 256]


def _labels(struct: str) -> tuple[str, str]:
    return (f"struct {struct}", f"struct EpochRosters.{struct}")
