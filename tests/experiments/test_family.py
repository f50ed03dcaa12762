# SPDX-License-Identifier: Apache-2.0
"""A family of small language models that transformers and peft make forgets an owner, with the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from blockful_lab.experiments.family.corpus import OWN_TEXTS, WORDS, Corpus, prompt_of
from blockful_lab.experiments.family.experiment import require_seeds
from blockful_lab.experiments.family.forgetting import MODELS, RECOMPUTED, Forgotten, forget_owner
from blockful_lab.experiments.family.making import make_base
from blockful_lab.experiments.family.members import BASE, HALF, HEIRS, LEAVER, adapter_of
from blockful_py.errors import SettingsError
from blockful_py.learning.adapters import AdaptedTensors
from blockful_py.learning.language_model import read_language_model
from blockful_py.pipeline.run.progress import Silent
from blockful_py.unlearning.audit.texts import score

SEED = 0


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.drawn(SEED)


@pytest.fixture(scope="module")
def family(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Forgotten]]:
    logging.disable_progress_bar()
    root = tmp_path_factory.mktemp("family")
    make_base(root / "base", corpus, SEED)
    yield root / "it", forget_owner(root / "it", root / "base", corpus, SEED, Silent())
    logging.enable_progress_bar()


def test_no_person_is_in_two_texts(corpus: Corpus) -> None:
    texts = [text for listed in corpus.texts.values() for text in listed]
    assert len({text.partition(" of ")[0] for text in texts}) == len(texts)
    assert {word for text in texts for word in text.split()} <= {*WORDS}
    assert all(text.startswith(prompt_of(text)) and len(prompt_of(text)) < len(text) for text in texts)
    assert Corpus.drawn(1).texts != corpus.texts == Corpus.drawn(SEED).texts


def test_the_owner_is_forgotten_with_the_bits_of_a_family_that_never_had_it(
    family: tuple[Path, Forgotten],
) -> None:
    folder, found = family
    assert found.remedies == {
        "ann--notes": "withdrawn",
        "gil--pair": "recomputed",
        "hal--all": "recomputed",
        "ida--pair-half": "recomputed",
    }
    assert found.same_bits == dict.fromkeys(HEIRS, True)
    assert not found.left
    assert found.verified
    files = [folder / place / heir / "model.safetensors" for place in (MODELS, RECOMPUTED) for heir in HEIRS]
    assert len({path.read_bytes() for path in files}) == len(files)


def test_the_codes_are_extracted_before_and_not_after(family: tuple[Path, Forgotten], corpus: Corpus) -> None:
    folder, _ = family
    texts = corpus.texts[LEAVER]
    shares = {}
    for place in (MODELS, RECOMPUTED):
        model = read_language_model(folder / place / HALF)
        tokenised = model.tokenised(texts, [*map(prompt_of, texts)])
        shares[place] = sum(score(model, each).is_extracted for each in tokenised) / OWN_TEXTS
    assert shares[MODELS] > 0.3
    assert shares[RECOMPUTED] == 0


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_an_adapter_is_applied_as_peft_applies_it(family: tuple[Path, Forgotten]) -> None:
    """PEFT multiplies in float32, so its numbers differ by rounding alone."""
    models = family[0] / MODELS
    folder = models / adapter_of(LEAVER)
    base = AutoModelForCausalLM.from_pretrained(models / BASE)
    merged = PeftModel.from_pretrained(base, folder).merge_and_unload().state_dict()
    stored = load_file(models / BASE / "model.safetensors")
    found = AdaptedTensors(stored, load_file(folder / "adapter_model.safetensors"), 2.0)
    assert merged.keys() == found.keys()
    assert any(not torch.equal(merged[name], stored[name]) for name in merged)
    for name in merged:
        assert torch.allclose(merged[name], found[name], rtol=1e-5, atol=1e-6), name


@pytest.mark.parametrize(
    ("texts", "said"), [(["5-7"], "at least 4"), (["5-8,10000"], "below 10,000"), (["0-3"], "for tuning")]
)
def test_seeds_that_give_no_attack_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        require_seeds(texts)
