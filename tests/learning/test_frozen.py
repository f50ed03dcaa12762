# SPDX-License-Identifier: Apache-2.0
"""Features of a frozen network: their rule, their bits, and the files and options that are refused."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from blockful_py.errors import BlockfulError, FormatError, LearningError, SettingsError
from blockful_py.learning.data import Dataset
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.models import frozen as frozen_module
from blockful_py.learning.models.frozen import quantised
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import without_classes
from blockful_py.learning.training import train
from blockful_py.learning.weights import equal, to_bytes
from blockful_py.settings import TrainingSettings
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec
from tests.learning.test_analytic import NO_VECTORS, added

CPU = torch.device("cpu")
Options = dict[str, int | float | bool | str]


class Negative(nn.Module):
    """A linear network of one's own, whose features may be below 0."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__()
        self.first = nn.Linear(64, 8, device=device)
        self.last = nn.Linear(8, class_count, device=device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.last(self.first(x.flatten(1)))
        return logits


class Headless(Negative):
    """Ends in no linear layer with an output for each class."""

    def __init__(self, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> None:
        super().__init__(input_shape, class_count + 1, device)


def cid_of(data: bytes) -> str:
    return cid_string(uri_of(data, Codec.RAW))


def named(path: Path, data: bytes, network: str = "cnn", classes: int = 5) -> Options:
    path.write_bytes(data)
    return {"network": network, "classes": classes, "weights": str(path), "cid": cid_of(data)}


@pytest.fixture(scope="module")
def trained(digits: Dataset) -> bytes:
    """The small network, trained on the digits 0 to 4."""
    network = Architecture("cnn", digits.input_shape, 5)
    samples = digits.train.only(range(5))
    phi = TrainingSettings(epochs=4, learning_rate=0.05)
    return to_bytes(train(network, network.initial(generator(0)), samples, phi, generator(0)))


@pytest.fixture
def options(trained: bytes, tmp_path: Path) -> Options:
    return named(tmp_path / "frozen.safetensors", trained)


def test_sums_of_its_features_classify_and_forget(digits: Dataset, options: Options) -> None:
    network = Architecture.of("analytic", digits, options)
    weights = added(network, digits.train)
    assert accuracy(network, weights, digits.test) > 0.8
    struck = without_classes(weights, [3])
    assert equal(struck, added(network, digits.train.without([3])))
    assert accuracy(network, struck, digits.test.only([3])) == 0


def test_features_are_whole_numbers_of_one_sample(digits: Dataset, options: Options) -> None:
    network = Architecture.of("analytic", digits, options)
    module = network.sums(network.initial(generator(0)))
    x = digits.test.x[:300]
    of_all = module.features(x)
    assert of_all.shape == (300, 65)
    assert ((of_all == np.rint(of_all)) & (of_all >= 0) & (of_all <= 255)).all()
    assert (of_all[:, :-1].max(1) == 255).all()
    assert (np.concatenate([module.features(row[None]) for row in x]) == of_all).all()
    assert module.features(x[:0]).shape == (0, 65)


def test_activations_are_divided_by_the_largest_of_the_sample() -> None:
    found = quantised(np.array([[1.0, 0.5, -3.0], [0.0, -1.0, 0.0], [2e30, 1e30, 0.0]]))
    assert found.tolist() == [[255, 128, 0], [0, 0, 0], [255, 128, 0]]
    with pytest.raises(LearningError, match="NaN or infinite activations"):
        quantised(np.array([[np.inf, 1.0]]))


PROGRAM = """
import hashlib
import sys
import torch
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator

data = load_dataset("digits", 0, torch.device("cpu"))
options = {"network": "cnn", "classes": 5, "weights": sys.argv[1], "cid": sys.argv[2]}
network = Architecture.of("analytic", data, options)
features = network.sums(network.initial(generator(0))).features(data.train.x)
print(hashlib.sha256(features.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bits_without_vector_instructions(digits: Dataset, options: Options) -> None:
    network = Architecture.of("analytic", digits, options)
    here = network.sums(network.initial(generator(0))).features(digits.train.x)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(options["weights"]), str(options["cid"])],
        env={**os.environ, **NO_VECTORS},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == hashlib.sha256(here.tobytes()).hexdigest()


def test_a_network_of_ones_own(digits: Dataset, tmp_path: Path) -> None:
    name = f"{__name__}:Negative"
    own = Architecture(name, digits.input_shape, 7)
    options = named(tmp_path / "own", to_bytes(own.initial(generator(0))), name, 7)
    network = Architecture.of("analytic", digits, options)
    features = network.sums(network.initial(generator(0))).features(digits.test.x)
    assert features.shape == (400, 9) and (features == 0).any()


def test_another_file_is_refused_with_its_cid(digits: Dataset, options: Options, trained: bytes) -> None:
    other = trained[:-1] + bytes([trained[-1] ^ 1])
    Path(str(options["weights"])).write_bytes(other)
    with pytest.raises(SettingsError, match=f"has the CID {cid_of(other)}, and learning.options.cid is"):
        Architecture.of("analytic", digits, options)


def test_files_that_are_none_are_refused(
    digits: Dataset, options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "absent", Path("/dev/zero")):
        with pytest.raises(SettingsError, match="is no file: put the frozen network's weights there"):
            Architecture.of("analytic", digits, options | {"weights": str(path)})
    monkeypatch.setattr(frozen_module, "MOST_BYTES", 1000)
    with pytest.raises(SettingsError, match="more than 1,000 bytes"):
        Architecture.of("analytic", digits, options)


def test_bytes_that_are_no_safetensors_are_refused(digits: Dataset, tmp_path: Path, trained: bytes) -> None:
    import pickle

    for data in (b"", pickle.dumps({"head.weight": 1}), trained[:-1]):
        with pytest.raises(FormatError, match="not a whole safetensors file"):
            Architecture.of("analytic", digits, named(tmp_path / "file", data))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"classes": 6}, "has not the weights of a 'cnn' .* 6 classes: head.bias should be"),
        ({"network": "mlp"}, "has not the weights of a 'mlp'"),
        ({"network": "analytic"}, "no network 'analytic'"),
        ({"network": "vgg"}, "no network 'vgg'. Known: alexnet"),
        ({"features": 64}, "all four, and no features"),
        ({"classes": 0}, "a number from 1"),
        ({"classes": True}, "a number from 1"),
        ({"cid": 5}, "all four"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    digits: Dataset, options: Options, changed: Options, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        Architecture.of("analytic", digits, options | changed)


@pytest.mark.parametrize("missing", ["network", "classes", "weights", "cid"])
def test_none_of_the_four_options_may_be_missing(digits: Dataset, options: Options, missing: str) -> None:
    with pytest.raises(SettingsError, match="all four"):
        Architecture.of("analytic", digits, {k: v for k, v in options.items() if k != missing})


def test_a_network_without_a_last_linear_layer_is_refused(digits: Dataset, tmp_path: Path) -> None:
    name = f"{__name__}:Headless"
    own = Architecture(name, digits.input_shape, 7)
    options = named(tmp_path / "own", to_bytes(own.initial(generator(0))), name, 7)
    with pytest.raises(SettingsError, match="must end in a linear layer of 7 outputs"):
        Architecture.of("analytic", digits, options)


def test_weights_that_are_not_finite_are_refused(digits: Dataset, tmp_path: Path) -> None:
    weights = dict(Architecture("cnn", digits.input_shape, 5).initial(generator(0)))
    weights["head.bias"] = torch.full((5,), float("nan"))
    with pytest.raises(BlockfulError, match=r"NaN or infinite values in 'head\.bias'"):
        Architecture.of("analytic", digits, named(tmp_path / "nan", to_bytes(weights)))
