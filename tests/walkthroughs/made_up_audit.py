# SPDX-License-Identifier: Apache-2.0
"""Prints an audit of a certificate's request: `python -m tests.walkthroughs.made_up_audit erasure.json`.

Its figures were not measured: a certificate names them without a claim about them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from blockful_py.record.certificates.attachment import audit_beacon
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.verdicts.draw import Draw
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome, commitment_of
from tests.verdicts.made_up import figures

AFFECTED = ("r5", "r7", "r6", "r9", "r10", "r12", "r8", "r11", "r14")

if __name__ == "__main__":
    method, *references = (
        Row(name, tuple(map(figures, AFFECTED))) for name in ("gradient_ascent", "original", "gold", "gold2")
    )
    certificate = parse_certificate(Path(sys.argv[1]).read_bytes())
    beacon = audit_beacon(certificate.statement).hex()
    draw = Draw(((method.method, commitment_of(method)),), beacon)
    outcome = AuditOutcome(
        "class 3", ("r5", "r7"), method.method, "0" * 64, draw.seed, method, tuple(references), draw=draw
    )
    sys.stdout.write(outcome.canonical().decode())
