# SPDX-License-Identifier: Apache-2.0
"""Adopts models that were made elsewhere: reads folders, registries and lists, plans, publishes."""
