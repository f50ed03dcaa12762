# SPDX-License-Identifier: Apache-2.0
"""Reports of a run: report.json, report.html, plots, and the table that `make demo` prints."""

from blockful_py.report.schema import Report

__all__ = ["Report"]
