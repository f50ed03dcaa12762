# SPDX-License-Identifier: Apache-2.0
"""Properties of methods, known before anybody measures: exactness, and the data that others leave.

By name, since readers of certificates have no torch.
"""

from __future__ import annotations

from typing import Final

from blockful_py.forget import Level
from blockful_py.types import References

RETRAIN_AHEAD: Final = "retrain_ahead"
RETRAIN: Final = "retrain"
CLEAN_LINE: Final = "clean_line"
CLEAN_INCREMENTS: Final = "clean_increments"
SUBTRACT: Final = "subtract"
WITHDRAW: Final = "withdraw"


def exact_words(method: str, references: References, taught_outside: bool | None) -> str | None:
    """Words for an exact method (`unlearning.audit.exactness`); None if it is not exact, or unknown.

    `taught_outside` is as for `caveat`.
    """
    always = method in (RETRAIN_AHEAD, CLEAN_LINE, SUBTRACT)
    return references.exact if always or (method == RETRAIN and taught_outside is False) else None


def caveat(method: str, level: Level, taught_outside: bool | None, past_graph: bool = False) -> str | None:
    """Data that the method fails to forget; None if unknown, as for a custom method.

    Args:
        taught_outside: whether an unchanged ancestor of an affected model was trained on forgotten samples;
            None if this cannot be known.
        past_graph: whether such an ancestor was made by a clean line, which takes data past the graph.
    """
    if method in (SUBTRACT, WITHDRAW):
        return None
    if past_graph:
        return (
            "clean_line made ancestors that the request leaves unchanged, and they may know the forgotten "
            "data past the graph: let the request start at them"
        )
    if method == RETRAIN_AHEAD or ":" in method:
        return None
    if method == CLEAN_LINE:
        return (
            "forgets exactly, but takes the data of all owners past the graph: models then know data of "
            "later requests although they do not descend from its owners' models"
        )
    if taught_outside is None:
        return (
            "unchanged models teach it again if they were trained on it: let the request start at the first "
            "models of all its holders"
        )
    if taught_outside and not (method == CLEAN_INCREMENTS and level is not Level.CLASS):
        return "does not forget here: models that the request leaves unchanged know it, and teach it again"
    if method == RETRAIN:
        return None
    return "is not exact; docs/explanation/unlearning-results.md lists the traces that audits found"


def warning(method: str, said: str) -> str:
    """A caveat with its method, as commands, reports and certificates state it."""
    return f"{method}: {said}"
