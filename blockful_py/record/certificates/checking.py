# SPDX-License-Identifier: Apache-2.0
"""Checks that the parts of an erasure certificate are consistent, without trust anchors.

The checks of the record and of the history come first (pipeline/proofs), then, in this order:

request    every model was replaced for this request, as its owners signed it; replays are signed by auditors
           that the models' owners named
others     no more other owners are counted than there are other models
replaced   each replacement is the next version of an archived node of the same owner; CIDs, claims agree
decision   a quorum of the epoch voted for exactly these transactions, on both chains
recipients listed recipients are of replaced versions, and signed their answers
erasure    deleted files, and weights with destroyed keys, belong to replaced versions
committee  a quorum signed the statement
audit      the attached audit follows from its figures, is of these models, and is signed by its issuer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from blockful_py.chain.leaves import archive_leaf, redact_leaf, roster_id
from blockful_py.crypto import eip712, merkle, signature
from blockful_py.errors import BlockfulError, StorageError, VerificationError
from blockful_py.ledger.erasure import erasure_digest
from blockful_py.ledger.signed import Executor, require_signed
from blockful_py.record.certificates.attachment import check_attachment
from blockful_py.record.certificates.decisions import CertifiedDecision, Members
from blockful_py.record.certificates.document import CertificateStatement, ErasureCertificate, ReplacedModel
from blockful_py.record.checks import require
from blockful_py.record.fields import octets, position
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.proofs.checking import CheckedRecord, archived, check_history, check_record
from blockful_py.record.recall.listed import check_listed
from blockful_py.record.recall.recipients import RecordedModel
from blockful_py.record.request import request_key
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import ArchiveCall, ArchiveReason, Position, RedactCall, StoredArchiveRecord, Uri


@dataclass(frozen=True)
class CheckedStatement:
    """A statement whose parts are consistent.

    Attributes:
        heads: heads of the archive after 0, 1, ... all of the records.
        rosters: identifiers by epoch.
    """

    statement: CertificateStatement
    record: CheckedRecord
    heads: tuple[bytes, ...]
    rosters: dict[int, bytes]


def check_statement(statement: CertificateStatement) -> CheckedStatement:
    """Checks a statement.  Raises VerificationError, which names the first failed check."""
    record = check_record(statement.record)
    heads = check_history(statement.archive, [record.transactions[place] for place in record.nodes])
    records = archived(statement.archive)
    _check_request(statement, record)
    _check_replays(statement, record)
    _check_others(statement, record)
    try:
        _check_replaced(statement, record, records)
        rosters = _check_decisions(statement, record, heads, records)
        _check_recipients(statement, record, records)
        _check_erasure(statement, record)
    except StorageError as error:  # an invalid CID
        raise VerificationError("replaced", "the certificate", str(error)) from None
    return CheckedStatement(statement, record, heads, rosters)


def check_certificate(certificate: ErasureCertificate) -> CheckedStatement:
    """Checks a certificate: its statement as in `check_statement`, and the signatures."""
    checked = check_statement(certificate.statement)
    statement, endorsed = certificate.statement, certificate.endorsed
    members = _members(statement, endorsed.epoch, "committee")
    digest = erasure_digest(statement.committee.domain, endorsed.epoch, statement.to_bytes())
    roster = members.roster().members
    must = partial(require, "committee", "the certificate")
    voters, signatures = endorsed.votes.voters, endorsed.votes.signatures
    must(
        list(voters) == sorted(set(voters)) and len(voters) == len(signatures),
        "it does not hold one signature for each member that it names",
    )
    must(
        len(voters) >= members.quorum,
        f"{len(voters)} members of epoch {endorsed.epoch} signed it, {members.quorum} are needed",
    )
    for index, signed in zip(voters, signatures, strict=True):
        must(
            index <= len(roster) and signature.is_by(roster[index - 1], digest, octets(signed)),
            f"the signature of member {index} is not its signature of this statement",
        )
    if certificate.attachment is not None:
        check_attachment(statement, certificate.attachment)
    return checked


def _check_request(statement: CertificateStatement, record: CheckedRecord) -> None:
    for place, node in record.nodes.items():
        require(
            "request",
            f"model {node.name} at {place}",
            node.redaction is not None and node.redaction.request == statement.request,
            "it was not replaced for the request of this certificate",
        )


def _check_replays(statement: CertificateStatement, record: CheckedRecord) -> None:
    """Checks that an auditor that the owner agreed to signed each replay of the request's trainings."""
    domain = eip712.Domain(statement.record.chain_id, octets(statement.record.contract))
    for place, node in record.nodes.items():
        replay = None if node.spot_check is None else node.spot_check.replay
        if replay is not None:
            require(
                "request",
                f"model {node.name} at {place}",
                replay.auditor in node.statement.auditors
                and replay.is_signed(request_key(statement.request), place.packed, domain),
                "no auditor that its owner named signed the replay of its training",
            )


