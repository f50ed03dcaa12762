# SPDX-License-Identifier: Apache-2.0
"""The audit's outcome as a document, which a certificate states and a committee signs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from blockful_py.errors import FormatError
from blockful_py.types import Bytes32
from blockful_py.verdicts.draw import Draw, commitment
from blockful_py.verdicts.figures import ModelFigures, Row
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL, RESAMPLED
from blockful_py.verdicts.verdict import Verdict, judge, place

FORMAT = "blockful-audit/3"
DIGITS = 6
"""Decimals of figures; rounding keeps noise in the last bits out of the bytes."""


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """One method's audit on one request; everything else follows from the figures.

    Attributes:
        request: the data to forget, e.g. `class 3`.
        starts: starts of the request.
        method: name and settings, e.g. `gradient_ascent(alpha=1.0)`.
        samples: SHA-256 over the audit's samples, hex.
        seed: seed of gold, of gold2 and of the lessons.
        row: the method's figures.
        references: the rows of `references.rows_for`.
        uneven: weights whose scales an owner could choose; `relearn` and `distance` follow such a choice.
        draw: origin of the seed; None if the seed was known before the weights were made.
    """

    request: str
    starts: tuple[str, ...]
    method: str
    samples: str
    seed: int
    row: Row
    references: tuple[Row, ...]
    uneven: tuple[str, ...] = ()
    draw: Draw | None = None

    def verdict(self) -> Verdict:
        """The verdict on the method, over all models of this request."""
        gold, gold2, original = (self.reference(name) for name in (GOLD, GOLD2, ORIGINAL))
        names = {row.method for row in self.references}
        resampled = place(self.reference(RESAMPLED), gold, original) if RESAMPLED in names else None
        method, floor = place(self.row, gold, original), place(gold2, gold, original)
        return judge(method, floor, HEAD_MASK in names, resampled)

    def reference(self, name: str) -> Row:
        """A reference row.  Raises FormatError if it is missing."""
        for row in self.references:
            if row.method == name:
                return row
        raise FormatError(f"this audit has no reference row {name!r}: measure it again, with all of them.")

    def require_draw(self) -> None:
        """Checks that seed and weights follow from the draw, if there is one.  Raises FormatError."""
        if self.draw is None:
            return
        if self.seed != self.draw.seed:
            raise FormatError(f"the seed {self.seed} of this audit is not the drawn one, {self.draw.seed}.")
        if dict(self.draw.committed).get(self.method) != commitment_of(self.row):
            raise FormatError(f"the weights of {self.method!r} in this audit were not committed to.")

    def canonical(self) -> bytes:
        """The bytes to sign: JSON, keys sorted, no spaces, figures with 6 decimals, the verdict included."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    def digest(self) -> Bytes32:
        """SHA-256 of the canonical bytes, 32 bytes, which certificates embed and committees sign."""
        return hashlib.sha256(self.canonical()).digest()

    def to_json(self) -> dict[str, Any]:
        verdict = self.verdict()
        return {
            "format": FORMAT,
            "request": self.request,
            "starts": list(self.starts),
            "method": self.method,
            "samples": self.samples,
            "seed": self.seed,
            "row": row_to_json(self.row),
            "references": [row_to_json(row) for row in self.references],
            "uneven": list(self.uneven),
            "draw": None if self.draw is None else self.draw.to_json(),
            "verdict": {
                "forgotten": verdict.forgotten,
                "intact": verdict.intact,
                "reasons": list(verdict.reasons),
            },
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AuditOutcome:
        """Parses the output of `to_json`.

        Raises FormatError: another format, a missing field, a verdict that contradicts its figures, or a seed
        or weights that contradict the draw.
        """
        if document.get("format") != FORMAT:
            raise FormatError(
                f"expected an audit of format {FORMAT!r}, found {document.get('format')!r}: another version "
                "judges by other rules; audit the models again."
            )
        try:
            outcome = cls(
                request=document["request"],
                starts=tuple(document["starts"]),
                method=document["method"],
                samples=document["samples"],
                seed=document["seed"],
                row=row_from_json(document["row"]),
                references=tuple(row_from_json(row) for row in document["references"]),
                uneven=tuple(document["uneven"]),
                draw=None if document["draw"] is None else Draw.of(document["draw"]),
            )
            stated = document["verdict"]
        except (KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"this audit is incomplete: {error}.") from None
        outcome.require_draw()
        if stated != outcome.to_json()["verdict"]:
            raise FormatError("the verdict of this audit does not follow from its figures: do not trust it.")
        return outcome


def commitment_of(row: Row) -> str:
    """The commitment to a row's weights."""
    return commitment((model.model, model.weights) for model in row.models)


def row_to_json(row: Row) -> dict[str, Any]:
    return {"method": row.method, "models": [_figures_to_json(model) for model in row.models]}


def row_from_json(document: Mapping[str, Any]) -> Row:
    """Parses a row.  Raises FormatError if fields are missing, unknown, or of another type."""
    models = document["models"]
    if not isinstance(models, Sequence):
        raise FormatError("the models of a row must be a list.")
    return Row(document["method"], tuple(_figures_from_json(model) for model in models))


def _figures_to_json(model: ModelFigures) -> dict[str, Any]:
    return {
        key: round(value, DIGITS) if isinstance(value, float) else value
        for key, value in asdict(model).items()
    }


def _figures_from_json(document: Mapping[str, Any]) -> ModelFigures:
    expected = {field.name for field in fields(ModelFigures)}
    if set(document) != expected:
        odd = sorted(expected ^ set(document))
        raise FormatError(f"a model's figures should be {sorted(expected)}; look at {odd}.")
    return ModelFigures(**document)
