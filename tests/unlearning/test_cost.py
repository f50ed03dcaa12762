# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch
from torch import nn

from blockful_py.unlearning.cost import Meter


def test_a_pass_is_forward_and_backward_and_forward_alone_a_third() -> None:
    meter, layer = Meter(), nn.Linear(2, 2)
    with meter.job("a") as work:
        work.watch(layer)
        layer(torch.zeros(6, 2))
        with torch.no_grad():
            layer(torch.zeros(3, 2))
        work.trained(10)
    assert meter.cost().passes == 17


def test_the_critical_path_is_the_longest_chain_of_jobs() -> None:
    meter = Meter()
    for model, after, samples in (("a", (), 5), ("b", (), 7), ("c", ("a", "b"), 2), ("a", (), 3)):
        with meter.job(model, after) as work:
            work.trained(samples)
    cost = meter.cost()
    assert cost.passes == 17
    assert cost.critical_path == 9
    assert cost.prepared == 0


def test_what_was_made_before_the_request_is_counted_apart() -> None:
    meter = Meter()
    with meter.preparation() as work:
        work.trained(4)
    assert (meter.cost().passes, meter.cost().critical_path, meter.cost().prepared) == (0, 0, 4)


def test_a_job_that_fails_is_not_counted() -> None:
    meter = Meter()
    with pytest.raises(RuntimeError), meter.job("a") as work:
        work.trained(4)
        raise RuntimeError
    assert meter.cost().passes == 0
