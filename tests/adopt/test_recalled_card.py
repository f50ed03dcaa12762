# SPDX-License-Identifier: Apache-2.0
"""A recalled model's card: the tag, the new version and the notice are added, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.adopt.cards import front_matter
from blockful_py.adopt.recalled_card import TAG, mark_card, marked
from blockful_py.errors import FormatError, SettingsError

BODY = "\n# A model\n\nText with --- in it, and trailing spaces  \n"

CARDS = {
    "block": ("license: mit\ntags:\n- llama\n- law # a comment\nlanguage: en\n", ["llama", "law"]),
    "indented": ("tags:\n  - llama\n  - 'law, old'\nlicense: mit\n", ["llama", "law, old"]),
    "flow": ("tags: [llama, law]   # why\nlicense: mit\n", ["llama", "law"]),
    "flow over lines": ("tags: [\n  llama,\n  law,\n]\nlicense: mit\n", ["llama", "law"]),
    "empty flow": ("tags: []\n", []),
    "one name": ("tags: llama\nlicense: mit\n", ["llama"]),
    "no value": ("tags:\nlicense: mit\n", []),
    "none": ("license: mit\n", []),
    "empty": ("", []),
    "last": ("license: mit\ntags:\n- llama\n", ["llama"]),
    "folded": ("tags:\n- llama\n- >-\n  folded\n  name\nlicense: mit\n", ["llama", "folded name"]),
}


@pytest.mark.parametrize("line", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("front, tags", CARDS.values(), ids=CARDS)
def test_only_the_marks_are_added(front: str, tags: list[str], line: str) -> None:
    text = f"---\n{front}---\n{BODY}".replace("\n", line)
    after = marked(text, "It is withdrawn.", "lab/new", "README.md")
    document = yaml.safe_load(after.split("---")[1])
    before = yaml.safe_load(front) or {}
    assert document == {**before, "tags": [*tags, TAG], "new_version": "lab/new"}
    assert after.endswith(BODY.replace("\n", line))
    assert "> **Recalled.** It is withdrawn." in after
    assert ("\r\n" in after) == (line == "\r\n")
    kept = iter(after)
    assert all(letter in kept for letter in text), "nothing is taken away, and the order stays"
    assert marked(after, "It is withdrawn.", "lab/new", "README.md") == after, "marking again changes nothing"
    other = marked(after, "Another stands.", "lab/newer", "README.md")
    assert "withdrawn" not in other
    assert yaml.safe_load(other.split("---")[1])["new_version"] == "lab/newer"


def test_a_card_without_front_matter_gets_one() -> None:
    after = marked("# A model\n", "It is withdrawn.", None, "README.md")
    assert after.startswith(f"---\ntags:\n- {TAG}\n---\n")
    assert after.endswith("# A model\n")


def test_the_file_is_rewritten_once(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_bytes(b"\xef\xbb\xbf---\nlicense: mit\n---\nBody\n")
    assert mark_card(card, "It is withdrawn.", None)
    assert card.read_bytes().startswith(b"\xef\xbb\xbf---\nlicense: mit\ntags:\n- recalled\n---\n")
    assert front_matter(card) == {"license": "mit", "tags": [TAG]}
    assert not mark_card(card, "It is withdrawn.", None)


@pytest.mark.parametrize(
    "text, says",
    [
        ("---\nlicense: mit\n", "does not end"),
        ("---\ntags: {a: b}\n---\n", "tags has to be"),
        ("---\n{license: mit}\n---\n", "cannot be changed safely"),
        ("---\nbase: &b x\ntags: [*b]\n---\n", "aliases"),
        ("---\n- a\n---\n", "no mapping"),
    ],
    ids=["open", "mapping", "flow", "alias", "list"],
)
def test_a_card_that_cannot_be_changed_safely_is_left(tmp_path: Path, text: str, says: str) -> None:
    card = tmp_path / "README.md"
    card.write_text(text)
    with pytest.raises(FormatError, match=says):
        mark_card(card, "It is withdrawn.", None)
    assert card.read_text() == text


@pytest.mark.parametrize("wrong", ["lab", "lab/new\ntags: x", "../x/y", "https://hub/x", ""])
def test_a_new_version_is_a_model_on_the_hub(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "README.md").write_text("---\n---\n")
    with pytest.raises(SettingsError, match="ACCOUNT/NAME"):
        mark_card(tmp_path / "README.md", "It is withdrawn.", wrong)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(
    st.dictionaries(NAMES.filter(lambda name: name not in ("tags", "new_version")), NAMES, max_size=4),
    st.lists(NAMES, max_size=4, unique=True),
    st.booleans(),
    st.text(max_size=60).filter(lambda text: "<!--" not in text),
)
def test_whatever_the_card_says_it_still_says(
    said: dict[str, str], tags: list[str], flow: bool, body: str
) -> None:
    front = yaml.safe_dump(
        {**said, "tags": tags}, default_flow_style=None if flow else False, allow_unicode=True
    )
    after = marked(f"---\n{front}---\n{body}", "It is withdrawn.", None, "README.md")
    assert yaml.safe_load(after.split("\n---\n")[0].removeprefix("---\n")) == {
        **said,
        "tags": [*dict.fromkeys((*tags, TAG))],
    }
    assert after.endswith(body)
