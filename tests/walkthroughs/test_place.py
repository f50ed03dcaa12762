# SPDX-License-Identifier: Apache-2.0
"""A walk fails where a reader would be stuck, and leaves nothing running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.code_blocks import Block
from tests.walkthroughs.page import ROOT, Command, commands_of, files
from tests.walkthroughs.place import Place

SERVING = """#!/bin/bash
echo $$ >process
echo "the explorer is at http://127.0.0.1:1"
exec sleep 1000
"""
EXPLORER = Command("page.md:1", ".venv/bin/blockful explorer   # look around")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, "no server")


def program(place: Place, text: str) -> None:
    """Stands for `blockful`."""
    (place.folder / ".venv" / "bin" / "blockful").write_text(text, encoding="utf-8")


def test_lines_that_go_on_are_one_command() -> None:
    block = Block(ROOT / "page.md", 7, "sh", "one \\\n  --more\n\ntwo   # why\n")
    found = [(each.place, each.text) for each in commands_of(block)]
    assert found == [("page.md:7", "one \\\n  --more"), ("page.md:10", "two   # why")]


def test_a_file_of_a_page_is_named_by_its_first_line(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n# nets.py\nx = 1\n```\n\n```python\ny = 1\n```\n", encoding="utf-8")
    assert files(page) == {"nets.py": "# nets.py\nx = 1\n"}


def test_commands_run_in_their_order_in_one_shell(place: Place) -> None:
    assert place.follow([Command("page.md:1", "word=here"), Command("page.md:2", "echo $word")]) == (
        "# page.md:1\n# page.md:2\nhere\n"
    )


@pytest.mark.parametrize("text", ["false", "echo $unset", "false | true", "nothing-of-this-name"])
def test_a_command_that_fails_ends_the_walk_at_its_place(place: Place, text: str) -> None:
    steps = [Command("page.md:1", text), Command("page.md:2", "true")]
    with pytest.raises(AssertionError, match=r"page\.md:1") as error:
        place.follow(steps)
    assert "page.md:2" not in str(error.value)


@pytest.mark.parametrize(("text", "status", "passes"), [("(exit 6)", 6, True), ("true", 6, False)])
def test_a_command_ends_with_the_status_that_its_page_tells(
    place: Place, text: str, status: int, passes: bool
) -> None:
    steps = [Command("page.md:1", text, status)]
    if passes:
        place.follow(steps)
    else:
        with pytest.raises(AssertionError):
            place.follow(steps)


@pytest.mark.parametrize("last", ["true", "false"])
def test_a_service_runs_beside_what_follows_and_is_ended(place: Place, last: str) -> None:
    program(place, SERVING)
    steps = [EXPLORER, Command("page.md:2", "kill -0 $(cat process)"), Command("page.md:3", last)]
    if last == "true":
        place.follow(steps)
    else:
        with pytest.raises(AssertionError, match=r"page\.md:3"):
            place.follow(steps)
    with pytest.raises(ProcessLookupError):
        os.kill(int((place.folder / "process").read_text()), 0)


def test_a_service_that_ends_before_it_is_ready_fails_the_walk(place: Place) -> None:
    program(place, "#!/bin/sh\necho 'error: no run'\nexit 2\n")
    with pytest.raises(AssertionError, match="no run"):
        place.follow([EXPLORER])
