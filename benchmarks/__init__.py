# SPDX-License-Identifier: Apache-2.0
"""Scripts that measure; a package, because others install one of this name."""
