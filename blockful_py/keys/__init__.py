# SPDX-License-Identifier: Apache-2.0
"""Data keys of sealed weights: storage, access and destruction."""
