# SPDX-License-Identifier: Apache-2.0
"""All settings of a job, read from one TOML file, with `section.key=value` overrides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from blockful_py.errors import SettingsError
from blockful_py.settings.committee import CommitteeSettings
from blockful_py.settings.learning import LearningSettings
from blockful_py.settings.rules import broken_rules
from blockful_py.settings.section import Range, Section
from blockful_py.settings.sections import (
    AccessSettings,
    ArchiveSettings,
    ChainSettings,
    ControllerSettings,
    EngineSettings,
    FederationSettings,
    RunSettings,
    StorageSettings,
    UnlearningSettings,
)
from blockful_py.settings.text import apply_override, listed, read_document


@dataclass(frozen=True)
class Settings(Section):
    """Every setting of a job, by section of the TOML file.

    Attributes:
        seed: all randomness of learning derives from it; two runs with one seed give the same bits.
    """

    seed: Annotated[int, Range(ge=0, lt=2**32)] = 0
    federation: FederationSettings = field(default_factory=FederationSettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    unlearning: UnlearningSettings = field(default_factory=UnlearningSettings)
    committee: CommitteeSettings = field(default_factory=CommitteeSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    controller: ControllerSettings = field(default_factory=ControllerSettings)
    chain: ChainSettings = field(default_factory=ChainSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    run: RunSettings = field(default_factory=RunSettings)

    @classmethod
    def load(cls, path: str | Path | None = None, overrides: Sequence[str] = ()) -> Settings:
        """Reads a TOML file and applies overrides such as `learning.epochs=5`.

        Raises SettingsError, which names the file or the key, the fault, and the allowed values.
        """
        document: dict[str, Any] = {}
        if path is not None:
            document = read_document(Path(path))
        for override in overrides:
            apply_override(document, override)
        return cls.parse(document)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Settings:
        """Settings from the tables of a TOML or JSON file.

        Raises SettingsError, which lists every wrong key and value, or otherwise every broken rule.
        """
        from blockful_py.settings.validation import validated  # learning does not depend on pydantic

        settings = validated(cls, document)
        broken = list(
            broken_rules(
                settings.federation,
                settings.learning,
                settings.unlearning,
                settings.committee,
                settings.storage,
                settings.engine,
            )
        )
        if broken:
            raise SettingsError(listed(broken))
        return settings

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON tables, with lists for tuples and text for keys; the inverse of `parse`."""
        document: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return document
