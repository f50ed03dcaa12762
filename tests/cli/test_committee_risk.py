# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import blockful

PAPER = ("committee", "risk", "--pool", "30", "--malicious", "10", "--size", "21", "--rho", "0.2")


def test_the_papers_example(tmp_path: Path) -> None:
    outcome = blockful(tmp_path, *PAPER, "--target", "1e-6", "--trials", "1000000")
    assert (outcome.status, outcome.err) == (0, "")
    first, second, third, fourth = outcome.out.splitlines()
    assert first == "risk       6.254e-05  more than 6 of 21 members attack"
    assert second.startswith("worst case 6.687e-01")
    assert third.startswith("simulated  ")
    assert fourth == "smallest committee for a risk of 1e-6: 25 members; every size from 28 on will do"
    assert list(tmp_path.iterdir()) == []


def test_json_and_a_plot(tmp_path: Path) -> None:
    options = ("--target", "1e-6", "--trials", "200000", "--seed", "7", "--plot", "risk.png", "--json")
    outcome = blockful(tmp_path, *PAPER, *options)
    assert (outcome.status, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert found["risk"] == pytest.approx(6.254057810703041e-05, rel=1e-15)
    assert found["tolerated"] == 6
    assert found["target"] == {"risk": 1e-6, "smallest": 25, "lasting": 28}
    simulation = found["simulation"]
    assert simulation["interval"][0] <= simulation["frequency"] <= simulation["interval"][1]
    assert simulation["seed"] == 7
    assert found["plot"] == "risk.png"
    assert (tmp_path / "risk.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("--size", "31"), "a committee has 1 to 30 of the candidates, not 31"),
        (("--malicious", "31"), "are malicious, not 31"),
        (("--rho", "two"), "--rho is a number such as"),
        (("--rho", "1/0"), "--rho is a number such as"),
        (("--rho", "1.5"), "from 0 to 1, not 1.5"),
        (("--target", "0"), "between 0 and 1"),
        (("--trials", "-1"), "1 trial or more"),
        (("--trials", "0", "--plot", "none/risk.png"), "none/risk.png cannot be written: No such file"),
    ],
)
def test_bad_numbers_are_one_clear_error(tmp_path: Path, change: tuple[str, ...], reason: str) -> None:
    outcome = blockful(tmp_path, *PAPER, *change)
    assert outcome.status == 2
    assert reason in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
