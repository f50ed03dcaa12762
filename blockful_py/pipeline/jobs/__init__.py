# SPDX-License-Identifier: Apache-2.0
"""Training, publication and unlearning as journaled jobs."""
