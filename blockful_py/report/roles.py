# SPDX-License-Identifier: Apache-2.0
"""The role of a model in a request."""

from __future__ import annotations

from enum import StrEnum

from blockful_py.report.schema import ModelEntry


class Role(StrEnum):
    START = "start"
    AFFECTED = "affected"
    BELOW_EPSILON = "below epsilon"
    UNTOUCHED = "untouched"


def role_of(model: ModelEntry) -> Role:
    if model.start:
        return Role.START
    if model.below_epsilon:
        return Role.BELOW_EPSILON
    return Role.AFFECTED if model.affected else Role.UNTOUCHED
