# SPDX-License-Identifier: Apache-2.0
"""Script and style of report.html, which `make setup` bundles, and the policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from blockful_py.errors import RunError

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class PageAssets:
    """`policy`: the content security policy, by the hashes of both; no address is allowed at all."""

    script: str
    style: str
    policy: str


def page_assets(folder: Path = STATIC) -> PageAssets:
    """Raises RunError where the pages are not built, or their files could end the element that holds them."""
    try:
        script, style = ((folder / name).read_text("utf-8") for name in ("report.js", "report.css"))
    except OSError as error:
        advice = "run `make setup` in the clone, and build the wheel after it."
        raise RunError(f"the report's page is not built ({error}): {advice}") from error
    if "</" in style or any(word in script.lower() for word in ("</script", "<script", "<!--")):
        raise RunError(
            f"{folder} has files that cannot stand in a page: run `make setup` in the clone again."
        )
    policy = (
        f"default-src 'none'; script-src '{_hashed(script)}'; style-src '{_hashed(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
    return PageAssets(script, style, policy)


def _hashed(text: str) -> str:
    """As CSP level 3 names an inline element's content."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
