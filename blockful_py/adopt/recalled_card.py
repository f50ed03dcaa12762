# SPDX-License-Identifier: Apache-2.0
"""Marks the card of a recalled model: a tag, the hub's `new_version`, and a notice above the text.

All other bytes of the card stay as they are.  Nothing is uploaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockful_py.adopt.cards import MAX_TEXT_BYTES, names_in, parsed_yaml
from blockful_py.errors import FormatError, SettingsError
from blockful_py.extras import needed_by
from blockful_py.whole_file import read_bounded, write_whole

if TYPE_CHECKING:
    from yaml import MappingNode, Node

TAG = "recalled"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_BEGIN, _END = "<!-- blockful recall -->", "<!-- end of blockful recall -->"
_NOTICE = re.compile(rf"\r?\n{_BEGIN}.*?{_END}\r?\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Edit:
    """Text in place of the characters from `start` up to `end`."""

    start: int
    end: int
    text: str


def mark_card(card: Path, notice: str, new_version: str | None) -> bool:
    """Marks a card as recalled; returns whether that changed it.

    `notice`: one paragraph.  `new_version`: id on the hub of the model to use instead.  Raises FormatError
    for a card whose front matter cannot be changed safely, and SettingsError for an invalid id.
    """
    if new_version is not None and HUB_ID.fullmatch(new_version) is None:
        raise SettingsError(f"{new_version!r} is no model on the hub: expected ACCOUNT/NAME.")
    try:
        before = read_bounded(card, MAX_TEXT_BYTES).decode()
    except UnicodeDecodeError:
        raise FormatError(f"{card} is not in UTF-8.") from None
    after = marked(before, notice, new_version, str(card))
    if after == before:
        return False
    write_whole(card, after, FormatError)
    return True


def marked(text: str, notice: str, new_version: str | None, name: str) -> str:
    """The text of a marked card; `name` is for errors.  Raises FormatError."""
    line = "\r\n" if "\r\n" in text else "\n"
    found = _FRONT.match(text)
    if found is None:
        if text.removeprefix("\ufeff").startswith("---"):
            raise FormatError(f"{name} has front matter that does not end (a line of ---).")
        text = f"---{line}---{line}{text}"
        found = _FRONT.match(text)
        assert found is not None  # noqa: S101 - written above
    front = _changed(found[1], new_version, line, name)
    body = _NOTICE.sub("", text[found.end() :], count=1)
    told = f"{line}{_BEGIN}{line}> **Recalled.** {notice}{line}{_END}{line}"
    return text[: found.start(1)] + front + text[found.end(1) : found.end()] + told + body


def _changed(front: str, new_version: str | None, line: str, name: str) -> str:
    """The front matter with the tag and the new version, and nothing else changed."""
    before = parsed_yaml(front, name)
    expected = {**before, "tags": [*dict.fromkeys((*names_in(before, "tags"), TAG))]}
    if new_version is not None:
        expected["new_version"] = new_version
    if before == expected:
        return front
    root = _composed(front)
    edits, added = [], ""
    for key, value in expected.items():
        if before.get(key) == value:
            continue
        node = root.get(key)
        if node is None:
            added += f"{key}:{line}- {TAG}{line}" if key == "tags" else f"{key}: {value}{line}"
        elif key == "tags":
            edits.append(_with_tag(front, node, line))
        else:
            edits.append(Edit(node.start_mark.index, node.end_mark.index, value))
    changed = _applied(front, edits)
    changed += ("" if not changed or changed.endswith("\n") else line) + added
    try:
        is_safe = parsed_yaml(changed, name) == expected
    except FormatError:
        is_safe = False
    if not is_safe:
        raise FormatError(
            f"{name} has front matter that cannot be changed safely: add the tag {TAG!r}"
            + (f" and new_version: {new_version}" if new_version else "")
            + " yourself, and run the command again."
        )
    return changed


def _composed(front: str) -> dict[str, Node]:
    """The nodes of the front matter's values, with their places."""
    with needed_by("`blockful recall card`"):
        import yaml
    root: MappingNode | None = yaml.compose(front, Loader=yaml.SafeLoader)
    return {} if root is None else {key.value: value for key, value in root.value}


def _with_tag(front: str, node: Any, line: str) -> Edit:
    """Adds the tag to a value of `tags`: a list in either style, one name, or nothing."""
    start, end = node.start_mark.index, node.end_mark.index
    if node.id == "scalar":
        one = front[start:end].strip()
        return Edit(start, end, f"[{one}, {TAG}]" if one else f" [{TAG}]")
    if node.flow_style:
        inside = front[start:end].rstrip("]").rstrip()
        return Edit(end - 1, end - 1, TAG if inside.endswith(("[", ",")) else f", {TAG}")
    last = node.value[-1].end_mark.index
    at = front.find("\n", max(last - 1, start))
    indent = " " * node.start_mark.column
    if at < 0:
        return Edit(len(front), len(front), f"{line}{indent}- {TAG}{line}")
    return Edit(at + 1, at + 1, f"{indent}- {TAG}{line}")


def _applied(text: str, edits: list[Edit]) -> str:
    for each in sorted(edits, key=lambda edit: -edit.start):
        text = text[: each.start] + each.text + text[each.end :]
    return text
