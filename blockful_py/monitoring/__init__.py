# SPDX-License-Identifier: Apache-2.0
"""Observability of a process for operators: logs, request ids, metrics and health."""
