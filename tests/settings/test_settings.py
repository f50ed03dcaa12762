# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.errors import SettingsError
from blockful_py.settings import Settings, validation

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("name", ["paper14.toml", "organic.toml", "scripted.toml"])
def test_the_examples_are_valid(name: str) -> None:
    assert Settings.load(EXAMPLES / name).federation.scenario == name.removesuffix(".toml")


def test_what_checks_a_document_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making it takes ten times as long as using it, and a process reads settings many times."""
    Settings.parse({})
    monkeypatch.delattr(validation, "TypeAdapter")
    assert Settings.parse({"seed": 3}).seed == 3


def test_overrides_win_over_the_file() -> None:
    settings = Settings.load(EXAMPLES / "paper14.toml", ["learning.epochs=2", "unlearning.starts=['r1']"])
    assert settings.learning.epochs == 2
    assert settings.unlearning.starts == ("r1",)


def test_a_plain_word_is_a_string() -> None:
    assert Settings.load(None, ["federation.situation=all_hold"]).federation.situation == "all_hold"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("learning.epochs=0", "learning.epochs"),
        ("learning.epoch=3", "unknown setting"),
        ("epochs", "section.key=value"),
        ("seed.x=1", "seed"),
        ("committee.threshold=5", "4 members"),
        ("federation.scenario=circle", "federation.scenario"),
        ("federation.users=9", "14 users"),
        ("unlearning.classes=[]", "unlearning.classes"),
        ("storage.api=/ip4/127.0.0.1/tcp/5001", "two different nodes"),
        ("unlearning.classes=" + 100 * "[", "cannot be read: it is nested"),
    ],
)
def test_a_bad_setting_is_named(override: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said.replace(".", r"\.")):
        Settings.load(None, [override])


def test_two_stores_on_one_node_are_refused() -> None:
    nodes = ["/ip4/127.0.0.1/tcp/5001", "/ip4/127.0.0.1/tcp/5002"]
    apart = [f"storage.api={nodes[0]}", f"storage.archive_api={nodes[1]}"]
    assert Settings.load(None, apart).storage.archive_api == nodes[1]
    with pytest.raises(SettingsError, match="two different nodes"):
        Settings.load(None, [apart[0], f"storage.archive_api={nodes[0]}"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no settings file"):
        Settings.load(tmp_path / "none.toml")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[federation", encoding="utf-8")
    with pytest.raises(SettingsError, match="not valid TOML"):
        Settings.load(path)


@pytest.mark.parametrize(
    ("size", "unanimous", "quorum"),
    [
        (1, False, 1),
        (4, False, 3),
        (7, False, 5),
        (10, False, 7),
        (15, False, 10),
        (20, False, 14),
        (4, True, 4),
    ],
)
def test_a_quorum_is_two_thirds_rounded_up(size: int, unanimous: bool, quorum: int) -> None:
    overrides = [f"committee.size={size}", f"committee.unanimous={str(unanimous).lower()}"]
    assert Settings.load(None, overrides).committee.quorum == quorum
