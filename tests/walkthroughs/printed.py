# SPDX-License-Identifier: Apache-2.0
"""Prints a value from the output of `--json`: `python -m tests.walkthroughs.printed FILE KEY...`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    value = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for key in sys.argv[2:]:
        value = value[int(key) if isinstance(value, list) else key]
    sys.stdout.write(f"{value}\n")
