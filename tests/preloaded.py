# SPDX-License-Identifier: Apache-2.0
"""Imports what members, leaders and jobs import when they run; see `forks`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest  # noqa: F401

import blockful_py.committee.service
import blockful_py.pipeline
import tests.member.cheats  # noqa: F401

for package in (blockful_py.committee.service, blockful_py.pipeline):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        import_module(module.name)
