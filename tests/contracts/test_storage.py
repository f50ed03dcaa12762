# SPDX-License-Identifier: Apache-2.0
"""The storage tables of docs/reference/contracts.md match the compiler's layout."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from scripts.toolchain.solc import COMPILER, PROJECT, SETTINGS

WORD = 32
STRUCTS = {
    "Committee": {
        "Candidate": "candidate by account",
        "EpochRosters.Current": "current epoch",
        "Election": "election",
    },
    "ParticipantRegistry": {
        "FiledRequest": "request by number",
        "Participant": "participant by account",
        "ParticipantRegistry.Endpoint": "endpoint by account",
        "ParticipantRegistry.HandIns": "hand-ins by account",
    },
}
"""The structs of each contract and their rows."""


@pytest.fixture(scope="module")
def layouts() -> dict[str, Any]:
    """The compiler's storage layout for each contract."""
    return {contract: reported(contract) for contract in STRUCTS}


def reported(contract: str) -> Any:
    file = f"contracts/{contract}.sol"
    settings = {**SETTINGS, "outputSelection": {file: {contract: ["storageLayout"]}}}
    sources = {file: {"content": (PROJECT / file).read_text()}}
    request = json.dumps({"language": "Solidity", "sources": sources, "settings": settings})
    command = [str(COMPILER), "--standard-json", "--allow-paths", "."]
    answer = subprocess.run(command, input=request, cwd=PROJECT, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["contracts"][file][contract]["storageLayout"]


def rows(contract: str) -> list[list[str]]:
    """Name, slots and content of each row of a contract's table."""
    text = (PROJECT / "docs" / "reference" / "contracts.md").read_text()
    table = text.split(f"| {contract} | slot | |\n|---|---|---|\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def slots(cell: str) -> list[int]:
    first, to, last = cell.partition(" to ")
    return list(range(int(first), int(last) + 1)) if to else [int(each) for each in re.findall(r"\d+", cell)]


@pytest.mark.parametrize("contract", STRUCTS)
def test_the_table_lists_every_slot_in_order(layouts: dict[str, Any], contract: str) -> None:
    layout = layouts[contract]
    found: dict[int, None] = {}
    for variable in layout["storage"]:
        words = -(-int(layout["types"][variable["type"]]["numberOfBytes"]) // WORD)
        found |= dict.fromkeys(int(variable["slot"]) + each for each in range(words))
    taken = list(found)
    stated = [slot for _, cell, _ in rows(contract) for slot in slots(cell)]
    assert stated == taken == list(range(len(taken)))


@pytest.mark.parametrize(
    ("contract", "struct", "row"),
    [(contract, *pair) for contract, structs in STRUCTS.items() for pair in structs.items()],
)
def test_the_table_names_packed_fields_with_their_bits(
    layouts: dict[str, Any], contract: str, struct: str, row: str
) -> None:
    types = layouts[contract]["types"]
    (content,) = (each[2] for each in rows(contract) if each[0] == row)
    (members,) = (each["members"] for each in types.values() if each["label"] == f"struct {struct}")
    found = re.findall(r"([a-zA-Z]+) (\d+)", content)
    packed = [(each["label"], int(types[each["type"]]["numberOfBytes"]) * 8) for each in members]
    assert [(name, int(bits)) for name, bits in found] == [each for each in packed if each[1] < 256]
