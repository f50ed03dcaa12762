# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/explanation/machines.md that set laboratory and machines side by side."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import pytest

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.pipeline.review.methods import how_checked, is_shown, require_parts, require_review
from blockful_py.record.federation_file import OWN, RULES, require_carried_out
from blockful_py.record.request import Request, Start
from blockful_py.settings import Settings
from blockful_py.types import Paradigm
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.registry import FOR_ADOPTED, METHODS

PAGE = Path(__file__).parents[3] / "docs/explanation/machines.md"
GRAPH = InheritanceGraph.from_references({"r1": (), "r2": ("r1",)})
FORGETS = (Forget.of_classes([3]), Forget.of_clients([1]), Forget.of_samples([(1, 0)]))
REFUSED = {
    "learning": {"increments": [3]},
    "unlearning": {"references": "chosen again", "clients": [1], "samples": ["1:0"]},
}
"""A value of each setting that machines refuse."""


def rows_under(heading: str) -> list[list[str]]:
    """The cells of the table under a heading of the page."""
    _, _, below = PAGE.read_text(encoding="utf-8").partition(f"\n### {heading}\n")
    lines = re.findall(r"^\|(.*)\|$", re.split(r"\n##", below)[0], re.MULTILINE)[2:]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def asked(forget: Forget, paradigm: Paradigm, method: Method) -> Request:
    return Request(
        starts=(Start(name="r1", position="1:1"),),
        classes=forget.classes,
        clients=forget.clients,
        samples=tuple(f"{user}:{row}" for user, row in forget.samples),
        paradigm=paradigm.value,
        method=method.name,
        created=0,
    )


def review(method: Method, forget: Forget, paradigm: Paradigm, machines: bool) -> str:
    """How the results are checked, or "no"."""
    if forget.level not in method.levels:
        return "no"
    try:
        if machines:
            require_parts(asked(forget, paradigm, method), method, GRAPH)
        require_review(method, forget, paradigm, True, machines)
    except UnlearningError:
        return "no"
    if machines and is_shown(method) and forget.level is not Level.CLASS:
        return "shown"
    return how_checked(method, forget, paradigm).value


def test_each_method_is_listed_with_its_reviews() -> None:
    reviews: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in METHODS.keys() - FOR_ADOPTED:
        method = METHODS[name]()
        for paradigm in map(Paradigm, sorted(method.paradigms)):
            both = [review(method, each, paradigm, there) for each in FORGETS for there in (False, True)]
            reviews[(name, *both)].append(paradigm.value)
    told = {
        (name, paradigms): cells
        for names, paradigms, *cells in rows_under("Methods and levels")
        for name in re.findall(r"`(\w+)`", names)
    }
    expected = {
        (name, paradigms[0] if len(paradigms) == 1 else "both"): list(cells)
        for (name, *cells), paradigms in reviews.items()
    }
    assert told == expected


def settings_in(row: str) -> set[str]:
    (cells,) = (cells for cells in rows_under("Settings") if cells[0] == row)
    return set(re.findall(r"`([\w.]+)`", cells[1]))


def test_each_party_keeps_the_settings_that_no_file_has() -> None:
    whole = {each.name for each in fields(Settings)} - set(RULES) - {"controller"}
    own = {f"{section}.{key}" for section, keys in OWN.items() for key in keys}
    assert settings_in("each party's own") == whole | own


def test_what_machines_do_not_carry_out_is_refused_with_the_file() -> None:
    listed = {f"{section}.{key}" for section, entries in REFUSED.items() for key in entries}
    assert settings_in("laboratory alone") == listed
    members = [f"http://127.0.0.1:{port}" for port in range(9101, 9105)]
    plain = {"committee": {"roster": "elected", "members": members}, "federation": {"scenario": "organic"}}
    require_carried_out(Settings.parse(plain))
    for section, entries in REFUSED.items():
        for key, value in entries.items():
            with pytest.raises(SettingsError, match=key):
                require_carried_out(Settings.parse({**plain, section: {key: value}}))


def test_every_setting_that_a_row_names_exists() -> None:
    known = {each.name for each in fields(Settings)}
    known |= {f"{each}.{key.name}" for each in RULES for key in fields(getattr(Settings(), each))}
    for cells in rows_under("Settings"):
        assert set(re.findall(r"`([\w.]+)`", cells[1])) <= known | {"controller"}
