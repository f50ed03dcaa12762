# SPDX-License-Identifier: Apache-2.0
"""The explorer: a web page that shows a federation while it lives, read-only."""
