# SPDX-License-Identifier: Apache-2.0
"""Methods that make models forget, and the audit of what they know afterwards.  No chain in here."""
