# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from blockful_py.errors import SettingsError
from blockful_py.learning.data import Dataset
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import Option
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import equal

CPU = torch.device("cpu")
TINY_BERT: Mapping[str, Option] = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 32, "positions": 16}


def options(values: Mapping[str, Option]) -> tuple[tuple[str, Option], ...]:
    return tuple(sorted(values.items()))


TINY: Mapping[str, tuple[Any, ...]] = {
    "cnn": ((1, 8, 8), 10),
    "alexnet": ((3, 32, 32), 10),
    "resnet18": ((3, 32, 32), 10),
    "mobilenet_v2": ((3, 32, 32), 10),
    "gcnn": ((12,), 4, 50, options({"embedding": 8, "maps": 8})),
    "bert": ((12,), 4, 50, options(TINY_BERT)),
}


def tiny(name: str) -> Architecture:
    """Built in the test that asks for it: what BERT needs takes seconds to import."""
    return Architecture(name, *TINY[name])


def inputs(architecture: Architecture, count: int = 2) -> Tensor:
    shape = (count, *architecture.input_shape)
    if architecture.vocabulary is None:
        return torch.rand(shape, generator=generator(1))
    return torch.randint(0, architecture.vocabulary, shape, generator=generator(1))


@pytest.mark.parametrize(
    ("architecture", "published"),
    [
        # The audit protocol's network.
        (Architecture("cnn", (1, 8, 8), 10), 13_706),
        # github.com/bearpaw/pytorch-classification: 2.47 M in its table for CIFAR-10.
        (Architecture("alexnet", (3, 32, 32), 10), 2_472_266),
        (Architecture("alexnet", (3, 64, 64), 10), 2_472_266),
        # github.com/kuangliu/pytorch-cifar, ResNet of [2, 2, 2, 2] basic blocks.
        (Architecture("resnet18", (3, 32, 32), 10), 11_173_962),
        (Architecture("resnet18", (3, 64, 64), 10), 11_173_962),
        (Architecture("resnet18", (3, 32, 32), 10, options=(("norm", "group"),)), 11_173_962),
        # github.com/kuangliu/pytorch-cifar, models/mobilenetv2.py.
        (Architecture("mobilenet_v2", (3, 32, 32), 10), 2_296_922),
    ],
    ids=lambda value: value.name if isinstance(value, Architecture) else "",
)
def test_parameter_counts_are_the_published_ones(architecture: Architecture, published: int) -> None:
    assert architecture.parameter_count == published


@pytest.mark.slow
def test_bert_is_bert_base_cased_and_a_dense_layer() -> None:
    """108,310,272 parameters: the encoder and pooler that google-bert/bert-base-cased holds."""
    head = 768 * 10 + 10
    assert Architecture("bert", (128,), 10, 28_996).parameter_count == 108_310_272 + head


def test_the_gated_network_has_the_parameters_of_its_layers() -> None:
    embedding, maps, width = 128, 128, 3
    gated = (width * embedding + 1) * 2 * maps + (width * maps + 1) * 2 * maps
    dense = (maps + 1) * maps + (maps + 1) * 10
    assert Architecture("gcnn", (64,), 10, 30_000).parameter_count == 30_000 * embedding + gated + dense


@pytest.mark.parametrize("name", TINY)
def test_networks_give_logits_and_features_and_repeat_their_bits(name: str) -> None:
    architecture = tiny(name)
    before = (torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate())
    weights = architecture.initial(generator(0))
    module = architecture.module(weights, CPU).eval()
    x = inputs(architecture)
    logits = module(x)
    assert logits.shape == (2, architecture.class_count)
    assert torch.isfinite(logits).all()
    assert not torch.equal(logits[0], logits[1])
    assert torch.allclose(module.head(module.features(x)), logits)
    assert equal(weights, architecture.initial(generator(0)))
    assert not equal(weights, architecture.initial(generator(1)))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    assert random.getstate() == before[2]


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2"])
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 64, 64)])
def test_networks_for_images_take_smaller_and_larger_ones(name: str, shape: tuple[int, ...]) -> None:
    architecture = Architecture(name, shape, 5)
    module = architecture.module(architecture.initial(generator(0)), CPU).train()
    assert module(inputs(architecture, 1)).shape == (1, 5)


def test_padding_does_not_reach_the_networks_for_texts() -> None:
    for name in ("gcnn", "bert"):
        architecture = tiny(name)
        module = architecture.module(architecture.initial(generator(0)), CPU).eval()
        text = torch.tensor([[5, 7, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
        longer = torch.cat([text, torch.zeros(1, 4, dtype=torch.int64)], 1)
        assert torch.allclose(module(text), module(longer), atol=1e-6)


def test_group_normalisation_keeps_no_statistics() -> None:
    grouped = Architecture("mobilenet_v2", (3, 32, 32), 10, options=(("norm", "group"),))
    assert not any("running" in name for name in grouped.initial(generator(0)))


def test_a_pretrained_bert_starts_from_its_weights(tmp_path: Path) -> None:
    import transformers

    config = transformers.BertConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    source = transformers.BertModel(config)
    source.save_pretrained(tmp_path)
    architecture = Architecture("bert", (12,), 4, 50, (("pretrained", str(tmp_path)),))
    weights = architecture.initial(generator(0))
    for key, tensor in source.state_dict().items():
        assert torch.equal(weights[f"bert.{key}"], tensor)
    with pytest.raises(SettingsError, match="reads 50 different tokens"):
        Architecture("bert", (12,), 4, 60, (("pretrained", str(tmp_path)),))


def test_a_pretrained_model_that_is_not_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub as hub

    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(SettingsError, match="give its folder"):
        Architecture("bert", (12,), 4, 50, (("pretrained", "nobody/nothing"),))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("vgg", (3, 32, 32), 10),
            "no model 'vgg'. Known: alexnet, analytic, bert, cnn, gcnn, merged, mlp, mobilenet_v2, resnet18",
        ),
        (("gcnn", (3, 32, 32), 10), "reads texts, the data are images"),
        (("resnet18", (12,), 10, 50), "reads images, the data are texts"),
        (("resnet18", (3, 32, 32), 10, None, (("depth", 3),)), "has no option depth. Known: norm"),
        (("resnet18", (3, 32, 32), 10, None, (("norm", "layer"),)), "norm must be 'batch' or 'group'"),
        (("cnn", (3, 32, 32), 10, None, (("norm", "group"),)), "has no option norm. Known: none"),
        (("bert", (600,), 10, 50), "texts of at most 512"),
        (("nowhere.nets:Net", (3, 32, 32), 10), "'nowhere.nets:Net' cannot be imported"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[object, ...], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason.replace("[", r"\[")):
        Architecture(*arguments)  # type: ignore[arg-type]


class Unfinished(nn.Module):
    """A network that forgets to say how its scale starts."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(1, device=device))
        self.head = nn.Linear(input_shape[0], class_count, device=device)


class Forgetful(nn.Module):
    """A network with a buffer that is not saved."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(1, device=device), persistent=False)


def test_a_network_must_say_how_its_weights_start() -> None:
    architecture = Architecture(f"{__name__}:Unfinished", (4,), 2)
    with pytest.raises(SettingsError, match="does not say how scale starts"):
        architecture.initial(generator(0))


def test_a_network_must_save_all_it_keeps() -> None:
    with pytest.raises(SettingsError, match="keeps shift out of its state dict"):
        Architecture(f"{__name__}:Forgetful", (4,), 2)


def test_an_architecture_follows_from_a_data_set(digits: Dataset) -> None:
    assert Architecture.of("cnn", digits) == Architecture("cnn", (1, 8, 8), 10)
