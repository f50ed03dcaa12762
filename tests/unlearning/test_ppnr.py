# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.unlearning.head import output_layer
from blockful_py.unlearning.ppnr import Ppnr
from blockful_py.unlearning.projection import direction_beyond, penultimate_layer, without_direction
from tests.unlearning.conftest import UnlearningCase


def test_the_direction_is_what_the_others_do_not_span() -> None:
    span = [torch.tensor([1.0, 0.0, 0.0]).double(), torch.tensor([1.0, 1.0, 0.0]).double()]
    direction = direction_beyond(torch.tensor([5.0, -2.0, -3.0]).double(), span)
    assert direction.tolist() == pytest.approx([0.0, 0.0, -1.0])


@pytest.mark.parametrize("layer", [nn.Linear(4, 3), nn.Conv2d(2, 3, 3)])
def test_a_projected_layer_says_nothing_in_the_direction(layer: nn.Module) -> None:
    direction = torch.tensor([0.6, 0.0, 0.8]).double()
    before = {f"dense.{name}": tensor.detach().clone() for name, tensor in layer.named_parameters()}
    after = without_direction(before, "dense", direction)
    x = torch.randn((8, 4) if isinstance(layer, nn.Linear) else (8, 2, 5, 5), generator=torch.Generator())
    layer.load_state_dict({name.removeprefix("dense."): tensor for name, tensor in after.items()})
    said = layer(x).double().flatten(2) if isinstance(layer, nn.Conv2d) else layer(x).double()[:, :, None]
    assert torch.einsum("ndp,d->np", said, direction).abs().max() < 1e-5
    assert said.abs().max() > 0.1
    assert not torch.equal(after["dense.bias"], before["dense.bias"])


def test_a_network_of_another_shape_is_refused() -> None:
    with pytest.raises(UnlearningError, match="expected to end in a linear layer with 10 outputs"):
        output_layer(nn.Conv2d(1, 10, 3), 10)
    with pytest.raises(UnlearningError, match="no layer of Sequential says the 4 features"):
        penultimate_layer(nn.Sequential(nn.Flatten(), nn.Linear(4, 10)), 10)


def test_it_needs_a_proxy_set_that_is_large_enough(tiny: UnlearningCase) -> None:
    proxy = tiny.task.proxy
    assert proxy is not None
    with pytest.raises(UnlearningError, match="needs a proxy set of at least 32 labelled samples, found 0"):
        Ppnr().unlearn(replace(tiny.task, proxy=None))
    with pytest.raises(UnlearningError, match="at least 32 labelled samples, found 31"):
        Ppnr().unlearn(replace(tiny.task, proxy=proxy.at(torch.arange(31))))


def test_the_owners_of_the_starts_must_hold_the_class(tiny: UnlearningCase) -> None:
    users = dict(tiny.task.users)
    users[2] = replace(users[2], train=users[2].train.without([3]))
    with pytest.raises(UnlearningError, match="hold no sample of class 3"):
        Ppnr().unlearn(replace(tiny.task, users=users))


def test_several_classes_are_taken_out_together(tiny: UnlearningCase) -> None:
    proxy = tiny.task.proxy
    assert proxy is not None
    forget = Forget.of_classes([1, 3])
    task = replace(tiny.task, forget=forget, proxy=proxy.without([1]))
    weights = Ppnr(proxy_samples=30).unlearn(task).weights["d"]
    assert (weights["head.bias"][[1, 3]] < -4).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"repair_steps": 0}, "repair_steps, proxy_samples and forget_samples"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"repair_rate": -1.0}, "rate and clip must be positive"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Ppnr(**settings)  # type: ignore[arg-type]
