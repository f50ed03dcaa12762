# SPDX-License-Identifier: Apache-2.0
"""A serving member follows the current state of its run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from blockful_py.committee.service.folder import MemberFolder
from blockful_py.member import office
from blockful_py.member.office import MemberOffice
from blockful_py.whole_file import write_whole
from tests.member.processes import QUICK, WORDS


def test_a_run_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.json"
    file.write_text("before")

    class Reading:
        """A view that reads the file while another process replaces it."""

        def __init__(self) -> None:
            self.read = file.read_text()
            write_whole(file, "after")

        @classmethod
        def of(cls, *_: Any) -> Reading:
            return cls()

        def close(self) -> None:
            pass

    monkeypatch.setattr(office, "MemberView", Reading)
    with closing(MemberFolder.create(tmp_path / "member", WORDS, QUICK)) as folder:
        member: Any = MemberOffice(tmp_path, folder, None, frozenset())
        assert [member.view().read, member.view().read] == ["before", "after"]
