# SPDX-License-Identifier: Apache-2.0
"""Deployments files of scripts/deploy.py are valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import curve
from tests.contracts.scene import Panel
from tests.contracts.sortition import RULES, rules


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module_isolation: None) -> Path:
    monkeypatch.setenv("BLOCKFUL_DEPLOYMENTS", str(tmp_path / "deployments"))
    monkeypatch.delenv("BLOCKFUL_ROSTER", raising=False)
    return tmp_path


def stands(entry: dict[str, Any]) -> bool:
    from brownie import web3

    receipt = web3.eth.get_transaction_receipt(entry["transaction"])
    created = (receipt["contractAddress"].lower(), receipt["blockNumber"])
    return (
        created == (entry["address"], entry["block"])
        and len(web3.eth.get_code(receipt["contractAddress"])) > 0
    )


def test_everything_on_one_chain(folder: Path) -> None:
    from brownie import AppointedCommittee, QuorumMirror, chain

    from scripts import deploy

    path = deploy.everything()
    written = json.loads(path.read_text())
    assert path == folder / "deployments" / f"{chain.id}.json"
    assert (written["format"], written["chainId"]) == ("blockful-deployments/1", chain.id)
    assert list(written["contracts"]) == [
        "AlarmRegistry",
        "AppointedCommittee",
        "ArchiveRegistry",
        "LiveChain",
        "ParticipantRegistry",
        "QuorumMirror",
        "ReaderRegistry",
    ]
    assert all(stands(entry) for entry in written["contracts"].values())
    assert written["compiler"]["version"].startswith("0.8.30")
    home = AppointedCommittee.at(written["contracts"]["AppointedCommittee"]["address"])
    mirror = QuorumMirror.at(written["contracts"]["QuorumMirror"]["address"])
    assert home.domainSeparator() == mirror.domainSeparator()
    assert home.roster(1) == mirror.roster(1)


def test_two_steps_with_a_roster_of_ones_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brownie import AppointedCommittee, QuorumMirror

    from scripts import deploy

    panel = Panel.seeded(7, "own")
    members, threshold, unanimous, x, y = panel.roster()
    encoded = [f"0x{each_x:064x}{each_y:064x}" for each_x, each_y in members]
    own = {"members": encoded, "threshold": threshold, "unanimous": unanimous, "keyX": hex(x), "keyY": hex(y)}
    (folder / "roster.json").write_text(json.dumps(own))
    monkeypatch.setenv("BLOCKFUL_ROSTER", str(folder / "roster.json"))
    path = deploy.main()
    monkeypatch.setenv("BLOCKFUL_HOME", str(path))
    assert deploy.archive() == path
    written = json.loads(path.read_text())["contracts"]
    for contract, name in ((AppointedCommittee, "AppointedCommittee"), (QuorumMirror, "QuorumMirror")):
        book = contract.at(written[name]["address"])
        assert bytes(book.keyId(1)) == curve.key_id(panel.key)
        assert book.roster(1)[1] == 5


def test_the_elected_committee(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from brownie import Committee, accounts

    from scripts import deploy

    (folder / "rules.json").write_text(json.dumps(RULES))
    monkeypatch.setenv("BLOCKFUL_PARAMETERS", str(folder / "rules.json"))
    founders = [str(accounts[index]) for index in range(3)]
    monkeypatch.setenv("BLOCKFUL_FOUNDERS", ",".join(founders))
    written = json.loads(deploy.elected().read_text())["contracts"]
    assert list(written) == [
        "AlarmRegistry",
        "Committee",
        "LiveChain",
        "ParticipantRegistry",
        "ReaderRegistry",
        "VrfVerifier",
    ]
    assert all(stands(entry) for entry in written.values())
    committee = Committee.at(written["Committee"]["address"])
    assert tuple(committee.parameters()) == rules()
    assert [committee.founder(account) for account in accounts[:4]] == [True, True, True, False]


def test_parameters_by_other_names(folder: Path) -> None:
    from scripts import deploy

    (folder / "rules.json").write_text(json.dumps({**RULES, "seat": 1}))
    with pytest.raises(ValueError, match="expected exactly minStake"):
        deploy.parameters(folder / "rules.json")
