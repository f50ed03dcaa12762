# SPDX-License-Identifier: Apache-2.0
"""A federation of processes, watched from its models to two requests that are carried out.

The explorer has the federation file and the chains' URLs, and is no member.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from blockful_py.cli.local_federation import LocalFederation
from tests.browser.conftest import Opened
from tests.browser.test_pages import answer
from tests.cli.commands import blockful_process, told

pytestmark = pytest.mark.browser

SETTINGS = Path(__file__).parents[2] / "examples" / "machines.toml"
SMALL = ("federation.users=2", "federation.wave=2", "federation.rounds=2", "learning.epochs=1")
PATIENCE = 600_000.0
"""Milliseconds, on a machine that does other things too."""
TOLERANCE = 0.15
"""Relative error allowed between forecast and used gas."""


def test_it_is_watched_until_its_requests_are_carried_out(pages: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    sets = [part for each in SMALL for part in ("--set", each)]
    local = LocalFederation(folder, lambda command: None)

    def participant(command: str, number: int, *more: str) -> Any:
        name = f"participant-{number}"
        words = ("--passphrase-file", str(local.words(name)))
        return told(tmp_path, "participant", command, str(local.party(name)), *more, *words)

    try:
        url = told(tmp_path, "up", str(SETTINGS), "--folder", str(folder), *sets)["explorer"]
        opened = pages(url)
        page = opened.go("/")
        expect(page.locator(".moment")).to_contain_text("4 models", timeout=PATIENCE)
        participant("request", 1, "--start", "r1", "--class", "3")
        opened.go("/requests")
        page.get_by_role("link", name="no. 1: forget class 3").click(timeout=PATIENCE)
        expect(page.get_by_text("carried out", exact=True)).to_be_visible(timeout=PATIENCE)
        titles = page.locator(".timeline b").all_inner_texts()
        assert titles == ["Signed", "Filed", "Part handed in", "Archived", "Replaced", "Carried out"]
        opened.shoot("processes-request")
        file = tmp_path / "erasure.json"
        participant("certificate", 1, "1", "--output", str(file), "--wait", "600")
        page.reload()
        with page.expect_download(timeout=PATIENCE) as downloading:
            page.get_by_role("link", name="Download certificate").click(timeout=PATIENCE)
        assert downloading.value.path().read_bytes() == file.read_bytes()
        start = answer(url, "/api/models?search=r2")["models"][0]["position"]
        parallel = answer(url, f"/api/what-if?start={start}")["paradigms"][0]
        participant("request", 2, "--start", "r2", "--class", "4")
        opened.go("/requests")
        page.get_by_role("link", name="no. 2: forget class 4").click(timeout=PATIENCE)
        expect(page.get_by_text("carried out", exact=True)).to_be_visible(timeout=PATIENCE)
        opened.go(f"/what-if?start={start}")
        expect(page.get_by_role("heading", name="How good such forecasts were")).to_be_visible()
        second = answer(url, f"/api/what-if?start={start}")["past"][1]
        assert second["forecast"] == parallel["gas"]
        assert abs(second["forecast"] / second["gas"] - 1) < TOLERANCE
        opened.shoot("processes-what-if")
        opened.go("/models")
        page.get_by_role("link", name="r1", exact=True).click()
        page.get_by_role("button", name="Verify now").click()
        expect(page.get_by_text("Verified: every check holds.")).to_be_visible(timeout=PATIENCE)
        opened.go("/jobs")
        expect(page.get_by_role("heading", name="participant-1")).to_be_visible()
        opened.shoot("processes-jobs")
        opened.go("/committee")
        expect(page.locator(".lamp.on")).to_have_count(4)
        opened.shoot("processes-committee")
        opened.leave()
    finally:
        blockful_process(tmp_path, "down", "--folder", str(folder))
