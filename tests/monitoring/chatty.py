# SPDX-License-Identifier: Apache-2.0
"""A child process that logs its task."""

from __future__ import annotations

import logging
import sys

from blockful_py.child_process import serve_task

if __name__ == "__main__":
    sys.exit(serve_task(lambda task: logging.getLogger("blockful_py.chatty").info("doing %s", task.strip())))
