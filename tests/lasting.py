# SPDX-License-Identifier: Apache-2.0
"""A child process that reports its start in a file, and never ends by itself."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from blockful_py.child_process import serve_task


def work(task: str) -> None:
    Path(task.strip()).write_text(str(os.getpid()), encoding="utf-8")
    signal.pause()


if __name__ == "__main__":
    sys.exit(serve_task(work))
