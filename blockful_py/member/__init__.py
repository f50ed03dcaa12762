# SPDX-License-Identifier: Apache-2.0
"""A committee member's process: its office and its duties."""
