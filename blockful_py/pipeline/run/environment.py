# SPDX-License-Identifier: Apache-2.0
"""Environment variables that jobs and commands look at."""

PASSPHRASE = "BLOCKFUL_PASSPHRASE"  # noqa: S105
"""The passphrase of the keys that a job or a command has to open."""
