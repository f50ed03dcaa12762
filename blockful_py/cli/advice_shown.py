# SPDX-License-Identifier: Apache-2.0
"""Shows which method a request uses, why, and its caveats."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from blockful_py.cli.console import Output

if TYPE_CHECKING:
    from blockful_py.unlearning.choosing import Advice


def advised(method: str, advice: Advice) -> dict[str, Any]:
    """Document for `--json`; `method` is the request's, with its settings."""
    return {"method": method, **asdict(advice)}


def show_advice(out: Output, method: str, advice: Advice) -> None:
    """Prints the method, and its caveats and losses on stderr."""
    name = method.partition(" ")[0]
    out.say(f"method: {name}" + (f", {advice.reason}" if advice.reason else ""))
    if advice.caveat is not None:
        out.problem(f"warning: {name}", advice.caveat)
    if advice.loss is not None:
        out.problem("warning", advice.loss)
