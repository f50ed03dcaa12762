# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.environment import PASSPHRASE


def answers(*given: str) -> Callable[[str], str]:
    remaining = iter(given)
    return lambda prompt: next(remaining)


def test_a_file_comes_before_the_environment_and_that_before_the_prompt(tmp_path: Path) -> None:
    file = tmp_path / "words"
    file.write_text("from the file\nanother line\n")
    environment = {PASSPHRASE: "from the environment"}
    ask = answers("from the prompt")
    assert passphrase_from(file, environment=environment, ask=ask) == "from the file"
    assert passphrase_from(None, environment=environment, ask=ask) == "from the environment"
    assert passphrase_from(None, environment={}, ask=ask) == "from the prompt"


def test_the_file_beside_a_folder_comes_before_the_environment(tmp_path: Path) -> None:
    environment = {PASSPHRASE: "from the environment"}
    hospital = tmp_path / "north.hospital"
    assert passphrase_from(None, hospital, environment=environment) == "from the environment"
    (tmp_path / "north.hospital.words").write_text("from beside it\n")
    assert passphrase_from(None, hospital / "." / "", environment=environment) == "from beside it"
    (tmp_path / "words").write_text("from the file\n")
    assert passphrase_from(tmp_path / "words", hospital, environment=environment) == "from the file"


def test_a_passphrase_that_is_chosen_is_asked_for_twice() -> None:
    assert passphrase_from(None, environment={}, ask=answers("one two", "one two"), repeat=True) == "one two"
    with pytest.raises(SettingsError, match="the two passphrases differ"):
        passphrase_from(None, environment={}, ask=answers("one two", "one tow"), repeat=True)


def test_none_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    with pytest.raises(SettingsError, match="has no passphrase"):
        passphrase_from(empty)
    with pytest.raises(SettingsError, match=f"{PASSPHRASE} has no passphrase"):
        passphrase_from(None, environment={PASSPHRASE: ""})
    with pytest.raises(SettingsError, match="the answer has no passphrase"):
        passphrase_from(None, environment={}, ask=answers(""))
    with pytest.raises(SettingsError, match="cannot be read"):
        passphrase_from(tmp_path / "none")


def test_without_a_terminal_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(SettingsError, match=f"no terminal to prompt on: set .{PASSPHRASE}, or name a file"):
        passphrase_from(None, environment={})
