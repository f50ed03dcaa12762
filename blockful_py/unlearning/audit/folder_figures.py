# SPDX-License-Identifier: Apache-2.0
"""Figures of a folder of models, as values and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blockful_py.unlearning.audit.klom import Klom
from blockful_py.unlearning.audit.margins import LEAST_MODELS
from blockful_py.unlearning.audit.ulira import ULira
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL

UNLEARNED = "unlearned"
FOLDERS = (ORIGINAL, UNLEARNED, GOLD, GOLD2)
FORGOTTEN = "forget"


@dataclass(frozen=True, slots=True, eq=False)
class FolderAudit:
    """Figures of the models in a folder; `str` shows them as a table.

    Attributes:
        models: number of models of each kind.
        rows: figures by kind and model.  Divergence, distance and, for samples, relearning are NaN or None
            without the models that they compare with.
        outcome: the audit's document with a verdict, if all four kinds are there, at least 4 models each.
        klom: by kind, then by samples (forget, retain, held_out), against gold; empty with fewer than 4
            models, or without gold.
        u_lira: by kind, on the forgotten samples against gold; empty as `klom`.
    """

    models: int
    rows: tuple[Row, ...]
    outcome: AuditOutcome | None
    klom: Mapping[str, Mapping[str, Klom]]
    u_lira: Mapping[str, ULira]

    def __str__(self) -> str:
        return "\n".join(_lines(self))


COLUMNS: tuple[tuple[str, str], ...] = (
    ("AD_f train", "ad_f_train"), ("AD_f test", "ad_f_test"), ("AD_r train", "ad_r_train"),
    ("AD_r test", "ad_r_test"), ("membership", "membership"), ("AUC", "auc"), ("relearn", "relearn"),
    ("divergence", "divergence"),
)  # fmt: skip


def _lines(found: FolderAudit) -> Iterator[str]:
    titles = ["models", *(title for title, _ in COLUMNS), "KLoM P95", "U-LiRA AUC"]
    yield "  ".join(titles)
    for row in found.rows:
        cells = [_mean([getattr(model, name) for model in row.models]) for _, name in COLUMNS]
        far, attack = found.klom.get(row.method), found.u_lira.get(row.method)
        cells += [f"{far[FORGOTTEN].p95:.2f}" if far else "-", f"{attack.auc.value:.3f}" if attack else "-"]
        widths = [len(title) for title in titles]
        yield "  ".join(cell.rjust(width) for cell, width in zip((row.method, *cells), widths, strict=True))
    if found.outcome is not None:
        yield f"Verdict: {found.outcome.verdict()}."
    else:
        yield (
            f"No verdict: it needs {', '.join(FOLDERS)}, {LEAST_MODELS} models each; there are "
            f"{', '.join(row.method for row in found.rows)}, {found.models} each."
        )


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return f"{sum(known) / len(known):.3f}" if known else "-"
