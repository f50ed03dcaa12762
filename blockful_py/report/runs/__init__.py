# SPDX-License-Identifier: Apache-2.0
"""Measures the effect of requests, and writes reports and certificate pages."""
