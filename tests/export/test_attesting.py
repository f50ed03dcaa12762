# SPDX-License-Identifier: Apache-2.0
"""Attestations of erasures: made here, and read by the packages of others."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib import exceptions
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

from blockful_py.crypto.pem import read_private_key, read_public_key
from blockful_py.errors import BlockfulError, FormatError, SettingsError, VerificationError
from blockful_py.keys.auditor_keys import FORMAT, AuditorKeys
from blockful_py.learning.weights import to_bytes
from blockful_py.pipeline.attesting import ClearWeights, Said, attest, held_by_auditors
from blockful_py.pipeline.federation import Federation
from blockful_py.record.attestation.checking import check_attestation, require_subject
from blockful_py.record.attestation.deriving import Subject, node_digests, subject_names, utc
from blockful_py.record.attestation.envelope import PAYLOAD_TYPE
from blockful_py.record.attestation.predicate import PREDICATE_TYPE, ErasurePredicate
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import ErasureCertificate, parse_certificate
from blockful_py.record.shown import shown
from blockful_py.settings import ControllerSettings
from blockful_py.storage.cid import parse_cid
from tests.export.conftest import Place, write_pair
from tests.federations import AFFECTED, UNTOUCHED
from tests.limits import ANY_SIZE
from tests.record.mutations import altered, leaves, replaced

DOCS = Path(__file__).parents[2] / "docs" / "reference"
CLINIC = ControllerSettings("Clinic", "privacy@clinic.example", ("Host Ltd",))
SAID = Said(CLINIC, ("Lab B",), {"backup 7": date(2026, 12, 1), "a film": None})


@pytest.fixture(scope="module")
def certificate(place: Place) -> ErasureCertificate:
    return parse_certificate(place.certificate.read_bytes())


@pytest.fixture(scope="module")
def envelope(place: Place, federation: Federation, certificate: ErasureCertificate) -> bytes:
    data, _ = attest(federation, certificate, read_private_key(place.key), SAID)
    return data


def read_by_others(data: bytes, public_key: Path) -> Statement:
    """A statement, as software that knows in-toto and nothing of us reads it."""
    read = Envelope.from_dict(json.loads(data))
    key = SSlibKey.from_crypto(load_pem_public_key(public_key.read_bytes()))
    read.verify([key], threshold=1)
    assert read.payload_type == "application/vnd.in-toto+json"
    statement = Statement.copy_from_pb(json_format.Parse(read.payload, statement_pb2.Statement()))
    statement.validate()
    return statement


def payload_of(data: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(b64decode(json.loads(data)["payload"]))
    return document


def signed_again(statement: dict[str, Any], place: Place) -> bytes:
    """An envelope of any statement under the issuer's own key."""
    made = Envelope(json.dumps(statement).encode(), PAYLOAD_TYPE, {})
    made.sign(CryptoSigner(read_private_key(place.key)))
    return json.dumps(made.to_dict()).encode()


Check = Callable[[bytes], tuple[tuple[Subject, ...], ErasurePredicate]]


@pytest.fixture(scope="module")
def check(place: Place, certificate: ErasureCertificate) -> Check:
    """Reads an envelope as somebody does who has the certificate and the public key."""
    statement = check_certificate(certificate)
    return lambda data: check_attestation(data, read_public_key(place.public_key), certificate, statement)


def test_others_verify_it_and_find_the_sealed_weights(
    place: Place, federation: Federation, certificate: ErasureCertificate, envelope: bytes
) -> None:
    statement = read_by_others(envelope, place.public_key)
    assert statement.pb.predicate_type == PREDICATE_TYPE
    weights = {f"{each.name}.sealed": each.new_weights for each in certificate.statement.replaced}
    assert {each.name for each in statement.pb.subject} == weights.keys() == {f"{n}.sealed" for n in AFFECTED}
    for subject in statement.pb.subject:
        cid = weights[subject.name]
        assert cid is not None
        assert subject.uri == f"ipfs://{cid}"
        sealed = federation.stores.live.read(parse_cid(cid), ANY_SIZE)
        assert dict(subject.digest) == {"sha256": sha256(sealed).hexdigest()}


