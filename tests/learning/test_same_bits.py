# SPDX-License-Identifier: Apache-2.0
"""The small network trains to the same bits with every instruction set of the processor.

Child processes avoid some of this machine's instructions; digests represent all other machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest
import torch

from blockful_py.learning.device import use_portable_products
from blockful_py.learning.probabilities import softmax

DIGESTS = {"2.13.0": "7461a6cfd4c89695041db2e97abb5f5bcea0610c599c6f1cb6ab13f70460dae3"}
"""SHA-256 of the weights of TRAINS by version of torch."""

TRAINS = """
import hashlib
import torch
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_portable_products, use_threads
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.weights import to_bytes
from blockful_py.forget import Forget
from blockful_py.settings import DataOptions, FederationSettings, TrainingSettings
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask

use_threads(1)
use_portable_products()
data = load_dataset('digits', 0, torch.device('cpu'), DataOptions())
users = partition(data, Division(FederationSettings(situation='few_hold'), (5, 7), (3,)), 0)
settings = FederationSpec(Architecture.of('cnn', data), training=TrainingSettings(epochs=2))
models = [model for wave in train_federation(settings, users) for model in wave]
task = UnlearningTask.of(settings, models, users, ['r5', 'r7'], Forget.of_classes([3]))
sha = hashlib.sha256(b''.join(to_bytes(model.weights) for model in models))
for method in ('gradient_ascent', 'retrain'):
    for name, weights in sorted(create_method(method).unlearn(task).weights.items()):
        sha.update(to_bytes(weights))
print(sha.hexdigest())
"""

NO_VECTORS = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OPENBLAS_CORETYPE": "Nehalem",
}
NO_FUSED = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA"}


def digest(environment: Mapping[str, str]) -> str:
    """Of a training and of both unlearnings, in a process of its own."""
    own = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    result = subprocess.run(
        [sys.executable, "-c", TRAINS],
        capture_output=True,
        text=True,
        check=False,
        env={**own, **environment},
        timeout=600,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@pytest.fixture(scope="module")
def native() -> str:
    return digest({})


@pytest.mark.slow
def test_a_processor_without_vector_units_trains_the_same_bits(native: str) -> None:
    assert digest(NO_VECTORS) == native


def test_a_machine_without_fused_multiply_add_trains_the_same_bits(native: str) -> None:
    assert digest({**NO_VECTORS, **NO_FUSED}) == native


def test_every_machine_trains_these_bits(native: str) -> None:
    version = torch.__version__.partition("+")[0]
    assert native == DIGESTS.get(version, native)


def test_a_choice_of_products_by_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_CBWR", "AUTO")
    use_portable_products()
    assert os.environ["MKL_CBWR"] == "AUTO"
    monkeypatch.delenv("MKL_CBWR")
    use_portable_products()
    assert os.environ["MKL_CBWR"] == "COMPATIBLE"


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1e4])
def test_softmax_is_that_of_torch(scale: float) -> None:
    logits = scale * torch.randn(200, 10, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(softmax(logits), logits.double().softmax(1), rtol=0, atol=1e-11)
