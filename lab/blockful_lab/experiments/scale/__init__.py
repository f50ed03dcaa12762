# SPDX-License-Identifier: Apache-2.0
"""The paper's scalability section again: figures (a) to (l), its claims, and larger sizes."""
