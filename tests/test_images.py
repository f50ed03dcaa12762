# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile, checked without Docker: copied files, installed packages, commands and user."""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import unknown

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "compose"
IMAGES = {"command-line", "member", "participant", "explorer", "chain"}
PINNED = re.compile(r"[\w/.-]+:[\w.-]*\d\.\d+[\w.-]*@sha256:[0-9a-f]{64}")

Stages = dict[str, list[tuple[str, str]]]


@pytest.fixture(scope="module")
def stages() -> Stages:
    return read((FOLDER / "Dockerfile").read_text(encoding="utf-8"))


def read(text: str) -> Stages:
    """The instructions of each stage and their arguments, FROM first."""
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found: Stages = {}
    for line in filter(None, lines):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, name = rest.split(" AS ")
            found[name] = [(word, base)]
        else:
            found[list(found)[-1]].append((word, " ".join(rest.split())))
    return found


def whole(stages: Stages, name: str) -> Iterator[tuple[str, str]]:
    """The instructions of a stage, after the instructions of the stages it is made from."""
    base = stages[name][0][1]
    if base in stages:
        yield from whole(stages, base)
    yield from stages[name][1:]


def last(stages: Stages, name: str, word: str) -> str:
    return [rest for each, rest in whole(stages, name) if each == word][-1]


def kept(path: str, rules: list[str]) -> bool:
    """Whether .dockerignore admits a path: the last rule for it or a folder above it decides."""
    answer = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        above = [path, *(each.as_posix() for each in Path(path).parents)]
        if any(fnmatch.fnmatchcase(each, pattern.replace("**/", "*")) for each in above):
            answer = rule.startswith("!")
    return answer


def test_there_is_an_image_for_each_purpose(stages: Stages) -> None:
    assert set(stages) - {"base", "party"} == IMAGES | {"build-pages", "build-party", "build-command-line"}


def test_bases_are_named_by_version_and_digest(stages: Stages) -> None:
    bases = {instructions[0][1] for instructions in stages.values()} - stages.keys()
    assert len(bases) == 2
    assert [each for each in bases if not PINNED.fullmatch(each)] == []


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_an_image_runs_without_privileges(stages: Stages, name: str) -> None:
    user, group = last(stages, name, "USER").split(":")
    assert int(user) >= 1000 and int(group) >= 1000


@pytest.mark.parametrize("name", sorted(IMAGES - {"chain"}))
def test_an_image_begins_with_a_command_of_the_command_line(stages: Stages, name: str) -> None:
    assert json.loads(last(stages, name, "ENTRYPOINT")) == ["blockful"]
    *words, option = json.loads(last(stages, name, "CMD"))
    assert option == "--help"
    assert unknown(words) is None
    assert unknown(["sideways"]) == "sideways"


@pytest.mark.parametrize(("stage", "needed"), [("build-party", "train"), ("build-command-line", "all")])
def test_installed_extras_are_declared_and_constrained(stages: Stages, stage: str, needed: str) -> None:
    (command,) = (rest for word, rest in stages[stage] if word == "RUN")
    (named,) = (each.split(",") for each in re.findall(r"\"\.\[([\w,-]+)\]\"", command))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert needed in named
    assert set(named) <= declared.keys()
    assert re.findall(r"--constraint requirements/(\S+)", command) == [
        "demo.lock.txt",
        "lock.txt",
        "torch.txt",
    ]


def test_what_is_copied_is_there_and_let_through(stages: Stages) -> None:
    rules = [
        line
        for line in (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    copied = {
        source
        for instructions in stages.values()
        for word, rest in instructions
        if word == "COPY" and not rest.startswith("--from=")
        for source in rest.split()[:-1]
    }
    assert {"blockful_py", "requirements"} <= copied
    assert [each for each in copied if not (ROOT / each).exists() or not kept(each, rules)] == []
    assert [
        each for each in (".venv", "runs", ".git", "members", "deploy/compose/words") if kept(each, rules)
    ] == []
    assert not kept("blockful_py/explorer/static/index.html", rules)
    assert not kept("blockful_py/graph/__pycache__", rules)


def test_stages_copy_from_stages_that_come_before(stages: Stages) -> None:
    order = list(stages)
    for name, instructions in stages.items():
        for word, rest in instructions:
            for source in re.findall(r"--from=(\S+)", rest) if word == "COPY" else ():
                assert order.index(source) < order.index(name)


def test_rules_of_dockerignore_are_read_in_their_order() -> None:
    rules = ["*", "!a", "a/b", "**/c"]
    assert [kept(each, rules) for each in ("a", "a/x", "a/b", "a/b/d", "a/x/c", "e")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_stages_are_read_with_what_they_are_made_from() -> None:
    stages = read("# x\nFROM a:1 AS b\nRUN c \\\n    d\nUSER 1:1\n\nFROM b AS e\nUSER 2:2\n")
    assert stages == {
        "b": [("FROM", "a:1"), ("RUN", "c d"), ("USER", "1:1")],
        "e": [("FROM", "b"), ("USER", "2:2")],
    }
    assert last(stages, "e", "USER") == "2:2"
    assert last(stages, "e", "RUN") == "c d"
