# SPDX-License-Identifier: Apache-2.0
"""Flower integration: `FlowerUser` trains participants with a Flower ClientApp, `BlockfulStrategy` records
the rounds of a Flower federation.

See docs/how-to/use-flower.md; extra `flower`.  The names below are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from blockful_py.extras import needed_by

if TYPE_CHECKING:
    from blockful_py.flower.local_grid import LocalGrid
    from blockful_py.flower.strategy import BlockfulStrategy
    from blockful_py.flower.user import FlowerUser

__all__ = ["BlockfulStrategy", "FlowerUser", "LocalGrid"]

_HOMES = {
    "BlockfulStrategy": "blockful_py.flower.strategy",
    "FlowerUser": "blockful_py.flower.user",
    "LocalGrid": "blockful_py.flower.local_grid",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed_by(f"{__name__}.{name}"):
        return getattr(import_module(_HOMES[name]), name)
