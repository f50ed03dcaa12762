# SPDX-License-Identifier: Apache-2.0
"""Parts of a model node: privacy spent, claims, stored increments, and the spot check of a training."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from blockful_py.crypto import eip712, signature
from blockful_py.crypto.spot_check import chance_of_catching
from blockful_py.ledger.replay import ReplayFinding, ReplayWord
from blockful_py.record.fields import Address, Part, Signature, Small
from blockful_py.types import Bytes32


class Privacy(Part):
    """(epsilon, delta)-differential privacy of the owner's training samples, as spent by one training.

    Each of `steps` batches had each sample with probability `sample_rate`, gradients of length at most
    `clip`, and noise of standard deviation `noise * clip`; epsilon follows from these and delta.
    """

    epsilon: float = Field(ge=0)
    delta: float = Field(gt=0, lt=1)
    noise: float = Field(gt=0)
    clip: float = Field(gt=0)
    sample_rate: float = Field(gt=0, le=1)
    steps: int = Field(ge=1)

    def __str__(self) -> str:
        return f"ε {self.epsilon:.3g}, δ {self.delta:g}"


class SharedClass(Part):
    """An owner's samples of one class, and the sealed files of the members' shares.

    `sums`: of the class's sums.  `rows`: of its samples' features, and of their rows.
    """

    label: Small
    samples: int = Field(ge=1, lt=1 << 31)
    sums: str
    rows: str


class SharedPart(Part):
    """An owner's part of a model whose sums are shared among members (`learning.shared_sums`).

    `epoch`: whose members have shares.  `proof`: the sealed file by which members checked the part; None in
    versions made by members.  `struck`: classes that requests struck out of the model, also where its
    references have them.
    """

    epoch: int = Field(ge=1)
    proof: str | None
    classes: tuple[SharedClass, ...]
    struck: tuple[Small, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> SharedPart:
        labels = [each.label for each in self.classes]
        if labels != sorted({*labels}) or list(self.struck) != sorted({*self.struck} - {*labels}):
            raise ValueError(
                "classes are named once each, in ascending order, and struck ones have no samples"
            )
        return self

    @property
    def files(self) -> tuple[str, ...]:
        """CIDs of its sealed files."""
        return (*(() if self.proof is None else (self.proof,)), *self.share_files)

    @property
    def share_files(self) -> tuple[str, ...]:
        """CIDs of the files of shares: of sums by class, then of samples by class."""
        return (*(each.sums for each in self.classes), *(each.rows for each in self.classes))


class Claimed(Part):
    """Figures on held-out data, in [0, 1]; `ad_f` and `logit_auc` are None if no class is forgotten.

    `chance`: the highest AD_r that is no better than chance (`chance_level`); None if unknown, and in
    older nodes.  `logit_auc`: AUC of a forgotten class's logit (`unlearning.audit.recognition.logit_auc`);
    None in older nodes.  `before`, `ad_f_before`, `logit_auc_before`: AD_r, AD_f and AUC of the replaced
    version; None if it has no weights, and in older nodes.  `samples`: number of samples behind AD_r; None
    without `before`.
    """

    ad_f: float | None = Field(ge=0, le=1)
    ad_r: float = Field(ge=0, le=1)
    chance: float | None = Field(default=None, gt=0, lt=1)
    before: float | None = Field(default=None, ge=0, le=1)
    samples: int | None = Field(default=None, ge=1)
    logit_auc: float | None = Field(default=None, ge=0, le=1)
    ad_f_before: float | None = Field(default=None, ge=0, le=1)
    logit_auc_before: float | None = Field(default=None, ge=0, le=1)

    @property
    def is_loss(self) -> bool:
        """Whether AD_r fell by more than chance explains.

        That is by over two standard errors of the difference, `2 sqrt(2 p (1 - p) / n)` with p the mean of
        both, as if n samples were drawn anew for each.  False if the version before was no better than
        chance.
        """
        if self.before is None or self.samples is None or self.before <= (self.chance or 0):
            return False
        mean = (self.before + self.ad_r) / 2
        return self.before - self.ad_r > 2 * math.sqrt(2 * mean * (1 - mean) / self.samples)

    @property
    def is_at_chance(self) -> bool:
        """Whether the model is no better than chance on the retained classes."""
        return self.chance is not None and self.ad_r <= self.chance

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        return {name: each for name, each in document.items() if name in ("ad_f", "ad_r") or each is not None}


class Increment(Part):
    """A clean increment that the owner stored with the model (`unlearning.stored_increments`).

    Attributes:
        label: class that the owner's own training left out.
        weights: CID of its sealed file.
        base: digest of the base that it is added to, 32 bytes in hexadecimal.
        claims: figures of its weights; None in older nodes.
        checkable: whether its batches were drawn from the commitment to the owner's samples
            (`training_trace.clean_seed`), so that the owner can show its training for a request.
    """

    label: int = Field(ge=0)
    weights: str
    base: str = Field(pattern=r"^[0-9a-f]{64}$")
    claims: Claimed | None = None
    checkable: bool = False

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        for name in ("claims", "checkable"):
            if not getattr(self, name):
                document.pop(name, None)
        return document

    def __str__(self) -> str:
        ad_f = None if self.claims is None else self.claims.ad_f
        return f"without class {self.label}" + ("" if ad_f is None else f": AD_f {ad_f:.1%}")


class SignedReplay(Part):
    """An auditor's word that a whole training leads to the committed states (`ledger.replay`).

    Attributes:
        auditor: its account, drawn among the auditors that the owner's statement names.
        commitment: digest of the CID by which the owner committed to the training, 32 bytes in hexadecimal.
        signature: 64 bytes in hexadecimal.
        disputed: intervals that auditors said to differ, and that members recomputed and found right.
    """

    auditor: Address
    commitment: str = Field(pattern=r"^[0-9a-f]{64}$")
    signature: Signature
    disputed: tuple[Small, ...] = ()

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        if not self.disputed:
            document.pop("disputed", None)
        return document

    def is_signed(self, request: Bytes32, position: int, domain: eip712.Domain) -> bool:
        """Whether the auditor signed it for a request and a model's packed position (`ledger.replay`)."""
        word = ReplayWord(request, position, bytes.fromhex(self.commitment), ReplayFinding.SAME, 0)
        digest = eip712.digest(domain, word)
        return signature.is_by(bytes.fromhex(self.auditor[2:]), digest, bytes.fromhex(self.signature[2:]))


