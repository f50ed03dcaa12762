# SPDX-License-Identifier: Apache-2.0
"""Unlearning methods, and the audit of the knowledge that remains afterwards.  Imports no chain software."""
