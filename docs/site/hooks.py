# SPDX-License-Identifier: Apache-2.0
"""MkDocs hooks: add generated pages and linked files outside docs/, and make the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.site import places
from docs.site.command_pages import command_pages
from docs.site.contract_pages import contract_pages
from docs.site.module_pages import module_pages
from docs.site.navigation import navigation
from docs.site.settings_page import settings_page

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "node_modules" / "iframe-worker" / "shim" / "index.js"


def generated() -> dict[str, dict[str, str]]:
    """Texts of the generated pages by heading and path on the site."""
    return {
        "Commands": command_pages(),
        "Settings": {"reference/settings.md": settings_page()},
        "Python": module_pages(),
        "Solidity": contract_pages(ROOT / "build" / "contracts"),
    }


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    listing = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    texts = generated()
    config.nav = navigation(listing, {heading: [*pages] for heading, pages in texts.items()})
    config.extra["generated"] = {path: text for pages in texts.values() for path, text in pages.items()}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    listing = files.get_file_from_path("README.md")
    if listing is None:
        raise FileNotFoundError(f"{places.LISTING}, the list of pages, is not there.")
    files.remove(listing)
    for path in sorted({places.LISTING, *places.outside(ROOT)}):
        files.append(File.generated(config, places.on_site(path), abs_src_path=str(ROOT / path)))
    files.append(File.generated(config, "assets/iframe-worker.js", abs_src_path=str(SHIM)))
    for path, text in config.extra["generated"].items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    uri = page.file.src_uri
    if page.file.abs_src_path is None:
        return markdown
    return places.relinked(places.in_repository(uri, ROOT), markdown)
