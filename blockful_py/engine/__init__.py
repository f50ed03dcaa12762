# SPDX-License-Identifier: Apache-2.0
"""Where tasks run, and the journal that makes a job resumable."""
