# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockful_py.chain.deployments import Deployment, deployments_path, load
from blockful_py.errors import DeploymentError
from tests.chain.conftest import Scene


def test_one_file_holds_all_contracts_of_one_chain(scene: Scene, tmp_path: Path) -> None:
    path = scene.deployment.write(tmp_path / "deployments")
    assert path == deployments_path(tmp_path / "deployments", scene.node.chain_id)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    value = json.loads(path.read_text())
    assert set(value) == {"format", "chainId", "contracts", "compiler"}
    assert set(value["contracts"]) == {
        "AlarmRegistry",
        "AppointedCommittee",
        "ArchiveRegistry",
        "LiveChain",
        "ParticipantRegistry",
        "QuorumMirror",
        "ReaderRegistry",
    }
    assert set(value["contracts"]["LiveChain"]) == {"address", "block", "transaction"}
    assert load(path, scene.node) == scene.deployment


def test_a_contract_that_was_not_deployed_is_named(scene: Scene) -> None:
    with pytest.raises(DeploymentError, match="Explorer is not deployed on chain"):
        scene.deployment.address("Explorer")


def test_deployments_of_two_chains_do_not_mix(scene: Scene) -> None:
    with pytest.raises(DeploymentError, match="do not go into one file"):
        scene.deployment.merged(Deployment(5, {}, {}))


def test_a_missing_file_is_told(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match="does not exist: deploy the contracts first"):
        load(tmp_path / "1337.json", scene.node)


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        (lambda value: value.update(chainId=9), "is of chain 9, the node"),
        (lambda value: value.update(format="other/1"), "format 'other/1'"),
        (lambda value: value.pop("contracts"), "not a deployments file"),
        (lambda value: value["contracts"]["LiveChain"].pop("block"), "not a deployments file"),
        (lambda value: value["contracts"]["LiveChain"].update(address="0x12"), "expected 20 bytes"),
        (
            lambda value: value["contracts"]["LiveChain"].update(address="0x" + "7f" * 20),
            r"altered: contracts.LiveChain.address is 0x7f.* deployed 0x.*Put that address back",
        ),
        (
            lambda value: value["contracts"]["LiveChain"].update(
                address=value["contracts"]["ReaderRegistry"]["address"]
            ),
            r"altered: contracts.LiveChain.address is",
        ),
        (
            lambda value: value["contracts"]["LiveChain"].update(
                address="0x" + "7f" * 20, transaction="0x" + "7f" * 32
            ),
            r"LiveChain should be, and other contracts .* contracts.LiveChain was altered",
        ),
    ],
)
def test_defects_are_named(scene: Scene, tmp_path: Path, defect: object, message: str) -> None:
    path = scene.deployment.write(tmp_path)
    value = json.loads(path.read_text())
    assert callable(defect)
    defect(value)
    path.write_text(json.dumps(value))
    with pytest.raises(DeploymentError, match=message):
        load(path, scene.node)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\x00"])
def test_other_files_are_refused(scene: Scene, tmp_path: Path, text: str) -> None:
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(DeploymentError, match="not a deployments file"):
        load(tmp_path / "file.json", scene.node)


def test_a_folder_that_cannot_be_written_is_told(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeploymentError, match="choose a directory that you may write to"):
        scene.deployment.write(tmp_path / "file")
