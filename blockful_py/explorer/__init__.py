# SPDX-License-Identifier: Apache-2.0
"""The explorer: a read-only web page that shows a running federation."""
