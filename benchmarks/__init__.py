# SPDX-License-Identifier: Apache-2.0
"""Scripts that measure the project; a package, since other distributions install one of this name."""
