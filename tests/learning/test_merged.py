# SPDX-License-Identifier: Apache-2.0
"""Merged models: parts are quantised changes of a base, and the network is the base and their mean."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Samples
from blockful_py.learning.evaluation import hits, outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.merged import STEP
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import HALF, OWN, require_base, require_change, require_inherited
from blockful_py.learning.together import TrainingJob, train_together
from blockful_py.learning.weights import Weights, aggregate, equal, flatten, to_bytes, unflatten
from blockful_py.settings import TrainingSettings
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec

CPU = torch.device("cpu")
SMALL = Architecture("merged", (1, 4, 4), 3, options=(("network", "mlp"),))
EMPTY = SMALL.initial(generator(0))
BASE = SMALL.merged(EMPTY).base_weights()


def moved(by: float) -> Weights:
    """A model whose owner's training moved every weight by as much."""
    return SMALL.merged(EMPTY).learned(unflatten(flatten(BASE) + by, BASE))  # type: ignore[arg-type]


def own(start: Weights, by: float) -> Weights:
    return {**start, OWN: moved(by)[OWN]}


def test_the_base_is_the_networks_initialisation() -> None:
    assert equal(BASE, SMALL.trained.initial(generator(0)))
    assert equal(SMALL.merged(EMPTY).network_weights(), BASE)


def test_a_root_is_its_owners_network_to_half_a_step() -> None:
    trained = unflatten(torch.randn(flatten(BASE).size, generator=generator(1)).numpy(), BASE)
    found = SMALL.merged(SMALL.merged(EMPTY).learned(trained)).network_weights()
    assert (flatten(found) - flatten(trained)).max() <= STEP


@given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=4), st.integers(-(2**20), 2**20))
def test_a_model_is_the_base_and_the_mean_of_changes(references: list[int], part: int) -> None:
    """Changes are whole steps of 2^-10, exact in float32 beside the base's own rounding."""
    start = aggregate([moved(each * 2.0**-20) for each in references])
    found = SMALL.merged(own(start, part * 2.0**-20)).network_weights()
    share = Fraction(1, 2 ** (len(references) - 1).bit_length())
    mean = (part + share * sum(references)) / (1 + share * len(references))
    change = flatten(found) - flatten(BASE)
    assert abs(change - float(mean) * 2.0**-20).max() <= 2.0**-22


@pytest.mark.parametrize(("by", "expected"), [(1e6, HALF - 1), (-1e6, 1 - HALF), (0.0, 0)])
def test_huge_changes_are_clipped(by: float, expected: int) -> None:
    weights = moved(by)
    assert set((weights[OWN][0, :-1] - HALF).tolist()) == {expected}
    assert int(weights[OWN][0, -1]) == HALF
    require_change(weights[OWN])


@pytest.mark.parametrize(("place", "value"), [(0, 0), (0, -1), (-1, 0), (-1, 1), (-1, HALF - 1)])
def test_a_part_of_another_form_is_refused(place: int, value: int) -> None:
    part = moved(0.5)[OWN].clone()
    part[0, place] = value
    with pytest.raises(LearningError, match="no change of weights"):
        require_change(part)
    require_change(torch.zeros_like(part))


def test_a_model_of_another_base_or_of_other_references_is_refused() -> None:
    root, heir = moved(0.5), own(aggregate([moved(0.5)]), 0.25)
    for weights, references in ((root, []), (heir, [root])):
        require_inherited(weights, references)
        require_base(weights, EMPTY)
    with pytest.raises(LearningError, match="inherits others than its references'"):
        require_inherited(heir, [])
    with pytest.raises(LearningError, match=r"base is not the shared one, in 'base.head.bias'"):
        require_base({**root, "base.head.bias": EMPTY["base.head.bias"] + 1}, EMPTY)


def test_a_part_is_trained_from_the_base_whatever_a_model_inherits() -> None:
    x = torch.rand(8, 1, 4, 4, generator=generator(2))
    samples, phi = Samples(x, torch.arange(8) % 3), TrainingSettings(epochs=2, batch_size=4)
    starts = (EMPTY, aggregate([moved(0.5)]))
    jobs = [TrainingJob(start, samples, phi, generator(3)) for start in starts]
    root, heir = train_together(SMALL, jobs)
    assert root[OWN].equal(heir[OWN]) and not root[OWN].equal(EMPTY[OWN])
    right = hits(SMALL, {"root": root}, samples)["root"]
    logits = outputs(SMALL.module(root, CPU).eval(), samples.x)
    assert right.tolist() == (logits.argmax(1) == samples.y).tolist()
    with pytest.raises(LearningError, match="has no gradients: choose the method subtract"):
        SMALL.module(root, CPU).train()


def test_a_network_of_texts_has_merged_parts_too() -> None:
    sizes = {"input_shape": (5,), "class_count": 4}
    texts = Architecture("merged", **sizes, vocabulary=9, options=(("network", "gcnn"),))
    assert texts.trained == Architecture("gcnn", **sizes, vocabulary=9)
    start = texts.initial(generator(0))
    moved_by_one = {name: each + 1 for name, each in texts.merged(start).base_weights().items()}
    found = texts.merged(texts.merged(start).learned(moved_by_one)).network_weights()
    assert all(torch.allclose(found[name], each, atol=STEP) for name, each in moved_by_one.items())


@pytest.mark.parametrize(("network", "vocabulary"), [("gcnn", None), ("mlp", 9)])
def test_a_network_that_does_not_read_the_data_is_refused(network: str, vocabulary: int | None) -> None:
    with pytest.raises(SettingsError, match="cannot be built"):
        Architecture("merged", (5,), 4, vocabulary, (("network", network),))


def test_the_base_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "base.safetensors"
    trained = unflatten(flatten(BASE) + 1, BASE)
    path.write_bytes(to_bytes(trained))
    cid = cid_string(uri_of(path.read_bytes(), Codec.RAW))

    def of(**changes: str) -> Architecture:
        options = {"network": "mlp", "weights": str(path), "cid": cid, **changes}
        return Architecture("merged", (1, 4, 4), 3, options=tuple(sorted(options.items())))

    assert equal(of().merged(of().initial(generator(0))).base_weights(), trained)
    with pytest.raises(SettingsError, match=r"has the CID .* and learning.options.cid is 'bafk'"):
        of(cid="bafk").initial(generator(0))
    with pytest.raises(SettingsError, match="is no file"):
        of(weights=str(tmp_path / "other")).initial(generator(0))
    with pytest.raises(SettingsError, match="has not the weights of a 'cnn'"):
        of(network="cnn").initial(generator(0))
    with pytest.raises(SettingsError, match="give both or neither"):
        Architecture("merged", (1, 4, 4), 3, options=(("cid", cid),))
    with pytest.raises(SettingsError, match="'analytic'"):
        Architecture("merged", (1, 4, 4), 3, options=(("network", "analytic"),))
