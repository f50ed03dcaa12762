# SPDX-License-Identifier: Apache-2.0
"""One decrypted model of a run, with evidence of its origin."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.errors import RunError
from blockful_py.export.network_folder import network_of
from blockful_py.keys.sealing import plain
from blockful_py.learning.datasets.registry import SCHEMAS
from blockful_py.learning.models import Architecture
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.proving import prove
from blockful_py.pipeline.run.progress import Progress
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.request import Request


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """The current version of a model.

    Attributes:
        dataset, hub_dataset: its name in the settings, and its id on the hub, or None.
        weights: safetensors, byte for byte as sealed in the store.
        data_key: 32-byte encryption key of the sealed file.
        proof: shows that the model is on the record.
        certificate: of the request that replaced it; None for a first version.
    """

    placed: PlacedNode
    architecture: Architecture
    dataset: str
    hub_dataset: str | None
    weights: bytes
    data_key: bytes = field(repr=False)
    proof: bytes
    certificate: bytes | None


def exported(federation: Federation, name: str, progress: Progress | None = None) -> ExportedModel:
    """Reads, verifies and proves a model.

    Raises UnknownModelError, WithdrawnError, KeyDestroyedError and StorageError; VerificationError if the
    record does not verify; RunError if the certificate of a replaced version is missing.
    """
    placed, settings = federation.catalogue()[name], federation.settings.learning
    redaction, uri = placed.node.redaction, placed.node.weights
    certificate = None
    if redaction is not None:
        certificate = _certificate(federation.run.certificates, redaction.request, name)
    key = federation.weights.keyring.find((uri,))[uri]
    weights = b"".join(plain(key, federation.stores.live.stream(uri, MAX_SEALED_BYTES), uri))
    architecture = federation.setup.architecture
    network_of(weights, architecture)  # rejects damaged weights and another architecture's
    schema = SCHEMAS.get(settings.dataset) if settings.data_files is None else None
    hub = None if schema is None else schema.hub
    proof = prove(federation, [name], progress=progress).to_bytes()
    return ExportedModel(placed, architecture, settings.dataset, hub, weights, key, proof, certificate)


def _certificate(folder: Path, request: Request, name: str) -> bytes:
    """The newest certificate of a request that replaced the model."""
    for path in sorted(folder.glob("erasure-*.json"), reverse=True):
        data = path.read_bytes()
        statement = parse_certificate(data).statement
        if statement.request == request and name in {each.name for each in statement.replaced}:
            return data
    raise RunError(
        f"{name} was replaced, and this run has no certificate of it: make one with "
        f"`blockful certificate issue --model {name}`."
    )
