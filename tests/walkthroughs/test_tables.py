# SPDX-License-Identifier: Apache-2.0
"""Each command of the documentation is followed or excused, and the tables name nothing that is not there."""

from __future__ import annotations

from pathlib import Path

from tests.documents import pages
from tests.walkthroughs.not_run import COMMANDS, ELSEWHERE, PAGES, is_excused
from tests.walkthroughs.page import ROOT, commands
from tests.walkthroughs.walks import RUNS, WALKS

WITH_COMMANDS = {page.relative_to(ROOT).as_posix(): commands(page) for page in pages(ROOT) if commands(page)}


def test_each_page_with_commands_is_in_one_table() -> None:
    assert sorted([*WALKS, *ELSEWHERE, *PAGES]) == sorted(WITH_COMMANDS)


def test_a_page_that_runs_elsewhere_is_read_there() -> None:
    for page, test in ELSEWHERE.items():
        assert Path(page).name in (ROOT / "tests" / test).read_text(encoding="utf-8"), page


def test_what_is_excused_is_one_command_of_a_page_that_is_followed() -> None:
    assert COMMANDS.keys() <= WALKS.keys()
    for page, excused in COMMANDS.items():
        for words in excused:
            assert sum(words in f"{each.text}\n" for each in WITH_COMMANDS[page]) == 1, (page, words)


def test_every_page_that_is_followed_has_commands_left() -> None:
    for page in WALKS:
        assert not all(is_excused(page, each.text) for each in WITH_COMMANDS[page]), page


def test_what_a_walk_names_is_on_its_page() -> None:
    for page, walk in WALKS.items():
        text = "\n".join(each.text for each in WITH_COMMANDS[page])
        named = [*walk.stands_for, *walk.ports, *walk.ends]
        assert [words for words in named if words not in text] == [], page
        assert walk.after in {"", *WALKS}, page
        whole = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert [words for words in walk.says if words not in whole] == [], page
        assert walk.run in {"", *RUNS}, page
