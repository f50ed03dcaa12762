# SPDX-License-Identifier: Apache-2.0
"""Registry of the networks that are trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from torch import nn

from blockful_py.learning.models.alexnet import AlexNet
from blockful_py.learning.models.bert import Bert
from blockful_py.learning.models.cnn import Cnn
from blockful_py.learning.models.gcnn import Gcnn
from blockful_py.learning.models.mlp import Mlp
from blockful_py.learning.models.mobilenet import MobileNetV2
from blockful_py.learning.models.resnet import ResNet18

Builder = Callable[..., nn.Module]
"""Builds a network from `(input_shape, class_count, device, **options)`.

A network that reads token ids has an option `vocabulary`.
"""

GROUP = "blockful.models"
"""Entry points of other packages' builders."""

NETWORKS: Mapping[str, Builder] = MappingProxyType(
    {
        "alexnet": AlexNet,
        "bert": Bert,
        "cnn": Cnn,
        "gcnn": Gcnn,
        "mlp": Mlp,
        "mobilenet_v2": MobileNetV2,
        "resnet18": ResNet18,
    }
)
