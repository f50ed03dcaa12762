# SPDX-License-Identifier: Apache-2.0
"""A run whose s, t, x and y were replaced once, on embedded chains; its certificate; and a key pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from blockful_py.pipeline.federation import Federation
from blockful_py.report.runs.certificate_page import keep
from tests.federations import small
from tests.record.certificates.test_certificate import made_up_audit


@dataclass(frozen=True)
class Place:
    """A folder with a run, `run`; its certificate; and a key pair, `key.pem` and `key.pub.pem`."""

    folder: Path
    certificate: Path

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    @property
    def public_key(self) -> Path:
        return self.folder / "key.pub.pem"


def write_pair(folder: Path, name: str = "key") -> None:
    """A fresh key pair on P-256, `<name>.pem` and `<name>.pub.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.pem").write_bytes(private)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub.pem").write_bytes(public)


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("handed-on")
    write_pair(folder)
    settings = small(chain={"devnet": "embedded"})
    with Federation.create(settings, folder / "run") as federation:
        federation.train()
        request = federation.unlearn().request
        certificate = keep(
            federation.certify_erasure(request, made_up_audit(federation, request)),
            federation.run.certificates,
        )
    return Place(folder, certificate)


@pytest.fixture(scope="package")
def federation(place: Place) -> Iterator[Federation]:
    with Federation.open(place.run) as opened:
        yield opened
