# SPDX-License-Identifier: Apache-2.0
"""Inheritance graph, affected models, path weights and depth bound.  Needs numpy and scipy only."""
