# SPDX-License-Identifier: Apache-2.0
"""Figures of language models in a folder, as values and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.unlearning.audit.folder_figures import FORGOTTEN
from blockful_py.unlearning.audit.klom import Klom
from blockful_py.unlearning.audit.ulira import ULira
from blockful_py.verdicts.references import GOLD
from blockful_py.verdicts.statistics import Estimate

RETAINED, HELD_OUT = "retain", "held_out"
SPLITS = (FORGOTTEN, RETAINED, HELD_OUT)


@dataclass(frozen=True, slots=True)
class TextFigures:
    """Figures of one language model.

    Attributes:
        loss: mean negative log-likelihood of a token by samples (forget, retain, held_out), in nats.
        extracted: share of forgotten texts whose rest it completes verbatim from the prompt; None without
            prompts.
        auc: probability that a forgotten text is likelier, by the token, than a held-out one.
    """

    model: str
    loss: Mapping[str, float]
    extracted: float | None
    auc: float

    def perplexity(self, samples: str) -> float:
        """exp(loss)."""
        return float(np.exp(self.loss[samples]))


@dataclass(frozen=True, slots=True, eq=False)
class TextAudit:
    """Figures of the language models in a folder; `str` shows their means as a table.

    Attributes:
        rows: by kind, a value for each model.
        klom: by kind, then by samples, against gold; empty with fewer than 4 models, or without gold.
        u_lira: by kind, on the forgotten texts against gold; empty as `klom`.
        above_floor: mean KLoM of unlearned models on the forgotten texts minus gold2's; None without them.
    """

    rows: Mapping[str, tuple[TextFigures, ...]]
    klom: Mapping[str, Mapping[str, Klom]]
    u_lira: Mapping[str, ULira]
    above_floor: Estimate | None

    def __str__(self) -> str:
        return "\n".join(_lines(self))


TITLES = (
    "models",
    *(f"perplexity {name}" for name in SPLITS),
    *("extracted", "AUC", "KLoM mean", "KLoM P95", "U-LiRA AUC"),
)


def _lines(found: TextAudit) -> Iterator[str]:
    yield "  ".join(TITLES)
    for kind, models in found.rows.items():
        cells = [_mean([each.perplexity(name) for each in models]) for name in SPLITS]
        cells += [_mean([each.extracted for each in models]), _mean([each.auc for each in models])]
        far, attack = found.klom.get(kind), found.u_lira.get(kind)
        cells += [f"{far[FORGOTTEN].mean:.2f}", f"{far[FORGOTTEN].p95:.2f}"] if far else ["-", "-"]
        cells.append(f"{attack.auc.value:.3f}" if attack else "-")
        yield "  ".join(cell.rjust(len(title)) for cell, title in zip((kind, *cells), TITLES, strict=True))
    if found.above_floor is not None:
        above = found.above_floor
        yield (
            f"KLoM of unlearned models on forgotten texts above retraining from another seed: "
            f"{above.value:.2f} nats ({above.low:.2f} to {above.high:.2f})."
        )
    elif GOLD not in found.rows:
        yield "Without gold, models that never had the texts, no figure says whether they were forgotten."


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.3f}" if known else "-"
