# SPDX-License-Identifier: Apache-2.0
"""The commands `blockful experiment` and `blockful simulate`."""
