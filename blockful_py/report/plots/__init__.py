# SPDX-License-Identifier: Apache-2.0
"""The plots of a report, as PNG bytes that depend on the report and the theme alone."""

from __future__ import annotations

from blockful_py.report.plots.accuracy import draw_accuracy
from blockful_py.report.plots.canvas import DARK, LIGHT, Theme
from blockful_py.report.plots.classes import class_panels, draw_classes
from blockful_py.report.plots.confusion import confusion_panels, draw_confusions
from blockful_py.report.plots.curves import draw_curves
from blockful_py.report.plots.inheritance import draw_inheritance
from blockful_py.report.plots.stages import draw_stages
from blockful_py.report.schema import Report

__all__ = [
    "DARK",
    "LIGHT",
    "Theme",
    "draw_accuracy",
    "draw_all",
    "draw_classes",
    "draw_confusions",
    "draw_curves",
    "draw_inheritance",
    "draw_stages",
]


def draw_all(report: Report, theme: Theme = LIGHT) -> dict[str, bytes]:
    """PNG bytes by plot name: inheritance, accuracy, stages; curves, classes and confusions, where the
    report has their figures."""
    plots = {
        "inheritance": draw_inheritance(report, theme),
        "accuracy": draw_accuracy(report, theme),
        "stages": draw_stages(report, theme),
    }
    if any(model.learning_curve for model in report.models):
        plots["curves"] = draw_curves(report, theme)
    names, panels = class_panels(report)
    if panels:
        plots["classes"] = draw_classes(names, panels, report.forget.classes, theme)
    matrices = confusion_panels(report)
    if matrices:
        plots["confusions"] = draw_confusions(matrices, report.forget.classes, theme)
    return plots
