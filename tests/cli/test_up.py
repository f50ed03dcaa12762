# SPDX-License-Identifier: Apache-2.0
"""The command `blockful up`: a federation of processes, from nothing to a certified erasure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from signal import SIGTERM
from typing import Any
from urllib.request import urlopen

import pytest

from blockful_py.chain.persistent import status
from blockful_py.cli.local_federation import ARCHIVE, LIVE, LocalFederation
from blockful_py.cli.parties import FOUNDED
from tests.cli.commands import begin, blockful, blockful_process, end, told
from tests.member.leaders import until

SETTINGS = Path(__file__).parents[2] / "examples" / "machines.toml"
SMALL = (
    *("federation.users=2", "federation.wave=2", "federation.rounds=2", "learning.epochs=1"),
    "unlearning.parallel=gradient_ascent",
)


@pytest.mark.parametrize("founded", [False, True])
def test_settings_that_are_not_there_start_nothing(tmp_path: Path, founded: bool) -> None:
    if founded:
        (tmp_path / "federation").mkdir()
        (tmp_path / "federation" / FOUNDED).touch()
    before = sorted(tmp_path.rglob("*"))
    refused = blockful(tmp_path, "up", "missing.toml", "--folder", "federation")
    assert (refused.status, refused.out) == (2, "")
    assert refused.error.startswith("there is no settings file missing.toml: name one")
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_founded_where_nothing_was_created(tmp_path: Path) -> None:
    refused = blockful(tmp_path, "federation", "found", "nowhere")
    assert refused.status != 0
    assert refused.error.startswith(
        "no federation was created in nowhere: first run `blockful federation create nowhere"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_federation_of_processes_forgets(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    sets = [part for each in SMALL for part in ("--set", each)]
    try:
        started = told(tmp_path, "up", str(SETTINGS), "--folder", str(folder), *sets)
        assert len(started["running"]) == 8

        def explored(path: str) -> Any:
            with urlopen(started["explorer"] + path) as answer:  # noqa: S310
                return json.load(answer)

        local = LocalFederation(folder, lambda command: None)

        def participant(command: str, number: int, *more: str) -> Any:
            name = f"participant-{number}"
            return told(tmp_path, "participant", command, str(local.party(name)), *more)

        until(lambda: participant("status", 1)["federation"] == 4)
        assert participant("status", 1)["served"]
        twice = blockful_process(tmp_path, "participant", "serve", str(local.party("participant-1")))
        assert "is served by process" in twice.error
        log = told(tmp_path, "participant", "log", str(local.party("participant-1")))
        assert [(each["request"], each["error"]) for each in log] == [(None, None)] * 2
        committee = told(tmp_path, "committee", "status", "--member", str(local.party("member-1")))
        assert (committee["epoch"], committee["ready"]) == (1, 4)
        filed = participant("request", 1, "--start", "r1", "--class", "3")
        assert (filed["request"], filed["method"].split()[0]) == (1, "gradient_ascent")
        assert "teach it again" in filed["caveat"], "a request that starts below other owners of the class"
        until(lambda: not participant("status", 2)["requests"][0]["waits_for"])
        participant("certificate", 2, "1", "--output", str(tmp_path / "erasure.json"))
        until(lambda: explored("api/requests")[0]["replaced"] == explored("api/requests")[0]["affected"])
        request = explored("api/requests/" + explored("api/requests")[0]["key"])
        assert (request["number"], request["filing"]["user"]) == (1, 1)
        assert {each["user"] for each in request["filing"]["parts"]} == {1}
        assert explored("api/federation")["models"] == 4
        assert {each["name"] for each in explored("api/jobs")["runs"]} == {"participant-1", "participant-2"}
        assert [each["alive"] for each in explored("api/committee")["members"]] == [True] * 4
        _a_stranger_sees_it(tmp_path / "stranger", local)
        run = str(local.party("participant-2") / "run")
        assert told(tmp_path, "certificate", "verify", str(tmp_path / "erasure.json"), "--run", run)
        assert told(tmp_path, "verify", "--run", run)
        refused = blockful_process(tmp_path, "evaluate", "--run", run)
        assert f"{run} is a participant's run" in refused.error
        told(tmp_path, "down", "--folder", str(folder))
        assert not local.services()
        again = told(tmp_path, "up", str(SETTINGS), "--folder", str(folder), *sets)
        assert again["running"] == started["running"]
        assert participant("status", 1)["federation"] == 4
    finally:
        blockful_process(tmp_path, "down", "--folder", str(folder))


def _a_stranger_sees_it(folder: Path, local: LocalFederation) -> None:
    """With the federation file and the chains' URLs alone, from an empty folder."""
    folder.mkdir()
    (folder / "federation.toml").write_bytes(local.file.read_bytes())
    urls = {state.chain_id: state.url for state in status(local.folder / "chains")}
    place = ("--live-url", urls[LIVE], "--archive-url", urls[ARCHIVE])
    process = begin(folder, "explorer", "--federation", "federation.toml", *place, "--json")
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["url"]

        def asked(path: str) -> str:
            with urlopen(address + path) as answer:  # noqa: S310
                return str(answer.read().decode())

        def seen() -> Any:
            return json.loads(asked("api/federation"))

        until(lambda: (seen()["models"], seen()["requests"], seen()["unread"]) == (4, 1, 0))
        assert (seen()["replaced"] > 0, seen()["jobs"]) == (True, False)
        until(lambda: len(json.loads(asked("api/requests"))) == 1)  # the filing's file may be read later
        (request,) = json.loads(asked("api/requests"))
        assert request["replaced"] == request["affected"]
        assert json.loads(asked(f"api/requests/{request['key']}"))["filing"]["user"] == 1
        first = json.loads(asked("api/models"))["models"][0]["position"]
        assert [each["version"] for each in json.loads(asked(f"api/models/{first}"))["versions"]] == [0, 1]
        assert '"done": true, "passed": true' in asked(f"api/models/{first}/verify")
        assert json.loads(asked(f"api/models/{first}/proof"))["format"] == "blockful-proof/1"
        assert json.loads(asked(f"api/what-if?start={first}"))["paradigms"]
        assert [each["alive"] for each in json.loads(asked("api/committee"))["members"]] == [True] * 4
        assert json.loads(asked("api/blocks"))["transactions"]
    finally:
        end(process, SIGTERM)


