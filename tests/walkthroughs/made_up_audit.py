# SPDX-License-Identifier: Apache-2.0
"""Prints an audit of the paper's request: `python -m tests.walkthroughs.made_up_audit`.

Its figures were not measured: a certificate names them without a claim about them.
"""

from __future__ import annotations

import sys

from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome
from tests.verdicts.made_up import figures

AFFECTED = ("r5", "r7", "r6", "r9", "r10", "r12", "r8", "r11", "r14")

if __name__ == "__main__":
    method, *references = (
        Row(name, tuple(map(figures, AFFECTED))) for name in ("gradient_ascent", "original", "gold", "gold2")
    )
    outcome = AuditOutcome("class 3", ("r5", "r7"), method.method, "0" * 64, 0, method, tuple(references))
    sys.stdout.write(outcome.canonical().decode())
