# SPDX-License-Identifier: Apache-2.0
"""Children started by several threads end with their parent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blockful_py.child_process import ChildProcesses
from tests.member.leaders import until


def test_closing_ends_every_child_that_runs(tmp_path: Path) -> None:
    begun = [tmp_path / name for name in ("one", "two")]
    with ThreadPoolExecutor() as pool:
        with ChildProcesses("tests.lasting") as processes:
            runs = [pool.submit(processes.run, str(path)) for path in begun]
            until(lambda: all(path.exists() and path.read_text() for path in begun))
        assert [each.result(60) for each in runs] == [False, False]
        assert processes.run(str(tmp_path / "three")) is False
    assert not (tmp_path / "three").exists()
