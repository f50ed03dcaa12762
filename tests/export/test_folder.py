# SPDX-License-Identifier: Apache-2.0
"""Folders for the Hugging Face hub: their card, their bits, their proof, and their signature, by the packages
of others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard, ModelCardData
from model_signing import verifying
from safetensors.torch import load_file

from blockful_py.errors import FormatError, LearningError, RunError, SettingsError
from blockful_py.export.exported import ExportedModel, exported
from blockful_py.export.folder import write_folder
from blockful_py.export.network_folder import read_network
from blockful_py.keys.data_key import read_data_key
from blockful_py.learning.weights import to_bytes
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.proving import sources_of
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.proofs.proof import parse_proof, verify_proof
from tests.export.conftest import Place
from tests.federations import GRAPH

REPLACED, FIRST = "x", "z"
FILES = {"README.md", "config.json", "model.safetensors", "model.sig", "proof.json", "weights.key"}


@pytest.fixture(scope="module")
def model(federation: Federation) -> ExportedModel:
    return exported(federation, REPLACED)


@pytest.fixture(scope="module")
def folder(place: Place, model: ExportedModel) -> Path:
    """The replaced model, signed."""
    path = place.folder / "exported"
    write_folder(path, model, "apache-2.0", "acme", place.key)
    return path


@pytest.fixture(scope="module")
def first(place: Place, federation: Federation) -> Path:
    """A model that was never replaced, without a signature."""
    path = place.folder / "first"
    write_folder(path, exported(federation, FIRST), "mit")
    return path


def test_it_holds_what_its_readers_need(place: Place, folder: Path, first: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES | {"erasure.json"}
    assert {path.name for path in first.iterdir()} == FILES - {"model.sig"}
    assert (folder / "erasure.json").read_bytes() == place.certificate.read_bytes()


@pytest.mark.parametrize("name", [REPLACED, FIRST])
def test_the_network_that_is_read_back_has_the_same_bits(
    federation: Federation, folder: Path, first: Path, name: str
) -> None:
    path = folder if name == REPLACED else first
    expected = federation.weights.read(federation.catalogue()[name].node.weights)
    assert (path / "model.safetensors").read_bytes() == to_bytes(expected)
    network, loaded = read_network(path), load_file(path / "model.safetensors")
    assert network.state_dict().keys() == loaded.keys() == expected.keys()
    for key, tensor in expected.items():
        assert torch.equal(network.state_dict()[key], tensor.cpu())
        assert torch.equal(loaded[key], tensor.cpu())
    assert network(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


def test_the_hubs_own_class_reads_the_card(federation: Federation, folder: Path, first: Path) -> None:
    card = ModelCard.load(folder / "README.md")
    data, node = card.data, federation.catalogue()[REPLACED].node
    assert isinstance(data, ModelCardData)
    assert data.base_model == [f"acme/{name}" for name in GRAPH[REPLACED]]
    assert (data.license, data.library_name, data.model_name) == ("apache-2.0", "blockful", REPLACED)
    assert node.redaction is not None and node.redaction.claims is not None
    claims = node.redaction.claims
    assert data.eval_results is not None
    assert [each.metric_value for each in data.eval_results] == [round(claims.ad_r, 6), round(claims.ad_f, 6)]
    plain = ModelCard.load(first / "README.md").data
    assert plain.base_model == list(GRAPH[FIRST])
    (owners,) = plain.eval_results
    assert owners.metric_value == round(federation.catalogue()[FIRST].node.statement.accuracy, 6)


def test_the_proof_vouches_for_the_weights_in_the_clear(federation: Federation, folder: Path) -> None:
    proof, key = parse_proof((folder / "proof.json").read_bytes()), read_data_key(folder / "weights.key")
    chains = sources_of(federation.contracts)
    outcome = verify_proof(proof, Anchors(), chains, folder / "model.safetensors", key)
    assert [each.node.name for each in outcome.models] == [REPLACED]


def model_signing(place: Place, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program of OpenSSF model signing."""
    words = ["verify", "key", str(folder), "--signature", str(folder / "model.sig")]
    return subprocess.run(
        [sys.executable, "-m", "model_signing", *words, "--public_key", str(place.public_key)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def one_bit_changed(folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """One bit in the middle of a file of the folder is another one meanwhile."""
    path: Path = folder / request.param
    data = path.read_bytes()
    other = bytearray(data)
    other[len(data) // 2] ^= 1
    path.write_bytes(other)
    yield request.param
    path.write_bytes(data)


def test_the_program_of_others_verifies_the_signature_and_refuses_other_weights(
    place: Place, folder: Path
) -> None:
    done = model_signing(place, folder)
    assert (done.returncode, done.stdout.strip()) == (0, "Verification succeeded"), done.stderr
    path = folder / "model.safetensors"
    data = path.read_bytes()
    try:
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        refused = model_signing(place, folder)
    finally:
        path.write_bytes(data)
    assert refused.returncode == 1
    assert "model.safetensors" in refused.stderr


@pytest.mark.parametrize("one_bit_changed", sorted(FILES | {"erasure.json"}), indirect=True)
def test_a_changed_bit_in_any_file_is_refused(place: Place, folder: Path, one_bit_changed: str) -> None:
    signature = folder / "model.sig"
    verifier = verifying.Config().use_elliptic_key_verifier(public_key=place.public_key)
    with pytest.raises(Exception) as caught:
        verifier.verify(folder, signature)
    assert one_bit_changed == "model.sig" or one_bit_changed in str(caught.value)


def test_a_folder_that_exists_is_left_as_it_is(folder: Path, model: ExportedModel) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(RunError, match="exists"):
        write_folder(folder, model, "mit")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_key_that_cannot_sign_leaves_no_folder(tmp_path: Path, model: ExportedModel) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        write_folder(tmp_path / "new", model, "mit", key=tmp_path / "none.pem")
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_model_without_a_certificate_says_how_to_get_one(
    place: Place, federation: Federation, tmp_path: Path
) -> None:
    away = tmp_path / place.certificate.name
    place.certificate.rename(away)
    try:
        with pytest.raises(RunError, match="certificate issue --model x"):
            exported(federation, REPLACED)
    finally:
        away.rename(place.certificate)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"architecture": "os:system"}, LearningError),
        ({"architecture": "nothing"}, SettingsError),
        ({"options": {"network": "os:system"}}, LearningError),
        ({"class_count": 11}, LearningError),
        ({"class_count": 0}, FormatError),
        ({"class_count": "10"}, FormatError),
        ({"more": 1}, FormatError),
    ],
)
def test_another_configuration_is_refused(
    first: Path, tmp_path: Path, change: dict[str, object], error: type[Exception]
) -> None:
    document = json.loads((first / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(document | change))
    (tmp_path / "model.safetensors").write_bytes((first / "model.safetensors").read_bytes())
    with pytest.raises(error):
        read_network(tmp_path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"model\.safetensors cannot be read"):
        read_network(tmp_path)
