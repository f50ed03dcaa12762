# SPDX-License-Identifier: Apache-2.0
"""A family on a record of its own: adopted, asked to forget an owner's texts, and computed again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blockful_lab.experiments.family.corpus import Corpus
from blockful_lab.experiments.family.making import WEIGHTS, make_family
from blockful_lab.experiments.family.members import HEIRS, LEAVER, OWNERS, STAYING, dataset_of
from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.adopt.recomputing import lent, recompute
from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.progress import Progress
from blockful_py.record.reach import reach
from blockful_py.settings import Settings

MODELS, RECOMPUTED, NEVER, RUN = "models", "recomputed", "never", "run"
"""Folders: the family, the models that were computed again, a family without the owner, the record."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Outcome of a request.

    Attributes:
        remedies: by reached model, how it is made again.
        same_bits: by heir, whether the file computed again equals the file of a family that never had the
            owner, made from the same seed.
        left: by model, why it was not computed again.
        verified: whether the record verifies.
    """

    remedies: Mapping[str, str]
    same_bits: Mapping[str, bool]
    left: Mapping[str, str]
    verified: bool


def forget_owner(folder: Path, base: Path, corpus: Corpus, seed: int, progress: Progress) -> Forgotten:
    """Makes a family in `folder`, puts it on a record, and has it forget the owner; starts afresh there.

    Raises as `Federation.create`, `Federation.adopt` and `Federation.unlearn`.
    """
    shutil.rmtree(folder, ignore_errors=True)
    make_family(folder / MODELS, base, corpus, OWNERS, seed)
    make_family(folder / NEVER, base, corpus, STAYING, seed)
    settings = Settings.load(None, [*SETTINGS, "chain.devnet=embedded", "chain.packaging_interval=0"])
    with Federation.create(settings, folder / RUN) as federation:
        found = read_folder(folder / MODELS)
        publish(federation, plan_adoption(found, federation.catalogue()), progress)
        asked = [dataset_of(LEAVER)]
        reached = reach(federation.catalogue(), asked).remedies
        federation.unlearn(forget=Forget.of_datasets(asked), progress=progress)
        done = recompute(federation.catalogue(), folder / MODELS, folder / RECOMPUTED)
        with lent(federation.context.stores.live, done.files):
            publish(federation, done.plan, progress)
        return Forgotten(
            {name: remedy.value for name, remedy in reached.items()},
            {heir: _same(folder, heir) for heir in HEIRS},
            dict(done.left),
            federation.verify().passed,
        )


def _same(folder: Path, heir: str) -> bool:
    made, never = (folder / place / heir / WEIGHTS for place in (RECOMPUTED, NEVER))
    return made.is_file() and made.read_bytes() == never.read_bytes()
