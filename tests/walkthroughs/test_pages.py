# SPDX-License-Identifier: Apache-2.0
"""Every shell command of the documentation runs, page by page and in the pages' order, or is excused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.walkthroughs.conftest import Places
from tests.walkthroughs.page import ROOT, Command, commands, files
from tests.walkthroughs.walks import WALKS
from tests.walkthroughs.not_run import COMMANDS


def followed(name: str) -> list[Command]:
    """The commands of a page that are run."""
    excused = COMMANDS.get(name, {})
    return [each for each in commands(ROOT / name) if not any(words in each.text for words in excused)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.processes if walk.processes else pytest.mark.slow)
        for name, walk in WALKS.items()
    ],
)
def test_the_commands_of_a_page_run(name: str, places: Places, tmp_path: Path) -> None:
    walk = WALKS[name]
    place = places(tmp_path, walk.run)
    for file, text in files(ROOT / name).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    before = [Command("before the page", walk.before)] if walk.before else []
    shown = place.follow(before + [each.filled_in(walk.stands_for) for each in followed(name)])
    assert [words for words in walk.says if words not in " ".join(shown.split())] == []
