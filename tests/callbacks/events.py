# SPDX-License-Identifier: Apache-2.0
"""Events of one model, its request and its certificate."""

from __future__ import annotations

from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    NewVersion,
    RequestDone,
)
from blockful_py.callbacks.told import Event

RUN, KEY = "ab" * 16, "cd" * 32
ROOT = ModelTrained(RUN, "a", 1, 1, (), 0.75, {"epochs": 2, "model": "cnn"})
CHILD = ModelTrained(RUN, "s", 2, 1, ("a",), 0.5, {"epochs": 2, "model": "cnn"})
PUBLISHED = ModelPublished(RUN, "s", 2, 1, ("a",), 0.5, "1:0", "cid-of-s")
DONE = RequestDone(
    RUN,
    KEY,
    "class 3",
    ("s",),
    "parallel",
    "retrain {}",
    (NewVersion("s", 1, "cid-of-s-1", 0.25, 0.5), NewVersion("t", 1, None, None, None)),
    {"unlearn": 1.5},
)
ARCHIVE = AuditDone(RUN, None, False, ("record 0 is damaged",), "ef" * 32, {"records": 3.0, "problems": 1.0})
MODELS = AuditDone(RUN, KEY, True, (), "01" * 32, {"models": 1.0, "forgotten": 1.0}, {"s": {"auc": 0.5}})
CERTIFIED = CertificateIssued(RUN, KEY, ("s",), b'{"format":"made up"}')
ALL: tuple[Event, ...] = (ROOT, CHILD, PUBLISHED, DONE, ARCHIVE, MODELS, CERTIFIED)
