# SPDX-License-Identifier: Apache-2.0
"""The reviews that members make before they sign."""
