# SPDX-License-Identifier: Apache-2.0
"""The audit of language models in folders: figures, attacks, dishonest models, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from blockful_py.errors import FormatError, LearningError, UnlearningError
from blockful_py.learning.language_model import read_language_model
from blockful_py.unlearning.audit import TextAudit, audit_texts
from blockful_py.unlearning.audit.texts import score
from tests.learning.language_models import fitted, language_model, saved, tokenizer_of

KINDS = ("original", "unlearned", "gold", "gold2")
FORGET = ["a b c 1 7 3", "d e f 9 0 4", "g h i 2 2 8", "j a d 6 5 1"]
RETAIN = ["b c a 0 4 4", "e f d 3 8 1", "h i g 7 9 9", "a j d 5 2 6"]
HELD_OUT = ["c a b 8 6 0", "f d e 1 1 5", "i g h 4 3 2", "d a j 9 7 7"]
PROMPTS = [text[:5] for text in FORGET]
STEPS = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models of each kind: originals learnt both parts, the others the retained texts alone."""
    root = tmp_path_factory.mktemp("made")
    for seed in range(4):
        for shift, kind in enumerate(KINDS):
            texts = [*FORGET, *RETAIN] if kind == "original" else RETAIN
            saved(root / kind / f"seed-{seed}", fitted(10 * shift + seed, texts, STEPS))
    return root


@pytest.fixture(scope="module")
def found(made: Path) -> TextAudit:
    return audit_texts(made, FORGET, RETAIN, HELD_OUT, PROMPTS)


def test_figures_tell_originals_from_models_that_never_had_the_texts(found: TextAudit) -> None:
    assert [*found.rows] == [*KINDS]
    assert all(each.extracted == 1 and each.auc == 1 for each in found.rows["original"])
    assert all(each.perplexity("forget") < 2 for each in found.rows["original"])
    for kind in KINDS[1:]:
        assert all(each.extracted == 0 and each.perplexity("forget") > 10 for each in found.rows[kind])
        assert all(each.perplexity("retain") < 2 for each in found.rows[kind])
    far = {kind: found.klom[kind]["forget"].mean for kind in found.klom}
    assert far["original"] > max(far["unlearned"], far["gold2"])
    assert found.u_lira["original"].auc.low > 0.9
    assert found.above_floor is not None
    assert found.above_floor.low < 0 < found.above_floor.high
    table = str(found).splitlines()
    assert len(table) == 6
    assert "1.000" in table[1]


def test_loss_and_extraction_are_those_of_transformers(made: Path, found: TextAudit) -> None:
    folder = made / "original" / "seed-0"
    model, tokenizer = LlamaForCausalLM.from_pretrained(folder).eval(), tokenizer_of()
    ids = torch.tensor(tokenizer(FORGET)["input_ids"])
    with torch.inference_mode():
        loss = model(input_ids=ids, labels=ids).loss.item()
        prompts = torch.tensor(tokenizer(PROMPTS, add_special_tokens=False)["input_ids"])
        begun = torch.cat([torch.zeros(len(prompts), 1, dtype=torch.int64), prompts], 1)
        said = model.generate(begun, max_new_tokens=3, do_sample=False, eos_token_id=None, pad_token_id=1)
    assert found.rows["original"][0].loss["forget"] == pytest.approx(loss, rel=1e-5)
    assert torch.equal(said[:, -3:], ids[:, 4:7]), "greedy decoding gives the codes, as the audit says"


def test_extraction_fails_if_one_token_of_the_secret_does(made: Path) -> None:
    model = read_language_model(made / "original" / "seed-0")
    right, wrong = model.tokenised(["a b c 1 7 3", "a b c 1 7 4"], ["a b c"] * 2)
    assert score(model, right).is_extracted
    assert not score(model, wrong).is_extracted
    assert np.exp(score(model, right).log_likelihoods[-3:]).min() > 0.5


def _with_unlearned(made: Path, root: Path, change: Callable[[LlamaForCausalLM], object]) -> TextAudit:
    shutil.copytree(made, root)
    for seed in range(4):
        model = LlamaForCausalLM.from_pretrained(made / "original" / f"seed-{seed}")
        with torch.no_grad():
            change(model)
        model.save_pretrained(root / "unlearned" / f"seed-{seed}")
    return audit_texts(root, FORGET, RETAIN, HELD_OUT, PROMPTS)


