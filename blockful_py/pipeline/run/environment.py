# SPDX-License-Identifier: Apache-2.0
"""Environment variables that jobs and commands read."""

PASSPHRASE = "BLOCKFUL_PASSPHRASE"  # noqa: S105
"""Environment variable with the passphrase of the key files that a job or command decrypts."""
