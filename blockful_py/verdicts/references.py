# SPDX-License-Identifier: Apache-2.0
"""Names of an audit's reference rows: original, gold, gold2 (the noise floor) and head_mask."""

ORIGINAL, GOLD, GOLD2, HEAD_MASK = "original", "gold", "gold2", "head_mask"
REFERENCES = (ORIGINAL, GOLD, GOLD2, HEAD_MASK)
