# SPDX-License-Identifier: Apache-2.0
"""Data, partitions, models, aggregation, training and evaluation.  Imports torch, but no chain software."""
