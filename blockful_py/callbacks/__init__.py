# SPDX-License-Identifier: Apache-2.0
"""Tells others what happens in a run: trackers, notebooks, code of its users."""
