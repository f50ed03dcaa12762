# SPDX-License-Identifier: Apache-2.0
"""Processes of tests, forked from a server that has imported what they need, because imports cost seconds."""

from __future__ import annotations

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preloaded"])
