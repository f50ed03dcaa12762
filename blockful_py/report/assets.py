# SPDX-License-Identifier: Apache-2.0
"""Script and style of report.html, bundled by `make setup`, and the content security policy for them."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from blockful_py.errors import RunError

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class PageAssets:
    """Script, style and content security policy, which allows both by their hashes and no address at all."""

    script: str
    style: str
    policy: str


def page_assets(folder: Path = STATIC) -> PageAssets:
    """Reads the bundled script and style.

    Raises RunError if they are not built, or contain text that would end their HTML element.
    """
    try:
        script, style = ((folder / name).read_text("utf-8") for name in ("report.js", "report.css"))
    except OSError as error:
        advice = "run `make setup` in the clone, and then build the wheel."
        raise RunError(f"the report's page is not built ({error}): {advice}") from error
    if "</" in style or any(word in script.lower() for word in ("</script", "<script", "<!--")):
        raise RunError(
            f"{folder} has files that cannot be embedded in a page: run `make setup` in the clone again."
        )
    policy = (
        f"default-src 'none'; script-src '{_hashed(script)}'; style-src '{_hashed(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
    return PageAssets(script, style, policy)


def _hashed(text: str) -> str:
    """Hash of an inline element's content, as CSP level 3 writes it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page_templates() -> Environment:
    """A fresh environment, so that a page may add filters."""
    return Environment(
        loader=PackageLoader("blockful_py.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
