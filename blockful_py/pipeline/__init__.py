# SPDX-License-Identifier: Apache-2.0
"""Composes the stages: train, unlearn, verify, audit.  `Federation` is the entry point."""
