# SPDX-License-Identifier: Apache-2.0
"""Chromium, and explorers that it opens: of a run that was unlearned, and of generated federations."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from blockful_py.explorer.app import STATIC
from blockful_py.explorer.explorer import Explorer
from blockful_py.explorer.sources import IndexSources
from blockful_py.explorer.watched import Watched, watched_run
from blockful_py.member.endpoints import Urls
from blockful_py.pipeline.run.nodes import Nodes
from tests.explorer.conftest import AUDITOR
from tests.explorer.generated import GeneratedFederation
from tests.federations import small, trained

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build" / "screenshots"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""No processor for graphics is needed."""


PARTY = "<b>Klinik Süd & a name that is as long as names may be"
"""The word of user 5, who owns the model z, for itself."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.fail("Chromium is needed: install it (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=[*SOFTWARE])
        yield opened
        opened.close()


@dataclass
class OpenPage:
    """A page of an explorer, or of a file; any complaint of the browser fails its test."""

    page: Page
    url: str
    complaints: list[str]

    def go(self, path: str) -> Page:
        self.page.goto(self.url.rstrip("/") + path)
        return self.page

    def leave(self) -> None:
        """Lets the page go before its server ends."""
        self.page.goto("about:blank")

    def refuses_scripts(self) -> bool:
        """Whether a script that is added to the page does not run, and the browser complains of it."""
        blocked: bool = self.page.evaluate(
            """() => {
                const script = document.createElement('script');
                try { script.textContent = 'window.ran = true'; document.body.append(script); }
                catch (error) { return true; }
                return window.ran !== true;
            }"""
        )
        complained = bool(self.complaints)
        self.complaints.clear()
        return blocked and complained

    def shoot(self, name: str, whole: bool = True) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=whole)


Opened = Callable[..., OpenPage]
Scheme = Literal["light", "dark"]


@pytest.fixture
def pages(browser: Browser) -> Iterator[Opened]:
    """Opens pages: `pages(url, width, height, scheme)`."""
    opened: list[OpenPage] = []

    def open_page(url: str, width: int = 1280, height: int = 800, scheme: Scheme = "light") -> OpenPage:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        page, complaints = context.new_page(), list[str]()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on("dialog", lambda dialog: complaints.append(f"a dialog opened: {dialog.message}"))
        opened.append(OpenPage(page, url, complaints))
        return opened[-1]

    yield open_page
    for each in opened:
        each.page.context.close()
        assert each.complaints == []


@contextmanager
def served(watched: Watched, folder: Path) -> Iterator[Explorer]:
    """The explorer of a federation, served on a thread."""
    assert (STATIC / "index.html").is_file(), "the pages are not built: run `make setup`"
    with Explorer(watched, folder) as explorer:
        thread = threading.Thread(target=explorer.serve, daemon=True)
        thread.start()
        yield explorer
        explorer.stop()
        thread.join()


@pytest.fixture(scope="session")
def run(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an auditor, whose starts have forgotten in parallel, with its certificate."""
    directory = tmp_path_factory.mktemp("explored") / "run"
    with trained(small(federation={"parties": {"5": PARTY}}), directory, chains) as federation:
        federation.administration().set_auditor(AUDITOR.account, AUDITOR.encryption_key)
        federation.unlearn(paradigm="parallel")
        redaction = federation.catalogue()["x"].node.redaction
        assert redaction is not None
        certificate = federation.certify_erasure(redaction.request)
    path = directory / "certificates" / f"erasure-{redaction.request.created}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(certificate.to_bytes())
    return directory


@pytest.fixture(scope="session")
def watched(run: Path, chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    urls = Urls(chains.live.url, chains.archive.url)
    with watched_run(run, urls, tmp_path_factory.mktemp("events")) as opened:
        yield opened


@pytest.fixture(scope="session")
def url(watched: Watched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the explorer of the run."""
    with served(watched, tmp_path_factory.mktemp("index")) as explorer:
        yield explorer.url


class WatchedGenerated(Watched):
    """A run's chains and stores, with the index of a generated federation."""

    generated: GeneratedFederation

    def sources(self) -> IndexSources:
        return self.generated.sources()


@contextmanager
def generated(watched: Watched, federation: GeneratedFederation, folder: Path) -> Iterator[Explorer]:
    """The explorer of a generated federation."""
    other = WatchedGenerated(watched.run, watched.nodes, watched.contracts)
    other.name, other.jobs, other.generated = watched.name, watched.jobs, federation
    with served(other, folder) as explorer:
        yield explorer
