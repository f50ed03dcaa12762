# SPDX-License-Identifier: Apache-2.0
"""Every function that changes a contract's state has a symbolic check, and every check can fail.

docs/reference/contracts.md lists the checks, `mutants.toml` the faults that they find.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SYMBOLIC = ROOT / "tests" / "contracts" / "symbolic"
ROW = re.compile(r"^\| (\w+) \| (\w+) \| ((?:check_\w+(?:, )?)+) \|$", re.MULTILINE)


def changing() -> set[tuple[str, str]]:
    """Contract and name of each function that can change state."""
    artifacts = [
        json.loads(path.read_text()) for path in (ROOT / "blockful_py/chain/artifacts").glob("*.json")
    ]
    return {
        (each["name"], entry["name"])
        for each in artifacts
        for entry in each["abi"]
        if entry["type"] == "function" and entry["stateMutability"] in {"nonpayable", "payable"}
    }


def stated() -> dict[tuple[str, str], list[str]]:
    """Checks of each function on the page."""
    text = (ROOT / "docs" / "reference" / "contracts.md").read_text(encoding="utf-8")
    return {(contract, function): checks.split(", ") for contract, function, checks in ROW.findall(text)}


def written() -> set[str]:
    """Names `Contract.check` of all checks."""
    sources = [path.read_text(encoding="utf-8") for path in SYMBOLIC.glob("*.t.sol")]
    return {
        f"{contract}.{check}"
        for source in sources
        for contract in re.findall(r"^contract (\w+Checks) ", source, re.MULTILINE)
        for check in re.findall(r"function (check_\w+)\(", source)
    }


def test_every_function_that_changes_state_has_its_checks() -> None:
    assert stated().keys() == changing()
    checks = {check.partition(".")[2] for check in written()}
    assert {check for named in stated().values() for check in named} | {"check_requireQuorum"} == checks


def test_every_check_has_something_to_find() -> None:
    changes = tomllib.loads((SYMBOLIC / "mutants.toml").read_text(encoding="utf-8"))["change"]
    assert {check for change in changes for check in change["by"]} == written()


def test_what_is_taken_away_stands_in_the_contracts() -> None:
    for change in tomllib.loads((SYMBOLIC / "mutants.toml").read_text(encoding="utf-8"))["change"]:
        source = (ROOT / "contracts" / change["file"]).read_text(encoding="utf-8")
        assert source.count(change["old"]) == 1, change
