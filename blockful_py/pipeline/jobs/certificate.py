# SPDX-License-Identifier: Apache-2.0
"""Makes erasure certificates from the chains alone, so that they can be made at any later time."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.committee.protocols import Store
from blockful_py.errors import RunError
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.attachment import attach
from blockful_py.record.certificates.checking import check_certificate, replaced
from blockful_py.record.certificates.decisions import (
    CertifiedArchiveChunk,
    CertifiedDecision,
    CertifiedLiveChunk,
    Cosigned,
    LiveHeader,
    LiveUpdate,
    Members,
    Votes,
)
from blockful_py.record.certificates.document import (
    FORMAT,
    WORDS,
    Bytes,
    CertificateStatement,
    Committee,
    Endorsed,
    ErasureCertificate,
    ReplacedModel,
)
from blockful_py.record.model_node import PlacedNode, Request
from blockful_py.record.proofs.exporting import export_history, export_record
from blockful_py.record.proofs.fields import of_number, of_octets
from blockful_py.record.proofs.record import Archived
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Action, ArchiveCall, ArchiveReason, RedactCall, StoredArchiveRecord
from blockful_py.verdicts.outcome import AuditOutcome


def issue(
    context: FederationContext, request: Request, audit: AuditOutcome | None = None
) -> ErasureCertificate:
    """The certificate of a completed request, signed by a quorum of the current epoch.

    Raises RunError when no current model was replaced for it, QuorumError when too few members sign.
    """
    statement = state(context, request)
    epoch = context.contracts.committee.current_epoch()
    endorsement = context.session(Counter()).coordinator.endorse_erasure(epoch, statement.to_bytes())
    certificate = ErasureCertificate(
        statement=statement,
        endorsed=Endorsed(
            epoch=epoch,
            votes=Votes(
                voters=tuple(endorsement.votes),
                signatures=tuple(map(of_octets, endorsement.votes.values())),
            ),
        ),
        attachment=None if audit is None else attach(statement, audit, context.leader.secret),
    )
    check_certificate(certificate)
    return certificate


def latest_request(catalogue: Catalogue) -> Request:
    """The newest request that a model on the chain was replaced for.  Raises RunError when there is none."""
    requests = [each.node.redaction.request for each in catalogue.models.values() if each.node.redaction]
    if not requests:
        raise RunError("no model of this run was replaced: unlearn something first.")
    return max(requests, key=lambda request: request.created)


def state(context: FederationContext, request: Request) -> CertificateStatement:
    """The statement to be signed.  Raises RunError when no current model was replaced for the request."""
    contracts, catalogue = context.contracts, context.record.catalogue.read()
    changed = {
        name: placed
        for name, placed in catalogue.models.items()
        if placed.node.redaction is not None and placed.node.redaction.request == request
    }
    if not changed:
        raise RunError("no current model was replaced for this request: there is nothing to certify.")
    starts = tuple(start.name for start in request.starts)
    affected = {*starts, *catalogue.graph.descendants(starts)}
    history = export_history(contracts.archive)
    records = [each.stored(index) for index, each in enumerate(history.records)]
    entries = [_entry(context.stores.archive, placed, records) for placed in changed.values()]
    decisions = _decisions(contracts, entries)
    models = catalogue.models.values()
    current = {cid_string(uri) for each in models for uri in (each.uri, *each.node.sealed)}
    sealed = {cid_string(uri) for each in entries for uri in each.old.sealed} - current
    gone = ({each.old_node for each in entries} - current) | sealed
    deleted = [cid for cid in sorted(gone) if not context.stores.live.has(parse_cid(cid))]
    positions = [placed.position for placed in changed.values()]
    return CertificateStatement(
        format=FORMAT,
        request=request,
        committee=_committee(contracts, decisions),
        record=export_record(contracts.live, contracts.committee, context.stores.live, positions),
        archive=history,
        replaced=tuple(entries),
        left_alone=tuple(sorted(affected - changed.keys())),
        decisions=decisions,
        erasure=Bytes(deleted=tuple(deleted), words=WORDS, keys_destroyed=tuple(sorted(sealed))),
        decided=max(chunk.timestamp for each in decisions for chunk in each.archive),
    )


def _entry(store: Store, placed: PlacedNode, records: Sequence[StoredArchiveRecord]) -> ReplacedModel:
    for stored in records:
        record = stored.record
        if (record.position, record.version, record.reason) == (
            placed.position,
            placed.version - 1,
            ArchiveReason.SUPERSEDED,
        ):
            return replaced(store.read(record.uri).decode(), placed.node, placed.uri, stored)
    raise RunError(f"version {placed.version - 1} of {placed.node.name} is not in the archive: audit it.")


def _committee(contracts: Contracts, decisions: Sequence[CertifiedDecision]) -> Committee:
    committee = contracts.committee
    epochs = {each.epoch for each in decisions} | {committee.current_epoch()}
    return Committee(
        chain_id=committee.chain_id,
        contract=of_octets(committee.address),
        rosters=tuple(Members.of(epoch, committee.roster(epoch)[0]) for epoch in sorted(epochs)),
    )


def _decisions(contracts: Contracts, entries: Sequence[ReplacedModel]) -> tuple[CertifiedDecision, ...]:
    """The decisions behind the entries, read from their transactions on both chains, oldest first."""
    wanted = {(each.position, each.version_after) for each in entries}
    hashes = [
        each.transaction_hash
        for each in contracts.live.redactions()
        if (str(each.position), each.version) in wanted
    ]
    live: dict[bytes, list[RedactCall]] = {}
    for hashed in dict.fromkeys(hashes):
        call = contracts.live.executed(hashed)
        live.setdefault(call.action.certificate.proposal, []).append(call)
    archive: dict[bytes, list[ArchiveCall]] = {}
    for each in contracts.archive.executed({entry.record for entry in entries}):
        archive.setdefault(each.action.certificate.proposal, []).append(each)
    return tuple(_decision(calls, archive.get(proposal, [])) for proposal, calls in live.items())


def _decision(live: Sequence[RedactCall], archive: Sequence[ArchiveCall]) -> CertifiedDecision:
    certificate = live[0].action.certificate
    return CertifiedDecision(
        epoch=certificate.epoch,
        proposal=of_octets(certificate.proposal),
        content_hash=of_octets(certificate.content_hash),
        for_archive=Cosigned.of(archive[0].action.certificate),
        for_live=Cosigned.of(certificate),
        archive=tuple(
            CertifiedArchiveChunk(
                first=call.first,
                expected_head=of_octets(call.expected_head),
                timestamp=call.timestamp,
                records=tuple(
                    Archived.of(StoredArchiveRecord(call.first + i, each, call.timestamp))
                    for i, each in enumerate(call.records)
                ),
                path=_path(call.action),
            )
            for call in archive
        ),
        live=tuple(
            CertifiedLiveChunk(
                updates=tuple(map(LiveUpdate.of, call.updates)),
                headers=tuple(
                    LiveHeader(
                        height=each.height,
                        version=each.version,
                        px=of_number(each.opening.px),
                        s=of_number(each.opening.s),
                    )
                    for each in call.header_updates
                ),
                path=_path(call.action),
            )
            for call in live
        ),
    )


def _path(action: Action) -> tuple[str, ...]:
    return tuple(map(of_octets, action.path))
