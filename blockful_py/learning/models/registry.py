# SPDX-License-Identifier: Apache-2.0
"""Registry of all models: networks, and sums."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from blockful_py.learning.models.analytic import Analytic
from blockful_py.learning.models.merged import Merged
from blockful_py.learning.models.networks import GROUP, NETWORKS, Builder

__all__ = ["GROUP", "MODELS", "Builder"]

MODELS: Mapping[str, Builder] = MappingProxyType({**NETWORKS, "analytic": Analytic, "merged": Merged})
