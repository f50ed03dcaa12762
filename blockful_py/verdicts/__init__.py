# SPDX-License-Identifier: Apache-2.0
"""An audit's figures and what follows from them, as values."""
