# SPDX-License-Identifier: Apache-2.0
"""Checks and attacks that the audits of folders share, for models of images and of texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blockful_py.errors import UnlearningError
from blockful_py.unlearning.audit.folder_figures import FOLDERS, FORGOTTEN, UNLEARNED
from blockful_py.unlearning.audit.klom import Klom, klom
from blockful_py.unlearning.audit.margins import LEAST_MODELS
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.audit.ulira import ULira, u_lira
from blockful_py.verdicts.references import GOLD, ORIGINAL


def kinds_in(folder: Path) -> list[str]:
    """The kinds of models that a folder has; `unlearned` always."""
    return [kind for kind in FOLDERS if kind == UNLEARNED or (folder / kind).exists()]


def require_same_names(folder: Path, kinds: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuses kinds whose models have different names.  Raises UnlearningError."""
    for kind, models in kinds.items():
        odd = sorted(models.keys() ^ kinds[UNLEARNED].keys())
        if odd:
            where = kind if odd[0] not in models else UNLEARNED
            raise UnlearningError(
                f"{folder} has no model {odd[0]!r} in {where}: give {kind} and {UNLEARNED} the same names."
            )


def require_made_separately(digests: Mapping[str, Mapping[str, str]]) -> None:
    """Refuses copies, which would make few models look like many, or gold look like the unlearned ones.

    Args:
        digests: of all weights, by kind and name.

    Raises UnlearningError.
    """
    seen: dict[str, str] = {}
    for kind, models in digests.items():
        for name, digest in models.items():
            place = f"{kind}/{name}"
            other = seen.setdefault(digest, place)
            if other != place and (other, place) != (f"{ORIGINAL}/{name}", f"{UNLEARNED}/{name}"):
                raise UnlearningError(
                    f"{other} and {place} are the same model: give models that were trained separately, each "
                    "from a seed of its own."
                )


def attacked(
    margins: Mapping[str, Mapping[str, Floats]],
) -> tuple[dict[str, dict[str, Klom]], dict[str, ULira]]:
    """KLoM and U-LiRA of every kind but gold, against gold; empty without gold, or with fewer than 4 models.

    Args:
        margins: (S, n) by kind and by samples, `forget` among them.
    """
    others = dict(margins)
    gold = others.pop(GOLD, None)
    if gold is None or len(gold[FORGOTTEN]) < LEAST_MODELS:
        return {}, {}
    return (
        {kind: {name: klom(own[name], gold[name]) for name in own} for kind, own in others.items()},
        {kind: u_lira(own[FORGOTTEN], gold[FORGOTTEN]) for kind, own in others.items()},
    )
