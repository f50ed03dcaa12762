# SPDX-License-Identifier: Apache-2.0
"""The schema of report.json.

Equal seeds give equal reports, apart from `seconds`: compare `Report.without_times`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, model_validator

from blockful_py.errors import RunError
from blockful_py.pipeline.run.finding import RUN_FILE, no_run
from blockful_py.report.passes import SamplePasses
from blockful_py.report.sections import (
    Accuracies,
    Address,
    ByParadigm,
    ChainsSection,
    Confusions,
    Count,
    DepthSection,
    ErasureSection,
    ForgetSection,
    GasSection,
    LearningCurve,
    MethodSection,
    ModelOutcome,
    OperationsCheck,
    PrivacySection,
    ReportPart,
    SecondsSection,
    VerificationSection,
)
from blockful_py.types import Paradigm, Position

FORMAT: Literal["blockful-report/1"] = "blockful-report/1"


class ModelEntry(ReportPart):
    """A model.

    Attributes:
        depth: steps from the nearest start; 0 for a start, null if not affected.
        affected: a start or a descendant of one.
        below_epsilon: affected, but left alone by the parallel paradigm because its update is too small.
        left_out: classes that earlier requests removed from it; ad_r is measured without them.
        privacy: privacy loss of its training before any unlearning; null if it added no noise.
        learning_curve: of the training before any unlearning; null if not kept, for example if private.
        parallel, sequential: null if the paradigm did not touch the model.
    """

    name: str
    user: int
    position: Position
    owner: Address
    references: tuple[str, ...]
    depth: Count | None
    affected: bool
    start: bool
    below_epsilon: bool = False
    left_out: tuple[int, ...] = ()
    cid: str
    privacy: PrivacySection | None = None
    learning_curve: LearningCurve | None = None
    before: Accuracies
    parallel: ModelOutcome | None = None
    sequential: ModelOutcome | None = None

    def after(self, paradigm: Paradigm) -> ModelOutcome | None:
        return self.parallel if paradigm is Paradigm.PARALLEL else self.sequential


class Report(ReportPart):
    """The complete report of a run.

    Attributes:
        excluded: members excluded from decisions because they cheated or failed, with the reasons.
        confusions: null for more than 30 classes; `blockful evaluate MODEL --json` gives a model's.
    """

    format: Literal["blockful-report/1"] = FORMAT
    seed: int
    scenario: str
    situation: str
    forget: ForgetSection
    method: ByParadigm[MethodSection]
    versions: dict[str, str]
    settings: dict[str, JsonValue]
    certificates: dict[Paradigm, str] = Field(default_factory=dict)
    excluded: dict[Paradigm, tuple[str, ...]] = Field(default_factory=dict)
    models: tuple[ModelEntry, ...]
    confusions: Confusions | None = None
    operations: ByParadigm[OperationsCheck]
    gas: GasSection
    depth: DepthSection
    seconds: SecondsSection
    passes: ByParadigm[SamplePasses] = ByParadigm[SamplePasses]()
    verification: VerificationSection
    erasure: ByParadigm[ErasureSection] = ByParadigm[ErasureSection]()
    chains: ChainsSection

    @model_validator(mode="after")
    def _names_agree(self) -> Report:
        names = [model.name for model in self.models]
        if len(set(names)) != len(names):
            raise ValueError("two models have one name")
        used = {reference for model in self.models for reference in model.references}
        unknown = sorted((used | set(self.forget.starts)) - set(names))
        if unknown:
            raise ValueError(f"references or starts that are not models: {', '.join(unknown)}")
        return self

    def in_all(self, seconds: float) -> Report:
        """The same report, with the seconds of the whole run."""
        timed = SecondsSection.model_validate(self.seconds.model_dump() | {"total": seconds})
        return self.model_copy(update={"seconds": timed})

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def to_bytes(self) -> bytes:
        """report.json: sorted keys, two spaces, UTF-8, a final newline."""
        return (json.dumps(self.to_json(), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Parses a report.  Raises RunError if the bytes are not a report of this version."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the whole file"
            raise RunError(
                f"this is not a {FORMAT} report: {where}: {first['msg']}. "
                "Use a report.json that this version of blockful has written, or run again."
            ) from error

    def without_times(self) -> dict[str, Any]:
        """The part that a second run with the same seed must repeat bit for bit."""
        return {key: value for key, value in self.to_json().items() if key != "seconds"}


def read_report(directory: Path) -> Report:
    """The report of a run directory.

    Raises RunError if it is missing or of another version.
    """
    path = directory / "report.json"
    try:
        return Report.from_bytes(path.read_bytes())
    except FileNotFoundError:
        if not (directory / RUN_FILE).exists():
            raise no_run(directory) from None
        raise RunError(f"the run {directory} has no report yet: `blockful unlearn` writes it.") from None
    except OSError as error:
        raise RunError(f"the report {path} cannot be read: {error.strerror or error}.") from error
