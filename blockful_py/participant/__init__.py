# SPDX-License-Identifier: Apache-2.0
"""A participant's process: its own data and keys, and nobody else's."""
