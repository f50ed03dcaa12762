# SPDX-License-Identifier: Apache-2.0
"""Finds, elects and asks committee members that are separate processes."""