def _check_others(statement: CertificateStatement, record: CheckedRecord) -> None:
    """Bounds `other_owners`, which only the chain tells exactly (`verifying.other_owners`)."""
    models = sum(header.tx_count for header in record.headers.values())
    require(
        "others",
        "the certificate",
        statement.other_owners is None
        or (record.first == 1 and statement.other_owners <= models - len(record.nodes)),
        f"it counts {statement.other_owners} other owners of models, and does not show as many other models",
    )


def _check_replaced(
    statement: CertificateStatement, record: CheckedRecord, records: Sequence[StoredArchiveRecord]
) -> None:
    """Checks that each entry of `replaced` is exactly the one that record and archive give."""
    places = [each.position for each in statement.replaced]
    require(
        "replaced",
        "the certificate",
        places == [str(place) for place in record.nodes],
        "it lists other models than its record",
    )
    for each in statement.replaced:
        node = record.nodes[position(each.position)]
        subject = f"model {node.name} at {each.position}"
        must = partial(require, "replaced", subject)
        superseded = [
            stored
            for stored in records
            if (str(stored.record.position), stored.record.version, stored.record.reason)
            == (each.position, each.version_before, ArchiveReason.SUPERSEDED)
        ]
        must(len(superseded) == 1, "the version before is not archived once")
        uri = record.transactions[position(each.position)].uri
        must(
            file_uri(each.before.encode()) == superseded[0].record.uri,
            "the old node does not hash to its archived CID",
        )
        expected = replaced(each.before, node, uri, superseded[0])
        differing = [
            name for name in ReplacedModel.model_fields if getattr(each, name) != getattr(expected, name)
        ]
        must(not differing, f"{', '.join(differing)} differs from its record")
        must(
            parse_node(each.before.encode()).statement.owner == node.statement.owner,
            "the version before has another owner",
        )


def replaced(before: str, node: ModelNode, uri: Uri, stored: StoredArchiveRecord) -> ReplacedModel:
    """A model's entry, from its old node, its new node and URI, and the archive's record of the old version.

    Raises FormatError when the old node is invalid.
    """
    redaction, old = node.redaction, parse_node(before.encode())
    if redaction is None:
        raise VerificationError("replaced", f"model {node.name}", "it was not replaced")
    return ReplacedModel(
        name=node.name,
        position=str(stored.record.position),
        version_before=redaction.version - 1,
        version_after=redaction.version,
        old_node=cid_string(stored.record.uri),
        new_node=cid_string(uri),
        old_weights=None if old.is_withdrawn else cid_string(old.weights),
        new_weights=None if node.is_withdrawn else cid_string(node.weights),
        claims=redaction.claims,
        record=stored.index,
        before=before,
    )


def _check_recipients(
    statement: CertificateStatement, record: CheckedRecord, records: Sequence[StoredArchiveRecord]
) -> None:
    if statement.recipients is None:
        return
    nodes: dict[Position, dict[int, str]] = {}
    for stored in records:
        nodes.setdefault(stored.record.position, {})[stored.record.version] = cid_string(stored.record.uri)
    models = {}
    for place, transaction in record.transactions.items():
        if place in record.nodes:
            versions = {**nodes.get(place, {}), transaction.version: cid_string(transaction.uri)}
            node = record.nodes[place]
            models[place] = RecordedModel(node.name, node.statement.owner, transaction.version, versions)
    check_listed(
        statement.recipients,
        models,
        eip712.Domain(statement.record.chain_id, octets(statement.record.contract)),
    )


