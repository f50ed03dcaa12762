# SPDX-License-Identifier: Apache-2.0
"""The sections of a report.  Accuracies are percentages (0 to 100), gas is in gas units, times in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Generic, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from blockful_py.types import Checked, Paradigm

Percent = Annotated[float, Field(ge=0, le=100), AfterValidator(lambda value: round(value, 4) + 0.0)]
Share = Annotated[float, Field(ge=0, le=1), AfterValidator(lambda value: round(value, 6) + 0.0)]
Seconds = Annotated[float, Field(ge=0), AfterValidator(lambda value: round(value, 3) + 0.0)]
Norm = Annotated[float, Field(ge=0), AfterValidator(lambda value: float(f"{value:.9g}"))]
Address = Annotated[str, Field(pattern=r"^0x[0-9a-fA-F]{40}$")]
Count = Annotated[int, Field(ge=0)]


class ReportPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Section = TypeVar("Section")


class ByParadigm(ReportPart, Generic[Section]):
    """One section per paradigm; null for a paradigm that did not run."""

    parallel: Section | None = None
    sequential: Section | None = None

    def each(self) -> Iterator[tuple[Paradigm, Section]]:
        """The paradigms that ran, parallel first."""
        for paradigm in Paradigm:
            section = self.of(paradigm)
            if section is not None:
                yield paradigm, section

    def of(self, paradigm: Paradigm) -> Section | None:
        return self.parallel if paradigm is Paradigm.PARALLEL else self.sequential


class ForgetSection(ReportPart):
    """Data to be forgotten (labels, users, or samples as user:row), and the start models."""

    classes: tuple[int, ...]
    clients: tuple[int, ...] = ()
    samples: tuple[str, ...] = ()
    starts: tuple[str, ...]


class MethodSection(ReportPart):
    """A request's method.

    Attributes:
        checked: members' checks of its results before they signed; unknown in older reports.
        reason: why "auto" chooses it here; null if "auto" would choose another method.
        caveat: data it is known not to forget in this situation; null if unknown.
    """

    name: str
    settings: dict[str, JsonValue] = {}
    checked: Checked | None = None
    reason: str | None = None
    caveat: str | None = None


class Accuracies(ReportPart):
    """Accuracy on the forgotten (ad_f) and the retained classes (ad_r), on held-out and training data.

    Attributes:
        at_chance: whether ad_r is no better than chance (`chance_level`); false in older reports.
        per_class: on held-out data, by label; null for a class without samples there.
        calibration_error: expected calibration error on held-out data.
        membership_auc: AUC of telling forgotten training samples from held-out samples of their classes;
            0.5 by chance, null if whole classes are forgotten.
        logit_auc: AUC of a forgotten class's logit, as members measured it (`Claimed.logit_auc`); null for
            models that were not replaced.
    """

    ad_f: Percent | None = None
    ad_r: Percent | None = None
    ad_f_train: Percent | None = None
    ad_r_train: Percent | None = None
    at_chance: bool = False
    per_class: tuple[Percent | None, ...] = ()
    calibration_error: Percent | None = None
    membership_auc: Share | None = None
    logit_auc: Share | None = None


class LearningCurve(ReportPart):
    """Progress of a training on its own samples, by epoch: mean loss in nats, and accuracy."""

    loss: tuple[Norm, ...]
    accuracy: tuple[Percent, ...]


Table = tuple[tuple[Count, ...], ...]

READABLE_CLASSES = 30
"""Maximum number of classes in a table for people; larger confusion matrices are unreadable."""


class Confusions(ReportPart):
    """Held-out samples by true (row) and predicted (column) class, summed over starts and affected models.

    A model that a paradigm left alone counts as before.
    """

    before: Table
    parallel: Table | None = None
    sequential: Table | None = None


class ModelOutcome(Accuracies):
    """A model after unlearning; `version` counts its redactions, `cid` names its weights."""

    version: Count
    cid: str


class PrivacySection(ReportPart):
    """(epsilon, delta)-differential privacy of the owner's training samples in one training."""

    epsilon: Annotated[float, Field(ge=0)]
    delta: Annotated[float, Field(gt=0, lt=1)]

    def __str__(self) -> str:
        return f"ε {self.epsilon:.3g}, δ {self.delta:g}"


