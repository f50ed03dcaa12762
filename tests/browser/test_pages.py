# SPDX-License-Identifier: Apache-2.0
"""Every page, in light and dark, wide and 360 pixels wide: whole, accessible, without complaints.

Screenshots are left in build/screenshots.
"""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import SIZES, findings
from tests.browser.conftest import Opened

pytestmark = pytest.mark.browser


def answer(url: str, path: str) -> Any:
    with urlopen(url.rstrip("/") + path) as found:  # noqa: S310
        return json.load(found)


def place(url: str, name: str) -> str:
    """Position of a model, once the explorer has read it."""
    while True:
        for model in answer(url, f"/api/models?search={name}")["models"]:
            if model["name"] == name:
                return str(model["position"])
        time.sleep(0.1)


def path_of(url: str, page: str) -> str:
    """Address of a page."""
    if page == "model":
        return f"/models/{place(url, 'x')}"
    if page == "request":
        return f"/requests/{answer(url, '/api/requests')[0]['key']}"
    if page == "compare":
        return "/compare?model=x&model=z"
    if page == "what-if":
        return f"/what-if?start={place(url, 's')}&start={place(url, 't')}"
    return "/" if page == "graph" else f"/{page}"


def wait(page: Page) -> None:
    """Until the page has its answer."""
    expect(page.locator("#main > *").first).to_be_visible()
    if page.locator("#main.full").count():
        expect(page.locator("#main[data-ready]")).to_be_attached()
    expect(page.get_by_text("Loading…")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", sorted(SIZES))
@pytest.mark.parametrize(
    "page",
    [
        "graph",
        "models",
        "model",
        "requests",
        "request",
        "compare",
        "what-if",
        "committee",
        "blocks",
        "jobs",
        "sign-in",
        "nowhere",
    ],
)
def test_a_page_is_accessible_and_no_wider_than_its_window(
    pages: Opened, url: str, page: str, size: str, scheme: str
) -> None:
    opened = pages(url, *SIZES[size], scheme)
    shown = opened.go(path_of(url, page))
    wait(shown)
    if page == "model":
        shown.get_by_role("button", name="Verify now").click()
        expect(shown.get_by_text("Verified: every check holds.")).to_be_visible()
    opened.shoot(f"{page}-{size}-{scheme}", whole=page != "graph")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert findings(shown) == []
    if page == "nowhere":
        opened.complaints.clear()  # Chromium reports the status 404


def test_axe_can_find_something(pages: Opened, url: str) -> None:
    shown = pages(url).go("/models")
    wait(shown)
    shown.evaluate("document.querySelector('#main input').removeAttribute('aria-label')")
    shown.evaluate("document.querySelector('#main input').removeAttribute('placeholder')")
    assert any(each.startswith("label") for each in findings(shown))


def test_a_script_in_the_page_would_not_run(pages: Opened, url: str) -> None:
    opened = pages(url)
    wait(opened.go("/models"))
    assert opened.refuses_scripts()
