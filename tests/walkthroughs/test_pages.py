# SPDX-License-Identifier: Apache-2.0
"""Every shell command of the documentation runs, page by page and in the pages' order, or is excused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.chain.processes import take_port
from tests.walkthroughs.conftest import Places
from tests.walkthroughs.not_run import is_excused
from tests.walkthroughs.page import ROOT, Command, commands, files
from tests.walkthroughs.walks import WALKS


def followed(name: str) -> list[Command]:
    """The commands of a page that are run."""
    return [each for each in commands(ROOT / name) if not is_excused(name, each.text)]


def pages_from(name: str) -> list[str]:
    """A page, and the pages that the reader continues with."""
    later = [each for each, walk in WALKS.items() if walk.after == name]
    return [name, *(page for each in later for page in pages_from(each))]


def steps(name: str, free: Iterator[int]) -> list[Command]:
    """The commands on a page for its reader, with the ones it presupposes."""
    walk = WALKS[name]
    stands_for = {**walk.stands_for, **{port: str(next(free)) for port in walk.ports}}
    before = Command(f"before {name}", walk.before or ":")
    return [before, *(each.filled_in(stands_for, walk.ends) for each in followed(name))]


@pytest.mark.processes
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [name for name, walk in WALKS.items() if not walk.after])
def test_the_commands_of_a_page_run(
    name: str, places: Places, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place, pages = places(tmp_path, WALKS[name].run), pages_from(name)
    urls = _nodes(request) if WALKS[name].nodes else {}
    typed = [Command("nodes", f"export {key}={url}") for key, url in urls.items()]
    for page in pages:
        for file, text in files(ROOT / page).items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        typed += steps(page, _free_ports())
    shown = " ".join(place.follow(typed).split())
    assert [words for page in pages for words in WALKS[page].says if words not in shown] == []


def _nodes(request: pytest.FixtureRequest) -> dict[str, str]:
    chains = request.getfixturevalue("chains")
    return {"LIVE": chains.live.url, "ARCHIVE": chains.archive.url}


def _free_ports() -> Iterator[int]:
    while True:
        with take_port() as port:
            yield port.number
