# SPDX-License-Identifier: Apache-2.0
"""Every setting of a job, declared once for learning, pipeline and the TOML file.

Imports neither torch, numpy nor web3, so that a wrong setting is refused at once.
"""

from __future__ import annotations

from blockful_py.settings.committee import CommitteeSettings, ElectionSettings, quorum_of
from blockful_py.settings.learning import DataOptions, LearningSettings, PrivacySettings, TrainingSettings
from blockful_py.settings.sections import (
    AccessSettings,
    ArchiveSettings,
    ChainSettings,
    ControllerSettings,
    EngineSettings,
    FederationSettings,
    RunSettings,
    Situation,
    StorageSettings,
    UnlearningSettings,
)
from blockful_py.settings.settings import Settings

__all__ = [
    "AccessSettings",
    "ArchiveSettings",
    "ChainSettings",
    "CommitteeSettings",
    "ControllerSettings",
    "DataOptions",
    "ElectionSettings",
    "EngineSettings",
    "FederationSettings",
    "LearningSettings",
    "PrivacySettings",
    "RunSettings",
    "Settings",
    "Situation",
    "StorageSettings",
    "TrainingSettings",
    "UnlearningSettings",
    "quorum_of",
]
