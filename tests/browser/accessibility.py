# SPDX-License-Identifier: Apache-2.0
"""Windows that every page is opened in, and what axe finds in them."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.conftest import AXE

SIZES = {"wide": (1280, 800), "phone": (360, 740)}


def findings(page: Page) -> list[str]:
    """axe's findings for WCAG 2.2 A and AA."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]}
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", rules)
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