def test_folders_are_their_owners_alone(tmp_path: Path) -> None:
    local = LocalFederation(tmp_path, lambda command: None)
    assert local.words("anybody").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("missing.toml",), "there is no settings file missing.toml"),
        (("--set", "learning.epochs=0"), "learning.epochs"),
        ((str(SETTINGS), "--person", "patient"), "--person is a column of --data: give both, or neither"),
        ((str(SETTINGS.parent / "paper14.toml"),), "the members of a federation of machines are elected"),
        ((str(SETTINGS), "--set", "learning.epochs=0"), "learning.epochs"),
    ],
)
def test_settings_are_refused_before_anything_starts(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    outcome = blockful(tmp_path, "up", *arguments, "--folder", str(tmp_path / "federation"))
    assert outcome.status == 2
    assert why in outcome.error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "rows", "why"),
    [
        (("north",), "1,2\n3,4\n", "at least two participants"),
        (("north", "other/north"), "1,2\n3,4\n", "'north', a name that is taken"),
        (("north", "founder"), "1,2\n3,4\n", "'founder', a name that is taken"),
        (("north", "south"), "1,2\n,4\n", "no value in row 2, column 'age'"),
    ],
)
def test_files_are_refused_before_anything_starts(
    tmp_path: Path, names: tuple[str, ...], rows: str, why: str
) -> None:
    words = []
    for name in names:
        path = tmp_path / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"age,ill\n{rows}", encoding="utf-8")
        words += ["--data", str(path)]
    outcome = blockful(tmp_path, "up", str(SETTINGS), *words, "--folder", str(tmp_path / "federation"))
    assert outcome.status != 0
    assert why in outcome.error
    assert not (tmp_path / "federation").exists()


@pytest.mark.parametrize("command", ["down", "ps"])
def test_a_folder_without_a_federation_is_named(tmp_path: Path, command: str) -> None:
    outcome = blockful(tmp_path, command, "--folder", "elsewhere")
    assert outcome.status == 1
    assert "there is no federation in elsewhere" in outcome.error


def test_processes_that_have_ended_are_shown_with_their_last_words(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    folder.mkdir()
    own = {"pid": os.getpid(), "mark": "python"}
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    listed = [{"name": "member-1", **own}, {"name": "member-2", "pid": gone.pid, "mark": "member-2"}]
    (folder / "processes.json").write_text(json.dumps(listed[:1]))
    assert blockful(tmp_path, "ps", "--folder", "federation").status == 0
    (folder / "processes.json").write_text(json.dumps(listed))
    (folder / "member-2.log").write_text("ready\nerror: the disk is full\n")
    shown = blockful(tmp_path, "ps", "--folder", "federation")
    assert shown.status == 1
    assert "member-2 has ended; " in shown.out and "the disk is full" in shown.out
    assert "blockful up --folder federation" in shown.out
    told = blockful(tmp_path, "ps", "--folder", "federation", "--json").document["processes"]
    assert [(each["name"], each["running"]) for each in told] == [("member-1", True), ("member-2", False)]