def test_it_says_what_the_certificate_and_its_issuer_say(
    place: Place, certificate: ErasureCertificate, envelope: bytes, check: Check
) -> None:
    subjects, predicate = check(envelope)
    statement = certificate.statement
    assert predicate.certificate.digest.sha256 == sha256(place.certificate.read_bytes()).hexdigest()
    assert predicate.certificate.name == place.certificate.name
    assert (predicate.requested_on, predicate.completed_on) == (
        utc(statement.request.created),
        utc(statement.decided),
    )
    assert predicate.keys_destroyed == statement.erasure.keys_destroyed
    assert predicate.audit is not None and predicate.audit.forgotten
    assert [each.model for each in predicate.audit.models] == list(AFFECTED)
    issuer = predicate.issuer
    assert (issuer.controller.name, issuer.processors, issuer.recipients_told) == (
        "Clinic",
        ("Host Ltd",),
        ("Lab B",),
    )
    assert predicate.review == "recomputed"
    assert (predicate.kind, predicate.warnings) == (shown(statement).kind, shown(statement).warnings)
    assert predicate.kind.startswith("Recomputed: ") and "teach it again" in predicate.warnings[0]
    assert predicate.other_owners == statement.other_owners == len(UNTOUCHED)
    for said, each in zip(predicate.models, statement.replaced, strict=True):
        claims = each.claims
        assert claims is not None and claims.logit_auc is not None and claims.logit_auc_before is not None
        assert (said.accuracy_forgotten_before, said.accuracy_forgotten) == (claims.ad_f_before, claims.ad_f)
        assert (said.logit_auc_before, said.logit_auc) == (claims.logit_auc_before, claims.logit_auc)
        assert (said.accuracy_retained_before, said.accuracy_retained) == (claims.before, claims.ad_r)
    ends = {copy.what: copy.ends for copy in issuer.residual_copies}
    assert ends["backup 7"] == "2026-12-01T00:00:00Z"
    assert ends["a film"] is None
    assert {f"{name}, version 0, as its owner trained it" for name in AFFECTED} <= ends.keys()
    assert len(subjects) == len(AFFECTED)


def test_auditors_copies_end_with_the_retention(
    federation: Federation, certificate: ErasureCertificate, tmp_path: Path
) -> None:
    first = certificate.statement.replaced[0]
    document = {"format": FORMAT, "keys": {"0x" + "ab" * 20: "00" * 8}}
    (tmp_path / f"{first.old_weights}.json").write_text(json.dumps(document))
    auditors = AuditorKeys(tmp_path, federation.contracts.archive)
    (copy,) = held_by_auditors(certificate, auditors, 30.0)
    assert copy.holder == "auditor 0x" + "ab" * 20
    archived = certificate.statement.archive.records[first.record].timestamp
    assert copy.ends == utc(archived + 30 * 86_400)
    (endless,) = held_by_auditors(certificate, auditors, None)
    assert endless.ends is None


def test_an_altered_byte_of_payload_or_signature_is_refused(
    place: Place, envelope: bytes, check: Check
) -> None:
    document = json.loads(envelope)
    payload, signature = document["payload"], document["signatures"][0]["sig"]
    for path, text in ((("payload",), payload), (("signatures", 0, "sig"), signature)):
        raw = b64decode(text)
        for at in (0, len(raw) // 2, len(raw) - 1):
            other = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
            data = json.dumps(replaced(document, path, b64encode(other).decode())).encode()
            with pytest.raises((exceptions.VerificationError, exceptions.UnverifiedSignatureError)):
                read_by_others(data, place.public_key)
            with pytest.raises(VerificationError):
                check(data)


def test_another_key_is_refused(certificate: ErasureCertificate, envelope: bytes, tmp_path: Path) -> None:
    write_pair(tmp_path, "other")
    path = tmp_path / "other.pub.pem"
    with pytest.raises(exceptions.VerificationError):
        read_by_others(envelope, path)
    with pytest.raises(VerificationError, match="public key"):
        check_attestation(envelope, read_public_key(path), certificate, check_certificate(certificate))


def test_a_signer_cannot_say_other_than_the_certificate(place: Place, envelope: bytes, check: Check) -> None:
    """Each field outside `issuer`, altered and signed again by the issuer's own key."""
    statement = payload_of(envelope)
    fields = [path for path, _ in leaves(statement["predicate"]) if path[0] != "issuer"]
    assert len(fields) > 50
    for path in fields:
        for other in islice(altered(_at(statement["predicate"], path)), 2):
            data = signed_again(replaced(statement, ("predicate", *path), other), place)
            with pytest.raises((VerificationError, FormatError)):
                check(data)


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


def test_a_signer_says_in_its_own_part_what_it_likes(place: Place, envelope: bytes, check: Check) -> None:
    statement = replaced(payload_of(envelope), ("predicate", "issuer", "recipientsTold"), ["all"])
    _, predicate = check(signed_again(statement, place))
    assert predicate.issuer.recipients_told == ("all",)


Change = Callable[[list[dict[str, Any]]], None]


@pytest.mark.parametrize(
    "change",
    [
        lambda subjects: subjects.pop(),
        lambda subjects: subjects.append(subjects[0]),
        lambda subjects: subjects.append({"name": "z.sealed", "digest": {"sha256": "0" * 64}}),
        lambda subjects: subjects[0].update(name="z.sealed"),
        lambda subjects: subjects[0].update(uri=subjects[1]["uri"]),
        lambda subjects: subjects[0].pop("uri"),
        lambda subjects: subjects[0].update(digest={}),
        lambda subjects: subjects.clear(),
    ],
)
def test_subjects_are_the_new_versions(place: Place, envelope: bytes, check: Check, change: Change) -> None:
    statement = payload_of(envelope)
    change(statement["subject"])
    with pytest.raises((VerificationError, FormatError)):
        check(signed_again(statement, place))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"payload": "AA==", "payloadType": "x", "signatures": [{"sig": "AA=="}]}',
        b'{"payload": "", "payloadType": 1, "signatures": "x"}',
    ],
)
def test_what_is_no_envelope_is_called_so(check: Check, data: bytes) -> None:
    with pytest.raises(FormatError, match="no DSSE envelope"):
        check(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [("_type", "https://in-toto.io/Statement/v0"), ("predicateType", "urn:other"), ("predicate", {})],
)
def test_another_statement_is_called_so(
    place: Place, envelope: bytes, check: Check, field: str, value: object
) -> None:
    with pytest.raises(FormatError):
        check(signed_again({**payload_of(envelope), field: value}, place))


