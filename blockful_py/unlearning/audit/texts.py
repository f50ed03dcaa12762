# SPDX-License-Identifier: Apache-2.0
"""The audit of a folder of causal language models that anybody made, on texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.special import log_expit

from blockful_py.errors import UnlearningError
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.language_model import LanguageModel, TokenisedText, read_language_model
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.folder_figures import FORGOTTEN, UNLEARNED
from blockful_py.unlearning.audit.kinds import (
    attacked,
    kinds_in,
    require_made_separately,
    require_same_names,
)
from blockful_py.unlearning.audit.klom import above_floor
from blockful_py.unlearning.audit.margins import LEAST_MODELS, margins
from blockful_py.unlearning.audit.network import Floats
from blockful_py.unlearning.audit.text_figures import HELD_OUT, RETAINED, SPLITS, TextAudit, TextFigures
from blockful_py.verdicts.references import GOLD, GOLD2
from blockful_py.verdicts.statistics import Estimate

ROWS = 256
"""Tokens whose logits are read at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredText:
    """A model's predictions of a text's tokens after the first.

    Attributes:
        margins: logit-scaled confidence in each true token (`audit.margins`), float64 (T - 1,).
        greedy: whether the likeliest token is the true one, bool (T - 1,).
        is_extracted: whether greedy decoding completes the prompt to the secret, verbatim.
    """

    margins: Floats
    greedy: Sequence[bool]
    is_extracted: bool

    @property
    def log_likelihoods(self) -> Floats:
        """Natural log-likelihood of each token, float64 (T - 1,): log p of `log p - log(1 - p)`."""
        found: Floats = log_expit(self.margins)
        return found


def score(model: LanguageModel, text: TokenisedText) -> ScoredText:
    """Scores a text in one pass.

    Greedy decoding from the prompt gives the secret exactly if each of its tokens is the likeliest one after
    the true tokens before it, so no text is generated (Carlini et al. 2023, arXiv 2202.07646).

    Raises UnlearningError: a logit that is not finite.
    """
    logits, asked = model.logits(text.ids), torch.tensor(text.ids[1:])
    pieces = zip(torch.split(logits, ROWS), torch.split(asked, ROWS), strict=True)
    found = np.concatenate([margins(said.double().numpy(), true.numpy()) for said, true in pieces])
    greedy = (logits.argmax(1) == asked).tolist()
    secret = [greedy[place - 1] for place in text.secret]
    return ScoredText(found, greedy, bool(secret) and all(secret))


def audit_texts(
    folder: Path | str,
    forget: Sequence[str],
    retain: Sequence[str],
    held_out: Sequence[str],
    prompts: Sequence[str] = (),
) -> TextAudit:
    """Audits the language models in `unlearned`, beside `original`, `gold` and `gold2` if these exist.

    Every kind is a folder in `folder` of folders of models, as transformers saves them, with the same names
    in each.  `original` was trained on `forget` and `retain`; `gold` and `gold2` only on `retain`, from other
    seeds.  A text's margin, of which KLoM and U-LiRA follow, is the mean of its tokens' margins.

    Args:
        held_out: texts similar to the forgotten ones that no model was trained on.
        prompts: beginning of each text in `forget`, whose rest is then to be extracted.

    Raises:
        FormatError: as `read_language_model`.
        LearningError: as `LanguageModel.tokenised`.
        UnlearningError: no texts, or texts that are in two of the three; folders with other names, models
            that are there twice, models with other tokenizers, or logits that are not finite.
    """
    root, texts = Path(folder), {FORGOTTEN: forget, RETAINED: retain, HELD_OUT: held_out}
    _require_apart(texts)
    paths = {kind: _models_in(root / kind) for kind in kinds_in(root)}
    require_same_names(root, paths)
    seen: dict[str, dict[str, _Read]] = {kind: {} for kind in paths}
    tokenised: dict[str, tuple[TokenisedText, ...]] = {}
    for kind, models in paths.items():
        for name, path in models.items():
            model = read_language_model(path)
            found = {
                each: model.tokenised(texts[each], prompts if each == FORGOTTEN else ()) for each in SPLITS
            }
            if found != (tokenised := tokenised or found):
                raise UnlearningError(
                    f"{kind}/{name} splits the texts into other tokens than the models before it: give all "
                    "models one tokenizer."
                )
            scored = {each: [score(model, text) for text in found[each]] for each in SPLITS}
            seen[kind][name] = _Read(weights_digest(dict(model.module.state_dict())), scored)
    require_made_separately(
        {kind: {name: each.digest for name, each in models.items()} for kind, models in seen.items()}
    )
    read = {kind: _margins(models) for kind, models in seen.items()}
    klom, u_lira = attacked(read)
    return TextAudit(
        {
            kind: tuple(_figures(name, each.scored, bool(prompts)) for name, each in models.items())
            for kind, models in seen.items()
        },
        klom,
        u_lira,
        _above_floor(read),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A model's digest and its scored texts by samples."""

    digest: str
    scored: Mapping[str, Sequence[ScoredText]]


def _require_apart(texts: Mapping[str, Sequence[str]]) -> None:
    of: dict[str, str] = {}
    for which, listed in texts.items():
        if not listed:
            raise UnlearningError(f"an audit needs texts in {which}; it has none.")
        for text in listed:
            if of.setdefault(text, which) != which:
                raise UnlearningError(
                    f"a text is in {of[text]} and in {which}, {text[:40]!r}: leave it out of one."
                )


def _models_in(kind: Path) -> dict[str, Path]:
    if not kind.is_dir() or not (found := sorted(path for path in kind.iterdir() if path.is_dir())):
        raise UnlearningError(f"{kind} has no folder of a model: give each model a folder there.")
    return {path.name: path for path in found}


def _margins(models: Mapping[str, _Read]) -> dict[str, Floats]:
    """Mean margins of texts by samples, (S, n)."""
    return {
        each: np.array([[text.margins.mean() for text in model.scored[each]] for model in models.values()])
        for each in SPLITS
    }


def _figures(name: str, scored: Mapping[str, Sequence[ScoredText]], with_prompts: bool) -> TextFigures:
    likely = {each: [text.log_likelihoods for text in scored[each]] for each in SPLITS}
    means = {each: np.array([text.mean() for text in texts]) for each, texts in likely.items()}
    extracted = np.mean([text.is_extracted for text in scored[FORGOTTEN]])
    return TextFigures(
        model=name,
        loss={each: -float(np.concatenate(texts).mean()) for each, texts in likely.items()},
        extracted=float(extracted) if with_prompts else None,
        auc=auc(means[FORGOTTEN], means[HELD_OUT]),
    )


def _above_floor(read: Mapping[str, Mapping[str, Floats]]) -> Estimate | None:
    if not {GOLD, GOLD2} <= read.keys() or len(read[GOLD][FORGOTTEN]) < LEAST_MODELS:
        return None
    return above_floor(*(read[kind][FORGOTTEN] for kind in (UNLEARNED, GOLD2, GOLD)))
