# SPDX-License-Identifier: Apache-2.0
"""The members that are processes of their own: reached, elected, asked."""
