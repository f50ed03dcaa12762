# SPDX-License-Identifier: Apache-2.0
"""Models that come from others without saying so are found; honest ones of a federation are not accused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from blockful_py.learning.data import UserData
from blockful_py.learning.federation import (
    TRAIN,
    FederationSpec,
    TrainedModel,
    initial_weights,
    train_federation,
)
from blockful_py.learning.fingerprint import Fingerprint, KnownFingerprints, fingerprint
from blockful_py.learning.parents import Parent, proposed_parents, undeclared_parent
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, aggregate, flatten, unflatten
from blockful_py.settings import FederationSettings, TrainingSettings
from tests.federations import digits_federation
