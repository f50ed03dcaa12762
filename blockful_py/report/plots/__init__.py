# SPDX-License-Identifier: Apache-2.0
"""Plots that commands write as PNG files; their bytes depend only on the figures."""

from __future__ import annotations

from blockful_py.report.plots.canvas import LIGHT, Theme
from blockful_py.report.plots.classes import draw_classes
from blockful_py.report.plots.confusion import draw_confusions

__all__ = ["LIGHT", "Theme", "draw_classes", "draw_confusions"]
