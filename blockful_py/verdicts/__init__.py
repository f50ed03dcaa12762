# SPDX-License-Identifier: Apache-2.0
"""An audit's figures and the resulting verdict, as values."""
