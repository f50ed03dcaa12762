# SPDX-License-Identifier: Apache-2.0
"""Creates the engine selected in the settings."""

from __future__ import annotations

import os

from blockful_py.engine.engine import Engine, InThisProcess
from blockful_py.engine.local_processes import LocalProcesses
from blockful_py.engine.ray_cluster import RayCluster
from blockful_py.settings import EngineSettings


def engine_of(settings: EngineSettings) -> Engine:
    """The engine of these settings.

    Raises EngineError if the Ray cluster does not answer, MissingExtraError if Ray is not installed.
    """
    if settings.kind == "ray":
        return RayCluster(settings.address or "")
    if settings.kind == "processes":
        return LocalProcesses(settings.workers or os.cpu_count() or 1)
    return InThisProcess()
