# SPDX-License-Identifier: Apache-2.0
"""Tests that the symbolic checks can fail.

Each round of `mutants.toml` removes conditions from a copy of the contracts, and halmos must find a
counterexample to each check that should notice.

    python -m tests.contracts.symbolic.mutants [--round N] [check ...]

`make test-mutants` sets up its requirements.  A hint fixes a state and a call when the solver finds none by
itself; a counterexample with the hint is also one without it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent.relative_to(PROJECT)
COPY = PROJECT / "build" / "mutants"
CONFIG = HERE / "halmos.toml"
ANSI = re.compile(r"\x1b\[\d+m")


@dataclass(frozen=True)
class Change:
    """A removed condition, and the checks ("Contract.check") that must fail without it."""

    round: int
    file: str
    old: str
    new: str
    by: tuple[str, ...]


@dataclass(frozen=True)
class Hint:
    """Code of a "Contract.function" that reduces the search space, in one round or in all."""

    function: str
    code: str
    after: str | None = None
    round: int | None = None


def read() -> tuple[list[Change], list[Hint]]:
    table = tomllib.loads((PROJECT / HERE / "mutants.toml").read_text(encoding="utf-8"))
    changes = [Change(**{**each, "by": tuple(each["by"])}) for each in table["change"]]
    return changes, [Hint(**each) for each in table["hint"]]


def replaced(text: str, old: str, new: str, where: str) -> str:
    if text.count(old) != 1:
        raise SystemExit(f"{where}: {text.count(old)} times {old!r}; bring mutants.toml up to date")
    return text.replace(old, new)


def put(path: Path, old: str, new: str) -> None:
    path.write_text(replaced(path.read_text(encoding="utf-8"), old, new, path.name), encoding="utf-8")


def copy(changes: list[Change], hints: list[Hint]) -> None:
    """The changed sources; compiled files of the last copy stay."""
    COPY.mkdir(parents=True, exist_ok=True)
    for folder in (Path("contracts"), HERE, Path("tests/contracts/forge/support")):
        shutil.rmtree(COPY / folder, ignore_errors=True)
        shutil.copytree(PROJECT / folder, COPY / folder)
    shutil.copy(PROJECT / "foundry.toml", COPY)
    for linked in ("node_modules", ".home", "blockful_py"):
        if not (COPY / linked).exists():
            (COPY / linked).symlink_to(PROJECT / linked, target_is_directory=True)
    for change in changes:
        put(COPY / "contracts" / change.file, change.old, change.new)
    for hint in hints:
        narrow(hint)


def narrow(hint: Hint) -> None:
    contract, _, function = hint.function.partition(".")
    (path,) = (each for each in (COPY / HERE).glob("*.t.sol") if f"contract {contract} " in each.read_text())
    body = re.search(rf"    function {function}\([^{{]*{{\n.*?\n    }}\n", path.read_text(), re.DOTALL)
    if body is None:
        raise SystemExit(f"{contract} has no {function}; bring mutants.toml up to date")
    after = hint.after or body[0].partition("{\n")[0] + "{"
    # In a scope of its own, whose variables leave the stack.
    put(path, body[0], replaced(body[0], after, f"{after}\n        {{{hint.code}        }}", hint.function))


def output(command: list[str], **environment: str) -> str:
    places = [str(Path(sys.executable).parent), str(PROJECT / "node_modules" / ".bin"), os.environ["PATH"]]
    done = subprocess.run(
        command,
        cwd=COPY,
        env={**os.environ, "PATH": ":".join(places), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with (COPY / "log").open("a", encoding="utf-8") as log:
        log.write(done.stdout)
    return done.stdout


def outcomes(contract: str, checks: list[str]) -> dict[str, str]:
    """Result of each check: PASS, FAIL, TIMEOUT or ERROR; INVALID if no counterexample was valid."""
    halmos = ["halmos", "--config", str(CONFIG), "--no-status"]
    wanted = ["--early-exit", "--contract", contract, "--match-test", rf"^({'|'.join(checks)})\("]
    found: dict[str, str] = {}
    holds = False
    for line in ANSI.sub("", output([*halmos, *wanted], FOUNDRY_PROFILE="symbolic")).splitlines():
        holds |= line.startswith("Counterexample: ")
        if ended := re.match(r"\[(PASS|FAIL|TIMEOUT|ERROR)\] (\w+)\(", line):
            found[ended[2]] = "INVALID" if ended[1] == "FAIL" and not holds else ended[1]
            holds = False
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checks", nargs="*", help="Contract.check; all by default")
    parser.add_argument("--round", type=int)
    wanted = parser.parse_args()
    changes, hints = read()
    missed = 0
    for number in sorted({each.round for each in changes} if wanted.round is None else {wanted.round}):
        made = [each for each in changes if each.round == number]
        named = [each for change in made for each in change.by if not wanted.checks or each in wanted.checks]
        if not named:
            continue
        copy(made, [each for each in hints if each.round in (None, number)])
        output(["forge", "build", "contracts"])
        for contract in dict.fromkeys(each.partition(".")[0] for each in named):
            checks = [each.partition(".")[2] for each in named if each.startswith(f"{contract}.")]
            found = outcomes(contract, checks)
            for check in checks:
                outcome = found.get(check, "not run")
                missed += outcome != "FAIL"
                print(f"round {number}  {contract}.{check}: {outcome}", flush=True)
    print(f"{missed} not found out" if missed else "all found out")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
