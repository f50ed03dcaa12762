# SPDX-License-Identifier: Apache-2.0
"""A participant's process, which works with its own data and keys only."""
