# SPDX-License-Identifier: Apache-2.0
"""The printed advice on a request's method."""

from __future__ import annotations

import pytest

from blockful_py.cli.console import Output
from blockful_py.cli.unlearn import advised, show_advice
from blockful_py.unlearning.choosing import Advice


@pytest.mark.parametrize(
    ("advice", "out", "err"),
    [
        (Advice("it is exact"), "method: retrain, it is exact\n", ""),
        (Advice(None, "leaves traces"), "method: retrain\n", "warning: retrain: leaves traces\n"),
        (Advice(None, None, "r1 knows nothing"), "method: retrain\n", "warning: r1 knows nothing\n"),
    ],
)
def test_the_reason_is_printed_and_the_caveat_is_a_warning(
    advice: Advice, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_advice(Output(False), "retrain {}", advice)
    assert capsys.readouterr() == (out, err)
    assert advised("retrain {}", advice) == {
        "method": "retrain {}",
        "reason": advice.reason,
        "caveat": advice.caveat,
        "loss": advice.loss,
        "more_starts": False,
    }