def test_weights_in_the_clear_are_a_subject_where_they_seal_to_the_certificates_cid(
    place: Place, federation: Federation, certificate: ErasureCertificate, check: Check, tmp_path: Path
) -> None:
    new, other = (federation.catalogue()[name].node.weights for name in ("x", "z"))
    keyring, key = federation.weights.keyring, read_private_key(place.key)
    for name, uri in (("x", new), ("z", other)):
        (tmp_path / name).write_bytes(to_bytes(federation.weights.read(uri)))
    clear = ClearWeights(tmp_path / "x", keyring.find((new,))[new])
    data, _ = attest(federation, certificate, key, SAID, [clear])
    subjects, _ = check(data)
    assert require_subject(subjects, tmp_path / "x").name == "x.safetensors"
    raw = bytearray((tmp_path / "x").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "altered").write_bytes(raw)
    with pytest.raises(VerificationError, match="is no subject's"):
        require_subject(subjects, tmp_path / "altered")
    for path, uri in (("altered", new), ("z", other), ("x", other)):
        with pytest.raises(SettingsError, match="no new version"):
            attest(
                federation, certificate, key, SAID, [ClearWeights(tmp_path / path, keyring.find((uri,))[uri])]
            )


def test_versions_that_were_replaced_again_are_found_in_the_archives_store(
    place: Place, federation: Federation, certificate: ErasureCertificate, check: Check
) -> None:
    """Where the next redaction leaves them."""
    live, archive = federation.stores.live, federation.stores.archive
    uri = federation.catalogue()["x"].node.weights
    sealed = live.read(uri, ANY_SIZE)
    archive.add(sealed)
    live.delete(uri)
    try:
        data, _ = attest(federation, certificate, read_private_key(place.key), SAID)
    finally:
        live.add(sealed)
        archive.delete(uri)
    subjects, _ = check(data)
    assert ("x.sealed", sha256(sealed).hexdigest()) in {(each.name, each.sha256) for each in subjects}


def test_a_certificate_that_does_not_hold_is_not_attested(
    place: Place, federation: Federation, certificate: ErasureCertificate
) -> None:
    altered_statement = certificate.statement.model_copy(update={"left_alone": ("z",)})
    wrong = certificate.model_copy(update={"statement": altered_statement})
    with pytest.raises(VerificationError):
        attest(federation, wrong, read_private_key(place.key), SAID)


def test_nobody_attests_without_a_controller(
    place: Place, federation: Federation, certificate: ErasureCertificate
) -> None:
    with pytest.raises(SettingsError, match=r"controller\.name"):
        attest(federation, certificate, read_private_key(place.key), Said(ControllerSettings()))


def test_the_schema_in_the_docs_is_that_of_the_predicate(envelope: bytes) -> None:
    schema = json.loads((DOCS / "erasure-predicate.schema.json").read_text(encoding="utf-8"))
    made = ErasurePredicate.model_json_schema(by_alias=True, mode="serialization")
    assert schema == {"$schema": schema["$schema"], **made}
    predicate = payload_of(envelope)["predicate"]
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    validator(schema).validate(predicate)
    for name in predicate:
        without = {key: value for key, value in predicate.items() if key != name}
        assert not validator(schema).is_valid(without)


def test_the_reference_explains_every_field(envelope: bytes) -> None:
    page = (DOCS / "erasure-predicate.md").read_text(encoding="utf-8")
    named = {step for path, _ in leaves(payload_of(envelope)["predicate"]) for step in path}
    assert {step for step in named if isinstance(step, str) and f"`{step}`" not in page} == set()
    assert PREDICATE_TYPE in page


@pytest.mark.parametrize(
    "text", ["", "nothing", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"]
)
def test_a_key_that_is_none_is_called_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key.pem"
    for read in (read_private_key, read_public_key):
        with pytest.raises(SettingsError, match="cannot be read"):
            read(path)
    path.write_text(text)
    for read in (read_private_key, read_public_key):
        with pytest.raises(BlockfulError, match="openssl"):
            read(path)


def test_a_withdrawn_model_is_attested_by_its_node(certificate: ErasureCertificate) -> None:
    first, *others = certificate.statement.replaced
    withdrawn = first.model_copy(update={"new_weights": None, "claims": None})
    changed = certificate.statement.model_copy(update={"replaced": (withdrawn, *others)})
    document = certificate.model_copy(update={"statement": changed})
    names = subject_names(document)
    assert names[f"{first.name}.node.json"] == f"ipfs://{first.new_node}"
    assert f"{first.name}.sealed" not in names
    node = certificate.statement.record.models[0].node
    assert node_digests(document) == {f"{first.name}.node.json": sha256(node.encode()).hexdigest()}
