# SPDX-License-Identifier: Apache-2.0
"""An auditor signs in from a keystore and with a wallet, and reads the archive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from blockful_py.crypto import signature
from blockful_py.crypto.passphrase import KdfCost
from tests.browser.conftest import Opened
from tests.browser.test_pages import findings, place
from tests.cli.commands import blockful
from tests.explorer.conftest import AUDITOR

pytestmark = pytest.mark.browser

WORDS = "five words are better yet"
WALLET = """window.ethereum = {
    request: async ({method, params}) =>
        method === 'eth_requestAccounts' ? [ADDRESS] : await window.signed(params[0], params[1]),
};"""


def reads_the_archive(page: Page, url: str) -> None:
    page.goto(url.rstrip("/") + f"/models/{place(url, 'x')}")
    old = page.locator(".version").first
    expect(old).to_contain_text("Accuracy")
    expect(old).to_contain_text("Sealed weights")
    expect(page.get_by_text("for auditors")).to_have_count(0)


def test_a_link_of_the_command_signs_in_once(pages: Opened, url: str, tmp_path: Path) -> None:
    AUDITOR.save(tmp_path / "auditor.json", WORDS, KdfCost(1 << 15))
    (tmp_path / "words").write_text(WORDS + "\n")
    opened = pages(url)
    page = opened.go(f"/models/{place(url, 'x')}")
    expect(page.locator(".version").first).to_contain_text("Its node is in the archive, for auditors.")
    page.locator(".version").first.get_by_role("link", name="Sign in").click()
    command = page.get_by_label("Command").inner_text().split()
    assert command[:3] == ["blockful", "auditor", "sign-in"]
    outcome = blockful(tmp_path, *command[1:], "--passphrase-file", "words", "--json")
    assert outcome.status == 0, outcome.err
    link = json.loads(outcome.out)["link"]
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_text("You are signed in")).to_be_visible()
    assert page.url == url.rstrip("/") + "/sign-in"
    assert page.evaluate("document.cookie") == ""
    assert findings(page) == []
    opened.shoot("signed-in")
    reads_the_archive(page, url)
    opened.shoot("model-audited")
    opened.go("/sign-in")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("Run this, and open the link that it prints:")).to_be_visible()
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("used already")
    opened.complaints.clear()  # Chromium reports the status 403


def test_a_wallet_signs_in(pages: Opened, url: str) -> None:
    opened = pages(url)
    address = "0x" + AUDITOR.account.hex()
    shown: list[str] = []

    def signed(message: str, account: str) -> str:
        text = bytes.fromhex(message[2:]).decode()
        shown.append(text)
        assert account == address
        return "0x" + signature.sign(AUDITOR.account_secret, signature.personal_digest(text)).hex()

    opened.page.expose_function("signed", signed)
    opened.page.add_init_script(WALLET.replace("ADDRESS", json.dumps(address)))
    page = opened.go("/sign-in")
    page.get_by_role("button", name="Sign a message").click()
    expect(page.get_by_text("You are signed in")).to_be_visible()
    assert shown[0].startswith(url.split("/")[2] + " wants you to sign in with your Ethereum account:")
    reads_the_archive(page, url)
