# SPDX-License-Identifier: Apache-2.0
"""Geometry of the page's figures, from the report alone; templates draw them, a style sheet colours them."""
