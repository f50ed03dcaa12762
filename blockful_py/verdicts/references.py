# SPDX-License-Identifier: Apache-2.0
"""Names of an audit's reference rows: original, gold, gold2 (the noise floor), resampled and head_mask."""

ORIGINAL, GOLD, GOLD2, RESAMPLED, HEAD_MASK = "original", "gold", "gold2", "resampled", "head_mask"
REFERENCES = (ORIGINAL, GOLD, GOLD2, RESAMPLED, HEAD_MASK)


def rows_for(classes: bool, sums: bool = False) -> tuple[str, ...]:
    """Reference rows of a request: `head_mask` for classes alone, `resampled` for models of sums alone."""
    left_out = {*(() if classes else (HEAD_MASK,)), *(() if sums else (RESAMPLED,))}
    return tuple(name for name in REFERENCES if name not in left_out)
