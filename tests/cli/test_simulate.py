# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockful_lab.simulation.validation import MEASURED
from tests.cli.commands import blockful

SMALL = ("simulate", "--requests", "6", "--depth", "2", "--members", "4", "--repeats", "2")


def test_figures_come_with_n_and_range(tmp_path: Path) -> None:
    found = blockful(tmp_path, *SMALL)
    assert found.status == 0
    first, *lines = found.out.splitlines()
    assert first == "6 requests, 12 models, parallel, pbft, 4 members"
    figures, errors = lines[: -len(MEASURED) - 1], lines[-len(MEASURED) - 1 : -1]
    assert figures and all("n = 2" in line for line in figures)
    assert errors == [f"measured error: {each}" for each in MEASURED]
    assert "simulate: 24 models" in found.err


def test_json_has_settings_and_runs_and_nothing_else_is_printed(tmp_path: Path) -> None:
    found = blockful(tmp_path, *SMALL, "--paradigm", "sequential", "--consensus", "qbft", "--json")
    assert (found.status, found.err) == (0, "")
    document = found.document
    assert document["settings"]["consensus"] == "qbft"
    assert [run["seed"] for run in document["runs"]] == [1, 2]
    assert document["figures"]["throughput"]["n"] == 2
    assert [each["n"] for each in document["measured_errors"]] == [12, 16, 4]
    assert document["runs"][0]["operations"] == document["runs"][0]["formula"]


def test_more_members_than_the_contracts_take_are_pointed_out(tmp_path: Path) -> None:
    found = blockful(tmp_path, *SMALL, "--members", "300")
    assert "The contracts allow at most 256 members: more are simulated only." in found.out.splitlines()


def test_constants_of_a_file_replace_ours(tmp_path: Path) -> None:
    entry = {"claims": {"value": 1000, "unit": "s", "source": "a test"}}
    (tmp_path / "mine.json").write_text(json.dumps(entry))
    before = blockful(tmp_path, *SMALL, "--json").document["figures"]["seconds"]["mean"]
    after = blockful(tmp_path, *SMALL, "--constants", "mine.json", "--json").document["figures"]["seconds"]
    assert after["mean"] > before + 900


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--members", "0"), "members must be at least 1 and at most 100000, not 0"),
        (("--latency", "fast"), "'fast' is no distribution of positive numbers"),
        (("--network", "gpt"), "choose from alexnet-cifar100"),
        (("--repeats", "0"), "--repeats is 1 or more"),
        (("--constants", "none.json"), "none.json cannot be read as constants"),
        (("--block-gas", "1000"), "put fewer models into one (--chunk)"),
    ],
)
def test_bad_settings_are_one_clear_error(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    found = blockful(tmp_path, *SMALL, *words)
    assert found.status == 2
    assert reason in found.error
    assert found.out == ""
