# SPDX-License-Identifier: Apache-2.0
"""Members, what they decide on, and who leads them through it."""
