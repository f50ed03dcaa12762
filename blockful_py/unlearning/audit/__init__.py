# SPDX-License-Identifier: Apache-2.0
"""Measures of what a model still knows, beside models that never knew it."""

from blockful_py.unlearning.audit.accuracy import (
    ForgetRetain,
    ModelAccuracy,
    audit_accuracy,
    forget_retain,
)
from blockful_py.unlearning.audit.auditing import audit
from blockful_py.unlearning.audit.bench import Bench, prepare
from blockful_py.unlearning.audit.samples import AuditSamples, audit_samples
from blockful_py.verdicts.outcome import AuditOutcome

__all__ = [
    "AuditOutcome",
    "AuditSamples",
    "Bench",
    "ForgetRetain",
    "ModelAccuracy",
    "audit",
    "audit_accuracy",
    "audit_samples",
    "forget_retain",
    "prepare",
]
