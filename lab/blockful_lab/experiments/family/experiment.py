# SPDX-License-Identifier: Apache-2.0
"""Measures the knowledge of an owner's texts in families of language models, before and after a request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from transformers.utils import logging

from blockful_lab.experiments.family.corpus import HELD_OUT, Corpus, prompt_of
from blockful_lab.experiments.family.forgetting import MODELS, RECOMPUTED, Forgotten, forget_owner
from blockful_lab.experiments.family.making import make_base, make_family
from blockful_lab.experiments.family.masking import mask, weaken
from blockful_lab.experiments.family.members import CHEATS, HEIRS, LEAVER, MERGES, PAIR, STAYING, WEAKENED
from blockful_lab.experiments.machine import THREADS
from blockful_lab.experiments.seeds import parse_seeds
from blockful_py.errors import SettingsError
from blockful_py.learning.device import use_threads
from blockful_py.pipeline.run.progress import Progress
from blockful_py.unlearning.audit import TextAudit, audit_texts
from blockful_py.unlearning.audit.folder_figures import FORGOTTEN, UNLEARNED
from blockful_py.unlearning.audit.margins import LEAST_MODELS
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL
from blockful_py.whole_file import write_whole

OTHER_SEEDS = {GOLD: 10_000, GOLD2: 20_000}
"""Added to a family's seed for families that never had the owner."""
DONE = "forgotten.json"


@dataclass(frozen=True, slots=True)
class FamilyMeasures:
    """Outcome of an experiment.

    Attributes:
        forgotten: by seed.
        audits: by heir, and of dishonest owners of the pair by their name.
    """

    forgotten: Mapping[int, Forgotten]
    audits: Mapping[str, TextAudit]


def require_seeds(texts: Sequence[str]) -> tuple[int, ...]:
    """The seeds that a user wrote.  Raises SettingsError: as `parse_seeds`, or fewer than 4, or far ones."""
    seeds = parse_seeds(texts)
    if len(seeds) < LEAST_MODELS or seeds[-1] >= OTHER_SEEDS[GOLD]:
        raise SettingsError(
            f"KLoM needs at least {LEAST_MODELS} families: name as many seeds, below {OTHER_SEEDS[GOLD]:,}."
        )
    return seeds


def measure(output: Path, seeds: Sequence[int], progress: Progress) -> FamilyMeasures:
    """Makes and audits a family for each seed, all from one base and one corpus, which the first seed draws.

    A rerun skips families that are done.  Raises as `forget_owner` and `audit_texts`.
    """
    use_threads(THREADS)
    logging.disable_progress_bar()
    corpus, base = Corpus.drawn(seeds[0]), output / f"base-{seeds[0]}"
    if not base.exists():
        partial = base.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        make_base(partial, corpus, seeds[0])
        partial.rename(base)
    forgotten = {}
    for seed in seeds:
        forgotten[seed] = _family(output / f"seed-{seed}", base, corpus, seed, progress)
    audits = {heir: _audited(output, heir, seeds, corpus) for heir in HEIRS}
    losses = {each.model: each.loss[FORGOTTEN] for each in audits[PAIR].rows[GOLD]}
    for cheat in CHEATS:
        with progress.stage(f"cheat: {cheat}", len(seeds), "models") as advance:
            for seed in seeds:
                made = output / f"seed-{seed}" / cheat / PAIR
                shutil.rmtree(made, ignore_errors=True)
                models = output / f"seed-{seed}" / MODELS
                if cheat == WEAKENED:
                    weaken(made, models, LEAVER)
                else:
                    mask(made, models, *_texts(corpus, PAIR), losses[f"seed-{seed}"])
                advance(1)
        audits[cheat] = _audited(output, PAIR, seeds, corpus, cheat)
    return FamilyMeasures(forgotten, audits)


def _family(folder: Path, base: Path, corpus: Corpus, seed: int, progress: Progress) -> Forgotten:
    done = folder / DONE
    if done.exists():
        return Forgotten(**json.loads(done.read_text(encoding="utf-8")))
    found = forget_owner(folder, base, corpus, seed, progress)
    for kind, shift in OTHER_SEEDS.items():
        make_family(folder / kind, base, corpus, STAYING, seed + shift)
    write_whole(done, json.dumps(asdict(found)))
    return found


def _audited(
    output: Path, heir: str, seeds: Sequence[int], corpus: Corpus, unlearned: str = RECOMPUTED
) -> TextAudit:
    folder = output / "audit" / (heir.replace("/", "--") if unlearned == RECOMPUTED else unlearned)
    shutil.rmtree(folder, ignore_errors=True)
    places = {ORIGINAL: MODELS, UNLEARNED: unlearned, GOLD: GOLD, GOLD2: GOLD2}
    for kind, place in places.items():
        for seed in seeds:
            shutil.copytree(output / f"seed-{seed}" / place / heir, folder / kind / f"seed-{seed}")
    forget, retain = _texts(corpus, heir)
    return audit_texts(folder, forget, retain, corpus.texts[HELD_OUT], [*map(prompt_of, forget)])


def _texts(corpus: Corpus, heir: str) -> tuple[list[str], list[str]]:
    """The leaver's texts, and the texts of the heir's other owners."""
    owners = MERGES.get(heir, MERGES[PAIR])
    retain = [text for owner in owners if owner != LEAVER for text in corpus.texts[owner]]
    return [*corpus.texts[LEAVER]], retain
