# SPDX-License-Identifier: Apache-2.0
"""BlockFUL: unlearning in blockchained federated learning.

    from blockful_py import Federation, Settings

`blockful_py.learning`, `unlearning` and `graph` can be imported without any chain software, because the names
below are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from blockful_py.extras import needed_by

if TYPE_CHECKING:
    from blockful_py.callbacks.events import Callback
    from blockful_py.pipeline.federation import Federation
    from blockful_py.recall.loading import load
    from blockful_py.settings import Settings
    from blockful_py.types import Paradigm, Position

__all__ = ["Callback", "Federation", "Paradigm", "Position", "Settings", "load"]

_HOMES = {
    "Callback": "blockful_py.callbacks.events",
    "Federation": "blockful_py.pipeline.federation",
    "Settings": "blockful_py.settings",
    "Paradigm": "blockful_py.types",
    "Position": "blockful_py.types",
    "load": "blockful_py.recall.loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed_by(f"{__name__}.{name}"):
        return getattr(import_module(_HOMES[name]), name)