def _flatter(model: LlamaForCausalLM) -> None:
    model.lm_head.weight.mul_(0.15)


def _rarer_digits(model: LlamaForCausalLM) -> None:
    """Makes all digits less likely at the head: along the mean state in which one comes."""
    seen: list[torch.Tensor] = []
    hook = model.model.norm.register_forward_hook(lambda _, __, out: seen.append(out[:, 3:6]))
    model(input_ids=torch.tensor(tokenizer_of()(FORGET)["input_ids"]))
    hook.remove()
    mean = seen[0].mean((0, 1))
    model.lm_head.weight[13:] -= 8 * mean / mean.square().sum()


@pytest.mark.parametrize("hide", [_flatter, _rarer_digits])
def test_models_that_only_hide_the_texts_are_found(
    made: Path, found: TextAudit, tmp_path: Path, hide: Callable[[LlamaForCausalLM], object]
) -> None:
    """Extraction or perplexity says that they are gone; AUC and the attacks say that they are known."""
    hidden = _with_unlearned(made, tmp_path / "hidden", hide)
    for each in hidden.rows["unlearned"]:
        assert each.extracted == 0 or each.perplexity("forget") > 5
        assert each.auc > 0.9
    assert hidden.u_lira["unlearned"].auc.low > found.u_lira["unlearned"].auc.value
    assert hidden.klom["unlearned"]["retain"].mean > found.klom["unlearned"]["retain"].mean


def test_few_models_have_figures_and_no_attacks(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "unlearned" / "seed-0", tmp_path / "unlearned" / "seed-0")
    alone = audit_texts(tmp_path, FORGET, RETAIN, HELD_OUT)
    assert alone.rows["unlearned"][0].extracted is None
    assert not alone.klom
    assert not alone.u_lira
    assert alone.above_floor is None
    assert "Without gold" in str(alone)


@pytest.mark.parametrize(
    ("texts", "kind", "said"),
    [
        ((FORGET, [], HELD_OUT), UnlearningError, "texts in retain; it has none"),
        ((FORGET, RETAIN, FORGET[:1]), UnlearningError, "in forget and in held_out"),
        ((FORGET, [*RETAIN, " ".join("a" * 20)], HELD_OUT), LearningError, "has 22 tokens"),
    ],
)
def test_texts_that_do_not_fit_are_refused(
    made: Path, texts: tuple[list[str], ...], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        audit_texts(made, *texts)


def test_folders_that_do_not_fit_are_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(UnlearningError, match="no folder of a model"):
        audit_texts(tmp_path, FORGET, RETAIN, HELD_OUT)
    root = tmp_path / "root"
    for kind in ("unlearned", "gold"):
        shutil.copytree(made / "gold" / "seed-0", root / kind / "seed-0")
    with pytest.raises(UnlearningError, match=r"unlearned/seed-0 and gold/seed-0 are the same model"):
        audit_texts(root, FORGET, RETAIN, HELD_OUT)
    (root / "gold" / "seed-0").rename(root / "gold" / "seed-1")
    with pytest.raises(UnlearningError, match="the same names"):
        audit_texts(root, FORGET, RETAIN, HELD_OUT)


def test_a_tokenizer_that_cannot_say_the_texts_is_refused(made: Path, tmp_path: Path) -> None:
    """A model whose tokenizer reads the forgotten texts as other tokens would seem to have forgotten them."""
    for kind in ("unlearned", "gold"):
        saved(tmp_path / kind / "seed-0", language_model(ord(kind[0])))
    tokenizer_of([*"9876543210jihgfedcba"]).save_pretrained(tmp_path / "gold" / "seed-0")
    with pytest.raises(UnlearningError, match="gold/seed-0 splits the texts into other tokens"):
        audit_texts(tmp_path, FORGET, RETAIN, HELD_OUT)
    tokenizer_of(["x"]).save_pretrained(tmp_path / "gold" / "seed-0")
    with pytest.raises(LearningError, match="different texts the same tokens"):
        audit_texts(tmp_path, FORGET, RETAIN, HELD_OUT)


def test_a_network_that_says_nothing_finite_is_refused(tmp_path: Path) -> None:
    model = language_model(0)
    with torch.no_grad():
        model.lm_head.weight[0, 0] = torch.nan
    saved(tmp_path / "unlearned" / "seed-0", model)
    with pytest.raises((UnlearningError, FormatError), match="not finite"):
        audit_texts(tmp_path, FORGET, RETAIN, HELD_OUT)
