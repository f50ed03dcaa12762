# SPDX-License-Identifier: Apache-2.0
"""Measures of a model's remaining knowledge, compared with models that never had it."""

from blockful_py.unlearning.audit.accuracy import (
    ForgetRetain,
    ModelAccuracy,
    audit_accuracy,
    forget_retain,
)
from blockful_py.unlearning.audit.auditing import audit
from blockful_py.unlearning.audit.bench import Bench, drawn, prepare
from blockful_py.unlearning.audit.disclosure import disclosed_bits
from blockful_py.unlearning.audit.epsilon import EpsilonBound, epsilon_bound
from blockful_py.unlearning.audit.exactness import is_exact
from blockful_py.unlearning.audit.folder import audit_folder
from blockful_py.unlearning.audit.folder_figures import FolderAudit
from blockful_py.unlearning.audit.klom import Klom, above_floor, klom
from blockful_py.unlearning.audit.margins import margins
from blockful_py.unlearning.audit.residual import ResidualKnowledge, perturbed, residual_knowledge
from blockful_py.unlearning.audit.samples import AuditSamples, audit_samples
from blockful_py.unlearning.audit.text_figures import TextAudit, TextFigures
from blockful_py.unlearning.audit.texts import audit_texts
from blockful_py.unlearning.audit.ulira import ULira, likelihood_ratios, u_lira
from blockful_py.verdicts.outcome import AuditOutcome

__all__ = [
    "AuditOutcome",
    "AuditSamples",
    "Bench",
    "EpsilonBound",
    "FolderAudit",
    "ForgetRetain",
    "Klom",
    "ModelAccuracy",
    "ResidualKnowledge",
    "TextAudit",
    "TextFigures",
    "ULira",
    "above_floor",
    "audit",
    "audit_accuracy",
    "audit_folder",
    "audit_samples",
    "audit_texts",
    "disclosed_bits",
    "drawn",
    "epsilon_bound",
    "forget_retain",
    "is_exact",
    "klom",
    "likelihood_ratios",
    "margins",
    "perturbed",
    "prepare",
    "residual_knowledge",
    "u_lira",
]
