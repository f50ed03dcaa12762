# SPDX-License-Identifier: Apache-2.0
"""Forks test processes from a server with their modules already imported, because imports cost seconds."""

from __future__ import annotations

import multiprocessing

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preloaded"])
