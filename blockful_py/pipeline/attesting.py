# SPDX-License-Identifier: Apache-2.0
"""Attests an erasure certificate of a run, with facts that only the run's operator can state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

from blockful_py.crypto.envelope import MAX_SEALED_BYTES, seal
from blockful_py.crypto.pem import PrivateKey
from blockful_py.errors import SettingsError
from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.pipeline.federation import SECONDS_A_DAY, Federation
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.attestation.deriving import (
    Subject,
    clear_name,
    node_digests,
    predicate_of,
    sealed_name,
    subject_names,
    utc,
)
from blockful_py.record.attestation.envelope import signed
from blockful_py.record.attestation.predicate import Controller, IssuerStatement, ResidualCopy
from blockful_py.record.certificates.document import ErasureCertificate, ReplacedModel
from blockful_py.record.certificates.verifying import Chains, verify_certificate
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.settings import ControllerSettings
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.storage.pieces import stream_of
from blockful_py.storage.unixfs import file_uri


@dataclass(frozen=True, slots=True)
class Said:
    """The operator's own statements on an erasure.

    Attributes:
        recipients_told: recipients of the data that were told of the erasure.
        copies: further readable copies, each with its last day; None if it is kept without limit.
    """

    controller: ControllerSettings
    recipients_told: Sequence[str] = ()
    copies: Mapping[str, date | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClearWeights:
    """A file with the unencrypted weights of a new version, and their data key."""

    path: Path
    key: bytes = field(repr=False)


def attest(
    federation: Federation,
    certificate: ErasureCertificate,
    key: PrivateKey,
    said: Said,
    clear: Sequence[ClearWeights] = (),
) -> tuple[bytes, tuple[Subject, ...]]:
    """Makes the DSSE envelope of one of the federation's certificates; also returns its statement's subjects.

    The certificate is verified on the chains first.  `clear` adds unencrypted weights to the subjects.

    Raises VerificationError if the certificate does not hold; SettingsError without a controller's name, or
    if clear weights belong to no new version; StorageError if the store lacks new weights.
    """
    if said.controller.name is None:
        raise SettingsError(
            "no controller of the erasure is named: name one with --set controller.name=NAME, or in "
            "section [controller] of the settings that a run is made from."
        )
    contracts, run = federation.contracts, federation.run
    chains = Chains(contracts.live, contracts.committee, contracts.archive)
    checked = verify_certificate(certificate, Anchors(), chains=chains).checked
    auditors, days = AuditorKeys(run.auditors, contracts.archive), run.settings.archive.retention_days
    copies = (*held_by_auditors(certificate, auditors, days), *_held_by_owners(certificate), *_further(said))
    issuer = IssuerStatement(
        controller=Controller(name=said.controller.name, contact=said.controller.contact),
        processors=said.controller.processors,
        recipients_told=tuple(said.recipients_told),
        residual_copies=copies,
        stated_on=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    sealed = _sealed_subjects(certificate, federation.stores)
    subjects = (*sealed, *(_clear_subject(certificate, each) for each in clear))
    return signed(subjects, predicate_of(certificate, checked, issuer), key), subjects


def _sealed_subjects(certificate: ErasureCertificate, stores: Stores) -> Iterator[Subject]:
    """The certificate's nodes and sealed weights, read from the live or the archive's store."""
    uris, nodes = subject_names(certificate), node_digests(certificate)
    for name, digest in nodes.items():
        yield Subject(name, uris[name], digest)
    for each in certificate.statement.replaced:
        if each.new_weights is not None:
            uri = parse_cid(each.new_weights)
            store = stores.live if stores.live.has(uri) else stores.archive
            hashed = sha256()
            for piece in store.stream(uri, MAX_SEALED_BYTES):
                hashed.update(piece)
            yield Subject(sealed_name(each.name), uris[sealed_name(each.name)], hashed.hexdigest())


def _clear_subject(certificate: ErasureCertificate, clear: ClearWeights) -> Subject:
    """The subject of unencrypted weights, which must seal to a CID of the certificate."""
    try:
        with clear.path.open("rb") as file:
            cid = cid_string(file_uri(stream_of(seal(clear.key, file))))
        digest = sha256(clear.path.read_bytes()).hexdigest()
    except OSError as error:
        raise SettingsError(f"the weights {clear.path} cannot be read: {error.strerror}.") from None
    for each in certificate.statement.replaced:
        if each.new_weights == cid:
            return Subject(clear_name(each.name), "", digest)
    raise SettingsError(
        f"{clear.path}, sealed under this data key, has the CID {cid}: that is no new version of this "
        "certificate. Take both files from `blockful read` or `blockful export` of a model that it lists."
    )


def held_by_auditors(
    certificate: ErasureCertificate, auditors: AuditorKeys, days: float | None
) -> Iterator[ResidualCopy]:
    """Old versions in the archive whose keys auditors hold, for `days` of retention (None: without limit)."""
    for each in certificate.statement.replaced:
        if each.old_weights is None:
            continue
        since = certificate.statement.archive.records[each.record].timestamp
        ends = None if days is None else utc(since + round(days * SECONDS_A_DAY))
        for account in sorted(auditors.holders(parse_cid(each.old_weights))):
            holder = f"auditor 0x{account.hex()}"
            yield ResidualCopy(what=f"{_version(each)}, sealed in the archive", holder=holder, ends=ends)


def _held_by_owners(certificate: ErasureCertificate) -> Iterator[ResidualCopy]:
    """Old versions that their owners trained themselves."""
    for each in certificate.statement.replaced:
        statement = each.old.statement
        if each.old_weights == statement.weights:
            yield ResidualCopy(
                what=f"{_version(each)}, as its owner trained it",
                holder=f"owner {statement.owner}",
                ends=None,
            )


def _further(said: Said) -> Iterator[ResidualCopy]:
    for what, day in said.copies.items():
        ends = None if day is None else f"{day.isoformat()}T00:00:00Z"
        yield ResidualCopy(what=what, holder=said.controller.name or "", ends=ends)


def _version(model: ReplacedModel) -> str:
    return f"{model.name}, version {model.version_before}"