class Counted(Protocol):
    """Counters of operations, such as `costs.Operations`."""

    @property
    def ch_transactions(self) -> int: ...
    @property
    def ch_blocks(self) -> int: ...
    @property
    def consensus(self) -> int: ...
    @property
    def uploads(self) -> int: ...
    @property
    def downloads(self) -> int: ...


class OperationCounts(ReportPart):
    """The counters of `costs.Operations`."""

    model_config = ConfigDict(from_attributes=True)

    ch_transactions: Count
    ch_blocks: Count
    consensus: Count
    uploads: Count
    downloads: Count


class OperationsCheck(ReportPart):
    """Operations as counted, and as in the paper's formula."""

    counted: OperationCounts
    formula: OperationCounts

    @classmethod
    def of(cls, counted: Counted, formula: Counted) -> OperationsCheck:
        return cls(
            counted=OperationCounts.model_validate(counted), formula=OperationCounts.model_validate(formula)
        )

    @property
    def equal(self) -> bool:
        return self.counted == self.formula


class Gas(ReportPart):
    """Gas on the archive chain, on the live chain, in total, and per model."""

    archive: Count
    live: Count
    total: Count
    per_model: Count
    transactions: Count

    @classmethod
    def spent(cls, *, archive: int, live: int, models: int, transactions: int) -> Gas:
        """Gas of `transactions` on both chains for `models`, which may be 0."""
        total = archive + live
        per_model = -(-total // models) if models else 0
        return cls(archive=archive, live=live, total=total, per_model=per_model, transactions=transactions)


class GasSection(ByParadigm[Gas]):
    publication: Gas


class DepthSection(ReportPart):
    """Bound of theorem 1 (eq.  16) and the observed depth; |delta| is the largest among the starts."""

    bound: Count | None
    observed: Count
    epsilon: Norm
    delta_norm: Norm | None


class ErasedVersion(ReportPart):
    """A replaced version: CIDs of its sealed weights and of the increments stored with them."""

    name: str
    version: Count
    weights: str
    increments: tuple[str, ...] = ()


class ErasureSection(ReportPart):
    """Outcome of the destruction of keys of replaced versions.

    Attributes:
        destroyed: members that no longer have any of the keys.
        silent: unreachable members with reasons; they destroy the keys when they are back.
        auditors: accounts that have keys to copies in the archive.
        said: a complete summary in words.
    """

    versions: tuple[ErasedVersion, ...]
    destroyed: tuple[Address, ...]
    silent: dict[Address, str] = {}
    auditors: tuple[Address, ...] = ()
    said: str


class SecondsSection(ReportPart):
    """Wall-clock seconds by stage; a paradigm's stages are named as in `STAGES`.

    A stage that another command ran has 0, such as training in a report of `unlearn`.
    """

    setup: Seconds
    train: Seconds
    publish: Seconds
    parallel: dict[str, Seconds] = {}
    sequential: dict[str, Seconds] = {}
    verify: Seconds
    total: Seconds = 0.0

    def of(self, paradigm: Paradigm) -> dict[str, float]:
        return self.parallel if paradigm is Paradigm.PARALLEL else self.sequential


STAGES = ("unlearn", "store", "certify", "archive", "live", "audit")
"""Stages of a paradigm in display order; others follow by name."""


class FailedCheck(ReportPart):
    """A failed check: its subject, its name, and the reason."""

    subject: str
    check: str
    detail: str


class VerificationRun(ReportPart):
    """Number of checked models, and the failures."""

    checked: Count
    failed: tuple[FailedCheck, ...] = ()


class VerificationSection(ByParadigm[VerificationRun]):
    """Verification after publication and after each paradigm, and their totals."""

    published: VerificationRun | None = None
    checked: Count
    failed: tuple[FailedCheck, ...]

    @classmethod
    def of_runs(
        cls,
        *,
        published: VerificationRun | None = None,
        parallel: VerificationRun | None = None,
        sequential: VerificationRun | None = None,
    ) -> VerificationSection:
        runs = [run for run in (published, parallel, sequential) if run is not None]
        return cls(
            published=published,
            parallel=parallel,
            sequential=sequential,
            checked=sum(run.checked for run in runs),
            failed=tuple(failure for run in runs for failure in run.failed),
        )


class Chain(ReportPart):
    chain_id: Count
    client: str
    contracts: dict[str, Address]


class ChainsSection(ReportPart):
    live: Chain
    archive: Chain
