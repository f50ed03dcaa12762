# SPDX-License-Identifier: Apache-2.0
"""Describes the machine on which a result was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import Any

THREADS = 1
"""Torch's threads in every experiment: the bits of sums depend on their number."""

PACKAGES = ("blockful", "numpy", "scikit-learn", "scipy", "torch")


def describe(threads: int) -> dict[str, Any]:
    """Machine and versions, without names or paths."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }
