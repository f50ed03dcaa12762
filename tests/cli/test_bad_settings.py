# SPDX-License-Identifier: Apache-2.0
"""Errors before a chain is started: one clear message, a separate exit status, nothing left behind."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import blockful, nodes_of
from tests.federations import TOML

CREATING = ("data", "demo", "deploy", "train")
"""Commands that take settings."""
CYCLE = TOML.replace("a = []", 'a = ["y"]')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(TOML)
    (tmp_path / "cycle.toml").write_text(CYCLE)
    (tmp_path / "damaged.toml").write_text(TOML[:-20] + "= = =")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    return tmp_path


REFUSED = {
    "a start that does not exist": (
        ("small.toml", "--set", 'unlearning.starts=["nobody"]'),
        "there is no model 'nobody' to start from",
    ),
    "a class that nobody has": (("small.toml", "--set", "unlearning.classes=[12]"), "class 12"),
    "every class": (
        ("small.toml", "--set", "unlearning.classes=[0,1,2,3,4,5,6,7,8,9]"),
        "class",
    ),
    "no start": (("small.toml", "--set", "unlearning.starts=[]"), "unlearning.starts"),
    "an unknown setting": (
        ("small.toml", "--set", "learning.epoch=1"),
        "learning.epoch is an unknown setting (did you mean 'learning.epochs'?).",
    ),
    "a setting out of range": (("small.toml", "--set", "learning.epochs=0"), "learning.epochs"),
    "an override that is none": (("small.toml", "--set", "learning.epochs"), "section.key=value"),
    "a cycle": (("cycle.toml",), "the references form a cycle"),
    "a damaged file": (("damaged.toml",), "damaged.toml is not valid TOML"),
    "a file of something else": (("binary.toml",), "binary.toml is not valid TOML"),
    "a file that is not there": (("missing.toml",), "there is no settings file missing.toml"),
    "a threshold above the size": (
        ("small.toml", "--set", "committee.threshold=5"),
        "committee.threshold is 5, more than its 4 members",
    ),
    "one URL": (
        ("small.toml", "--set", 'chain.live_url="http://127.0.0.1:1"'),
        "give chain.live_url and chain.archive_url, or neither",
    ),
}


@pytest.mark.parametrize("command", ["demo", "train"])
@pytest.mark.parametrize("what", REFUSED)
def test_settings_are_refused_before_anything_is_made(folder: Path, command: str, what: str) -> None:
    arguments, reason = REFUSED[what]
    before = sorted(path.name for path in folder.iterdir())
    outcome = blockful(folder, command, *arguments)
    assert reason in outcome.error
    assert outcome.status == 2
    assert outcome.out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


def test_rounds_that_the_scenario_has_not_are_refused_before_anything_is_made(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    outcome = blockful(folder, "train", "small.toml", "--rounds", "2")
    assert "1 round; it has 7 models and 2 rounds" in outcome.error
    assert outcome.status == 2
    assert sorted(path.name for path in folder.iterdir()) == before


def test_an_error_with_json_is_one_document(folder: Path) -> None:
    outcome = blockful(folder, "demo", "small.toml", "--json", "--set", "learning.epochs=0")
    assert outcome.status == 2
    assert outcome.document["error"]["kind"] == "SettingsError"
    assert "learning.epochs" in outcome.document["error"]["message"]
    assert outcome.err == ""


def test_a_demo_into_a_folder_that_exists_leaves_it_alone(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("years of work")
    outcome = blockful(folder, "demo", "small.toml", "--output", "mine")
    assert "mine exists: choose another folder" in outcome.error
    assert outcome.status == 1
    assert [path.name for path in (folder / "mine").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", ["unlearn", "verify", "audit", "graph", "report"])
def test_a_run_that_is_not_there(folder: Path, command: str) -> None:
    outcome = blockful(folder, command, "--run", "nowhere")
    assert "nowhere" in outcome.error
    assert outcome.status == 1
    assert not (folder / "nowhere").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("unlearn",),
        ("abort",),
        ("expire",),
        ("certificate", "issue"),
        ("reader", "register", "reader.json"),
        ("auditor", "remove", "0x" + "12" * 20),
        ("committee", "keygen"),
        ("committee", "leave", "member"),
    ],
    ids=" ".join,
)
def test_what_changes_a_run_takes_none_by_itself(folder: Path, command: tuple[str, ...]) -> None:
    outcome = blockful(folder, *command)
    assert outcome.status == 2
    assert "Missing option '--run'" in outcome.err


@pytest.mark.parametrize("command", ["pause", "resume", "log"])
def test_a_participant_that_is_not_there(folder: Path, command: str) -> None:
    outcome = blockful(folder, "participant", command, "no where")
    assert "there is no participant in no where" in outcome.error
    assert "`blockful participant init 'no where'`" in outcome.error
    assert outcome.status == 6


@pytest.mark.parametrize(
    ("arguments", "why", "status"),
    [
        (("--federation", "f.toml"), "give --live-url and --archive-url", 2),
        (
            ("--federation", "f.toml", "--live-url", "http://127.0.0.1:1"),
            "give --live-url and --archive-url",
            2,
        ),
        (
            ("--federation", "f.toml", "--live-url", "http://x", "--archive-url", "http://y"),
            "the federation file f.toml cannot be read",
            2,
        ),
        (("--federation", "f.toml", "--run", "runs/mine"), "give --run, or --federation", 2),
        ((), "there is no run in runs/latest", 1),
    ],
    ids=str,
)
def test_an_explorer_of_nothing_starts_nothing(
    folder: Path, arguments: tuple[str, ...], why: str, status: int
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    outcome = blockful(folder, "explorer", *arguments)
    assert why in outcome.error
    assert outcome.status == status
    assert sorted(path.name for path in folder.iterdir()) == before
    assert nodes_of(folder) == []


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that is taken, by something that is no node."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_an_occupied_port(folder: Path, silent_port: int) -> None:
    outcome = blockful(folder, "devnet", "up", "--live-port", str(silent_port))
    assert f"port {silent_port} is taken by another program" in outcome.error
    assert outcome.status == 4
    assert nodes_of(folder) == []
    assert not (folder / ".blockful").exists()


def test_an_occupied_port_of_the_second_chain_stops_the_first(folder: Path, silent_port: int) -> None:
    outcome = blockful(folder, "devnet", "up", "--archive-port", str(silent_port))
    assert f"port {silent_port} is taken by another program" in outcome.error
    assert outcome.status == 4
    assert nodes_of(folder) == []


def test_a_node_that_is_down(folder: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    both = ("--set", f'chain.live_url="{url}"', "--set", f'chain.archive_url="{url}"')
    outcome = blockful(folder, "train", "small.toml", *both)
    assert f"no node answers at {url}" in outcome.error
    assert outcome.status == 4
    assert not (folder / "runs").exists()


@pytest.fixture
def fake_node(tmp_path: Path) -> Path:
    """A folder with a program `node` of version 16."""
    folder = tmp_path / "fake"
    folder.mkdir()
    script = folder / "node"
    script.write_text("#!/bin/sh\necho v16.20.2\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize("command", [("demo", "small.toml"), ("train", "small.toml"), ("devnet", "up")])
def test_a_node_js_that_is_too_old(folder: Path, fake_node: Path, command: tuple[str, ...]) -> None:
    outcome = blockful(folder, *command, environment={"PATH": f"{fake_node}:{os.environ['PATH']}"})
    assert "is version v16.20.2, too old: install Node.js 18 or later" in outcome.error
    assert outcome.status == 4
    assert not (folder / "runs" / "mine").exists()
    assert not (folder / ".blockful").exists()


def test_no_node_js(folder: Path) -> None:
    ganache = ("--set", "chain.devnet=ganache")
    outcome = blockful(folder, "train", "small.toml", *ganache, environment={"PATH": "/nonexistent"})
    assert "no program `node` was found on PATH" in outcome.error
    assert outcome.status == 4
    assert not (folder / "runs" / "mine").exists()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        *((f"{command} small.toml --set learning.epochs=0", "learning.epochs") for command in CREATING),
        *((f"{command} --run nowhere", "there is no run in nowhere") for command in ("verify", "unlearn")),
        ("report --run nowhere", "there is no run in nowhere"),
        ("explorer", "there is no run in runs/latest"),
        ("participant status nowhere", "there is no participant in nowhere"),
        ("committee join nowhere --stake 1", "there is no member in nowhere"),
        ("request sign nowhere --keystore k", "nowhere cannot be read"),
        ("certificate show nowhere", "nowhere cannot be read"),
        ("certificate show small.toml", "small.toml: this is no certificate"),
        ("verify-proof small.toml", "Give a file that `blockful export-proof` wrote"),
    ],
)
def test_an_error_comes_before_anything_slow_is_imported(folder: Path, command: str, why: str) -> None:
    program = (
        "import sys\nfrom blockful_py.cli.main import main\n"
        f"try:\n    main({command.split()})\nfinally:\n    print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "BLOCKFUL_PASSPHRASE": "words"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 2, 5, 6)
    assert why in done.stderr
    assert not {"torch", "web3", "matplotlib", "scipy", "sklearn"} & set(done.stdout.split())
