# SPDX-License-Identifier: Apache-2.0
"""Experiments that can be rerun: the audit of all methods, and the paper's tables."""
