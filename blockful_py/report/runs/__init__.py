# SPDX-License-Identifier: Apache-2.0
"""Measures what requests did, and writes reports and certificate pages."""
