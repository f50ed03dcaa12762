# SPDX-License-Identifier: Apache-2.0
"""Language models in folders: their tokens and logits, and the folders and texts that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.language_model import LanguageModel, TokenisedText, read_language_model
from tests.learning.language_models import CONTEXT, language_model, saved, tokenizer_of

FAILED = "reading a causal language model from .* failed"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "model", language_model(0))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return read_language_model(saved(tmp_path_factory.mktemp("models") / "m", language_model(0)))


def test_logits_are_those_of_transformers(model: LanguageModel) -> None:
    (text,) = model.tokenised(["a b c"])
    assert text == TokenisedText((0, 3, 4, 5, 1))
    with torch.inference_mode():
        whole = language_model(0).eval()(input_ids=torch.tensor([text.ids])).logits[0]
    assert torch.allclose(model.logits(text.ids), whole[:-1], atol=1e-6)


def test_the_secret_is_what_ends_after_the_prompt_without_special_tokens(model: LanguageModel) -> None:
    (text,) = model.tokenised(["a b 1 2"], ["a b"])
    assert [text.ids[place] for place in text.secret] == tokenizer_of().convert_tokens_to_ids(["1", "2"])


@pytest.mark.parametrize(
    ("texts", "prompts", "said"),
    [
        ([" ".join("a" * CONTEXT)], [], f"has {CONTEXT + 2} tokens"),
        (["a b"], ["b"], "no beginning"),
        (["a b"], ["a b"], "no beginning"),
        (["a b", "c d"], ["a"], "2 texts have 1 prompts"),
        (["a 1", "a !", "a x"], [], "different texts the same tokens"),
    ],
)
def test_texts_that_do_not_fit_are_refused(
    model: LanguageModel, texts: list[str], prompts: list[str], said: str
) -> None:
    with pytest.raises(LearningError, match=said):
        model.tokenised(texts, prompts)


def test_an_empty_text_without_special_tokens_is_refused(folder: Path) -> None:
    plain = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(plain | {"post_processor": None}))
    with pytest.raises(LearningError, match="text 1 has 0 tokens"):
        read_language_model(folder).tokenised(["a b", ""])


def test_a_tokenizer_with_more_words_than_the_network_reads_is_refused(folder: Path) -> None:
    tokenizer_of([*"abcdefghij0123456789", "new"]).save_pretrained(folder)
    reader = read_language_model(folder)
    assert reader.tokenised(["a b"])
    with pytest.raises(LearningError, match="has token 23, and the network"):
        reader.tokenised(["a new"])


def _without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _configured(**said: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | said))

    return change


def _tensors(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], object]:
    def save(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return save


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_pickled, "pytorch_model.bin may be a pickle"),
        (_without("model.safetensors"), "no weights as safetensors"),
        (_without("tokenizer.json"), "no tokenizer.json"),
        (_without("config.json"), FAILED),
        (_configured(model_type="unheard_of"), FAILED),
        (_configured(model_type="t5"), FAILED),
        (_configured(vocab_size=10**9), "asks for"),
        (_configured(auto_map={"AutoConfig": "code.Config"}, model_type="mine"), FAILED),
        (_tensors(lambda tensors: tensors.pop("lm_head.weight")), "other tensors"),
        (_tensors(lambda tensors: tensors.update(more=torch.ones(2))), "other tensors"),
        (_tensors(lambda tensors: tensors.update({"lm_head.weight": torch.ones(2, 2)})), "model"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no" * 999), FAILED),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), FAILED),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "apply it to its base by peft"),
    ],
)
def test_other_folders_are_refused(folder: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(folder)
    with pytest.raises(FormatError, match=said):
        read_language_model(folder)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read_language_model(tmp_path / "nothing")


def test_code_in_a_folder_does_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    _configured(auto_map={"AutoConfig": "code.Config"}, model_type="mine")(folder)
    with pytest.raises(FormatError):
        read_language_model(folder)
    assert not (tmp_path / "ran").exists()
