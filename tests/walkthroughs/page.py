# SPDX-License-Identifier: Apache-2.0
"""The commands of a page, and the script that a reader's shell would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tests.code_blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")
"""First line of a block that is a file, which the page has its reader write."""
SERVES = re.compile(r"blockful (?:explorer|(?:committee|participant) serve)\b")
"""Commands that run until they are stopped, so that a reader goes on in another terminal."""

LINE = re.compile(r"^.+(?:(?<=\\)\n.+)*$", re.MULTILINE)

PRELUDE = """\
set -euo pipefail
begun=()
in_another_terminal() {
    local log="terminal-${#begun[@]}.log"
    "$@" >"$log" 2>&1 &
    begun+=($!)
    until grep -Eq 'listens on|is at' "$log"; do
        kill -0 $! || { cat "$log" >&2; return 1; }
        sleep 0.1
    done
}
trap 'kill "${begun[@]}" 2>/dev/null || true; wait' EXIT
stop() {
    trap - EXIT
    for each in "${begun[@]}"; do kill "$each"; done
    wait
}
"""


@dataclass(frozen=True)
class Command:
    """A line of a page's shell blocks; lines that end with a backslash go on in the next.

    Attributes:
        place: page and line, as in `README.md:20`.
        text: as it stands there.
        status: that it ends with.
    """

    place: str
    text: str
    status: int = 0

    def filled_in(self, stands_for: Mapping[str, str], ends: Mapping[str, int]) -> Command:
        """With other words in the place of some, and the status that other words tell."""
        text = self.text
        for words, others in stands_for.items():
            text = text.replace(words, others)
        return replace(self, text=text, status=sum(ends[words] for words in ends if words in self.text))


def commands(page: Path) -> list[Command]:
    """The commands of a page in their order."""
    return [command for block in blocks(page) if block.language == "sh" for command in commands_of(block)]


def files(page: Path) -> dict[str, str]:
    """The files that a page shows, by name."""
    found = [(FILE.match(block.text), block.text) for block in blocks(page)]
    return {match[1]: text for match, text in found if match}


def script(steps: Iterable[Command]) -> str:
    """The commands as one shell runs them, which shows the place of each before it."""
    shown = [line for step in steps for line in (f"echo '# {step.place}'", _run(step))]
    return "\n".join([PRELUDE, *shown, "stop", ""])


def _run(step: Command) -> str:
    if step.status:
        return f"ended=0; {{ {step.text}\n}} || ended=$?; [ $ended -eq {step.status} ]"
    return f"in_another_terminal {step.text}" if SERVES.search(step.text) else step.text


def commands_of(block: Block) -> Iterator[Command]:
    """The commands of a block."""
    for match in LINE.finditer(block.text):
        line = block.line + block.text.count("\n", 0, match.start())
        yield Command(f"{block.page.relative_to(ROOT)}:{line}", match[0])
