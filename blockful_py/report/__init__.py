# SPDX-License-Identifier: Apache-2.0
"""Reports of a run (report.json, report.html, the table of `make demo`), and plots of other commands."""

from blockful_py.report.schema import Report

__all__ = ["Report"]