def _check_decisions(
    statement: CertificateStatement,
    record: CheckedRecord,
    heads: Sequence[bytes],
    records: Sequence[StoredArchiveRecord],
) -> dict[int, bytes]:
    must = partial(require, "decision", "the certificate")
    epochs = [each.epoch for each in statement.committee.rosters]
    needed = {each.epoch for each in statement.decisions}
    must(
        epochs == sorted(set(epochs)) and needed <= set(epochs),
        f"it has rosters of epochs {epochs}, those of {sorted(needed)} are needed",
    )
    for key in statement.record.keys:
        members = next((each for each in statement.committee.rosters if each.epoch == key.epoch), None)
        must(
            members is None or (members.x, members.y) == (key.x, key.y),
            f"the roster of epoch {key.epoch} has another group key than its record",
        )
    decided: list[str] = []
    for decision in statement.decisions:
        members = _members(statement, decision.epoch, "decision")
        subject = f"decision {decision.proposal[:10]}"
        live, archive = decision.live_calls(), decision.archive_calls()
        _check_votes(statement, decision, members, live, archive, subject)
        for call in live:
            decided += _check_live(call, record, subject)
        for each in archive:
            _check_archive(each, heads, records, subject)
    must(
        sorted(decided) == sorted(each.position for each in statement.replaced),
        "the decided models are not the replaced ones",
    )
    decided_at = max(chunk.timestamp for each in statement.decisions for chunk in each.archive)
    must(statement.decided == decided_at, f"the last decision is of {decided_at}, not of {statement.decided}")
    return {each.epoch: roster_id(each.epoch, each.roster()) for each in statement.committee.rosters}


def _check_votes(
    statement: CertificateStatement,
    decision: CertifiedDecision,
    members: Members,
    live: Sequence[RedactCall],
    archive: Sequence[ArchiveCall],
    subject: str,
) -> None:
    must = partial(require, "decision", subject)
    at_live = (statement.record.chain_id, octets(statement.record.contract))
    at_archive = (statement.archive.chain_id, octets(statement.archive.contract))
    voters, certificate = list(decision.signed.voters), decision.certificate()
    must(voters == sorted(set(voters)), "its voters are not in order, each once")
    try:
        require_signed(certificate, Executor(*at_archive), members.roster(), statement.committee.domain)
    except BlockfulError as error:
        raise VerificationError("decision", subject, str(error)) from None
    leaves = [(redact_leaf(*at_live, call), call.action) for call in live]
    leaves += [(archive_leaf(*at_archive, call), call.action) for call in archive]
    for leaf, action in leaves:
        must(
            merkle.verify(certificate.content_hash, leaf, action.path),
            f"chunk {action.chunk} is not part of what was voted for",
        )


def _check_live(call: RedactCall, record: CheckedRecord, subject: str) -> list[str]:
    """Checks that the record has the updates of a transaction; returns their positions."""
    for update in call.updates:
        transaction = record.transactions.get(update.position)
        require(
            "decision",
            subject,
            transaction is not None
            and (update.version, update.uri, update.opening)
            == (transaction.version, transaction.uri, transaction.opening),
            f"the model at {update.position} was decided to be another one",
        )
    return [str(update.position) for update in call.updates]


def _check_archive(
    call: ArchiveCall, heads: Sequence[bytes], records: Sequence[StoredArchiveRecord], subject: str
) -> None:
    archived = records[call.first : call.first + len(call.records)]
    require(
        "decision",
        subject,
        call.first < len(heads)
        and heads[call.first] == call.expected_head
        and [(each.record, each.timestamp) for each in archived]
        == [(each, call.timestamp) for each in call.records],
        f"the records from {call.first} on are not the decided ones",
    )


def _check_erasure(statement: CertificateStatement, record: CheckedRecord) -> None:
    kept = {cid_string(uri) for node in record.nodes.values() for uri in node.sealed}
    sealed = {cid_string(uri) for each in statement.replaced for uri in each.old.sealed} - kept
    gone = {each.old_node for each in statement.replaced} | sealed
    gone -= {each.new_node for each in statement.replaced}
    said = (
        ("files listed as deleted are not files of", statement.erasure.deleted, gone),
        ("keys listed as destroyed are not keys of", statement.erasure.keys_destroyed, sealed),
    )
    for what, cids, possible in said:
        require(
            "erasure",
            "the certificate",
            list(cids) == sorted(set(cids)) and set(cids) <= possible,
            f"{what} the versions before",
        )


def _members(statement: CertificateStatement, epoch: int, check: str) -> Members:
    for members in statement.committee.rosters:
        if members.epoch == epoch:
            return members
    raise VerificationError(check, "the certificate", f"it has no roster of epoch {epoch}")
