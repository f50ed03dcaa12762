# SPDX-License-Identifier: Apache-2.0
"""Templates of all pages; they escape all values and reject undefined ones."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def page_templates() -> Environment:
    """A fresh environment, so that a page may add filters."""
    return Environment(
        loader=PackageLoader("blockful_py.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
