# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/how-to/hand-a-certificate-on.md and docs/how-to/export-to-hugging-face.md."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest

from blockful_py.pipeline.federation import Federation
from tests.cli.commands import Outcome, blockful
from tests.export.conftest import Place
from tests.limits import ANY_SIZE

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "hand-a-certificate-on.md"
CONTROLLER = ("--set", "controller.name=Clinic")


@pytest.fixture(scope="module")
def envelope(place: Place) -> Path:
    """An attestation that a command wrote."""
    options = ("--told", "Lab B", "--copy", "backup 7=2026-12-01", "--output", "erasure.intoto.json")
    done = attest(place, *CONTROLLER, *options, "--json")
    assert done.status == 0, done.err
    assert done.document["subjects"].keys() == {f"{name}.sealed" for name in ("s", "t", "x", "y")}
    return place.folder / done.document["file"]


def attest(place: Place, *options: str) -> Outcome:
    words = ("certificate", "attest", str(place.certificate), "--run", "run", "--sign-key", "key.pem")
    return blockful(place.folder, *words, *options)


def verify(place: Place, *options: str) -> Outcome:
    return blockful(place.folder, "certificate", "verify", str(place.certificate), "--run", "run", *options)


def test_an_attestation_is_verified_beside_its_certificate(place: Place, envelope: Path) -> None:
    options = ("--attestation", str(envelope), "--public-key", "key.pub.pem")
    done = verify(place, *options, "--json")
    assert done.status == 0, done.err
    issuer = done.document["attestation"]["issuer"]
    assert issuer["controller"] == {"name": "Clinic", "contact": None}
    assert issuer["recipientsTold"] == ["Lab B"]
    assert "Clinic attests it" in verify(place, *options).out
    document = json.loads(envelope.read_text())
    payload = b64decode(document["payload"])
    assert b"Lab B" in payload
    document["payload"] = document["payload"][:-8] + "AAAAAAA="
    changed = place.folder / "changed.json"
    changed.write_text(json.dumps(document))
    refused = verify(place, "--attestation", str(changed), "--public-key", "key.pub.pem")
    assert refused.status == 3
    assert "attestation" in refused.error


def test_the_program_in_the_docs_needs_nothing_of_ours(place: Place, envelope: Path) -> None:
    """It knows the certificate and the sealed weights, and refuses each of them with one byte altered."""
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert "blockful" not in program
    (place.folder / "check_erasure.py").write_text(program)
    with Federation.open(place.run) as federation:
        sealed = federation.stores.live.read(federation.catalogue()["x"].node.weights, ANY_SIZE)
    (place.folder / "x.sealed").write_bytes(sealed)
    (place.folder / "erasure.json").write_bytes(place.certificate.read_bytes())
    done = check_erasure(place, "erasure.json", "x.sealed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["erasure.json is the certificate", "x.sealed is x.sealed"]
    for name in ("erasure.json", "x.sealed", envelope.name):
        path = place.folder / name
        data = path.read_bytes()
        path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        refused = check_erasure(place, "erasure.json", "x.sealed")
        path.write_bytes(data)
        assert refused.returncode != 0, name


def check_erasure(place: Place, *files: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "check_erasure.py", "erasure.intoto.json", "key.pub.pem", *files]
    return subprocess.run(command, cwd=place.folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "controller.name"),
        ((*CONTROLLER, "--set", "learning.epochs=1"), "section `controller`"),
        ((*CONTROLLER, "--copy", "backup"), "WHAT=DAY"),
        ((*CONTROLLER, "--copy", "backup=soon"), "WHAT=DAY"),
        ((*CONTROLLER, "--copy", "=never"), "WHAT=DAY"),
        ((*CONTROLLER, "--weights", "key.pem"), "--data-key"),
    ],
)
def test_options_that_do_not_fit_are_refused(place: Place, options: tuple[str, ...], words: str) -> None:
    done = attest(place, *options)
    assert done.status == 2
    assert words in done.error


@pytest.mark.parametrize(
    "options", [("--attestation", "x"), ("--public-key", "x"), ("--weights", "x")], ids=lambda pair: pair[0]
)
def test_options_that_need_others_say_so(place: Place, options: tuple[str, str]) -> None:
    done = verify(place, *options)
    assert done.status == 2
    assert "--attestation and --public-key belong together" in done.error


def test_an_exported_model_is_a_subject_too(place: Place) -> None:
    """A model in the clear, its attestation, and the check of both, as somebody else makes it."""
    words = ("--to", "hf", "--license", "apache-2.0", "--run", "run", "--output", "y-hf")
    done = blockful(place.folder, "export", "y", *words, "--sign-key", "key.pem", "--json")
    assert done.status == 0, done.err
    assert "model.sig" in done.document["files"]
    weights = ("--weights", "y-hf/model.safetensors")
    key = ("--data-key", "y-hf/weights.key")
    attested = attest(place, *CONTROLLER, *weights, *key, "--output", "y.intoto.json")
    assert attested.status == 0, attested.err
    options = ("--attestation", "y.intoto.json", "--public-key", "key.pub.pem")
    assert "is a subject" in verify(place, *options, *weights).out
    other = verify(place, *options, "--weights", "y-hf/proof.json")
    assert (other.status, "is no subject's" in other.error) == (3, True)
    proven = blockful(place.folder, "verify-proof", "y-hf/proof.json", *weights, *key, "--run", "run")
    assert proven.status == 0, proven.err


def test_an_unusable_key_is_refused_before_anything_is_written(place: Place) -> None:
    words = ("--to", "hf", "--license", "mit", "--run", "run", "--output", "unsigned")
    done = blockful(place.folder, "export", "y", *words, "--sign-key", "key.pub.pem")
    assert done.status == 2
    assert "openssl" in done.error
    assert not (place.folder / "unsigned").exists()
