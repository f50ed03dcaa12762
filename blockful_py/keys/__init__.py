# SPDX-License-Identifier: Apache-2.0
"""Data keys of sealed weights: who keeps, reads and destroys them."""