class SpotCheck(Part):
    """The part of an owner's training for a request that was recomputed before members signed.

    Attributes:
        disclosure: CID of the sealed file that discloses it to members; of a replayed training only the
            trace, the leaves and disputed intervals.
        intervals: number of intervals of the training.
        challenged: number of intervals that were drawn and recomputed.
        replay: the word of the auditor that recomputed all of them; None if members recomputed them.
        from_initial: whether all trainings for the request that its start rests on were checked too, down to
            the initial weights.  Members compute this as well.
    """

    disclosure: str
    intervals: int = Field(ge=1, le=1 << 16)
    challenged: int = Field(ge=1)
    from_initial: bool = False
    replay: SignedReplay | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        for name in ("from_initial", "replay"):
            if not getattr(self, name):
                document.pop(name, None)
        return document

    @model_validator(mode="after")
    def _some_of_them(self) -> SpotCheck:
        if self.challenged > self.intervals:
            raise ValueError("more intervals are challenged than there are")
        if self.replay is not None and self.challenged < self.intervals:
            raise ValueError("a replay is of all intervals")
        disputed = self.replay.disputed if self.replay is not None else ()
        if list(disputed) != sorted({*disputed}) or any(each >= self.intervals for each in disputed):
            raise ValueError("disputed intervals are named in order, each once, among those there are")
        return self

    @property
    def chance(self) -> float:
        """Probability that a forged training would have been caught, from 0 to 1; 1 by an honest auditor."""
        return chance_of_catching(self.intervals, self.challenged)

    def __str__(self) -> str:
        percent = math.floor(100 * self.chance)
        start = "so were all trainings for the request that it starts from"
        if not self.from_initial:
            start = "not all that it starts from was checked"
        if self.replay is not None:
            disputed = ", ".join(map(str, self.replay.disputed))
            settled = (
                f"; members recomputed interval {disputed}, which an auditor had disputed" if disputed else ""
            )
            return (
                f"replayed whole, all {self.intervals} intervals, by the auditor {self.replay.auditor}, "
                f"drawn after its owner had committed to all{settled}; {start}"
            )
        return (
            f"{self.challenged} of {self.intervals} intervals of the training, drawn after its owner had "
            "committed to all, were computed again; a forged training is caught with a probability of "
            f"{percent} % or more; {start}"
        )
