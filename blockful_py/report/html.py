# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with everything in it, readable offline, on a phone, in light and in dark."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping

from pydantic import JsonValue

from blockful_py.report import summary
from blockful_py.report.pages import page_templates
from blockful_py.report.plots.canvas import DOTS_PER_INCH
from blockful_py.report.plots.stages import stage_names
from blockful_py.report.roles import Role, role_of
from blockful_py.report.schema import Report
from blockful_py.types import Paradigm

CSS_DOTS_PER_INCH = 96


def render_html(report: Report, light: Mapping[str, bytes], dark: Mapping[str, bytes]) -> str:
    """The page; `light` and `dark` are PNG bytes by plot name as `draw_all` gives them."""
    environment = page_templates()
    environment.filters.update(percent=_percent, count=_count, seconds=_seconds)
    return environment.get_template("report.html.j2").render(
        report=report,
        summary=summary,
        paradigms=[paradigm for paradigm, _ in report.operations.each()],
        PARALLEL=Paradigm.PARALLEL,
        SEQUENTIAL=Paradigm.SEQUENTIAL,
        role_of=role_of,
        roles={role: sum(role_of(model) is role for model in report.models) for role in Role},
        stages=stage_names([*report.seconds.parallel, *report.seconds.sequential]),
        settings=_flat(dict(report.settings)),
        plots={name: _plot(light[name], dark[name]) for name in light},
    )


def _plot(light: bytes, dark: bytes) -> dict[str, str | int]:
    """Data URIs of both themes, and the size in CSS pixels."""
    width, height = struct.unpack(">II", light[16:24])  # PNG: IHDR follows 8 + 8 bytes
    scale = CSS_DOTS_PER_INCH / DOTS_PER_INCH
    return {
        "light": "data:image/png;base64," + base64.b64encode(light).decode(),
        "dark": "data:image/png;base64," + base64.b64encode(dark).decode(),
        "width": round(width * scale),
        "height": round(height * scale),
    }


def _flat(settings: Mapping[str, JsonValue], prefix: str = "") -> list[tuple[str, str]]:
    """Settings as dotted names and values, sorted by name."""
    flat = []
    for name, value in sorted(settings.items()):
        if isinstance(value, dict) and value:
            flat += _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            flat.append((prefix + name, ", ".join(map(str, value))))
        else:
            flat.append((prefix + name, str(value)))
    return flat


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float) -> str:
    return f"{value:.2f}"
