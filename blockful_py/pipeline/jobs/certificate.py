# SPDX-License-Identifier: Apache-2.0
"""Issues erasure certificates from the chains alone, at any time after the erasure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blockful_py.committee.certificates import actions_under
from blockful_py.errors import RunError
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.ledger.protocols import Store
from blockful_py.monitoring import request_id
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.recipients import recipients_in
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
from blockful_py.record.certificates.verifying import other_owners
from blockful_py.record.fields import of_number, of_octets
from blockful_py.record.model_node import MAX_NODE_BYTES, PlacedNode
from blockful_py.record.proofs.exporting import export_history, export_record
from blockful_py.record.proofs.record import Archived
from blockful_py.record.recall.listed import RecipientList, listed
from blockful_py.record.request import Request, request_key
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import (
    Action,
    ArchivedChunk,
    ArchiveReason,
    Certificate,
    RedactedChunk,
    StoredArchiveRecord,
)
from blockful_py.verdicts.outcome import AuditOutcome


def issue(
    context: FederationContext, request: Request, audit: AuditOutcome | None = None
) -> ErasureCertificate:
    """The certificate of a completed request, signed by a quorum of the current epoch.

    Raises RunError if no current model was replaced for it, QuorumError if too few members sign.
    """
    statement = state(context, request)
    epoch = context.contracts.committee.current_epoch()
    with request_id.bound(request_id.of_request(request_key(request))):
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
    """The newest request for which a model on the chain was replaced.  Raises RunError if no model was."""
    requests = [each.node.redaction.request for each in catalogue.models.values() if each.node.redaction]
    if not requests:
        raise RunError("no model of this run was replaced: unlearn something first.")
    return max(requests, key=lambda request: request.created)


def state(context: FederationContext, request: Request) -> CertificateStatement:
    """The statement to be signed.  Raises RunError if no current model was replaced for the request."""
    contracts, catalogue = context.contracts, context.record.catalogue.read()
    changed = {
        name: placed
        for name, placed in catalogue.models.items()
        if placed.node.redaction is not None and placed.node.redaction.request == request
    }
    if not changed:
        raise RunError(
            "no model's current version came of this request, so there is nothing to certify: "
            "it has replaced none so far, or later requests replaced them again."
        )
    status = context.docket.of(request) if context.run.party is not None else None
    reachable = catalogue if status is None else status.record
    starts = tuple(start.name for start in request.starts)
    affected = {*starts, *reachable.graph.descendants(starts)}
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
    record = export_record(contracts.live, contracts.committee, context.stores.live, positions)
    return CertificateStatement(
        format=FORMAT,
        request=request,
        committee=_committee(contracts, decisions),
        record=record,
        archive=history,
        replaced=tuple(entries),
        left_alone=tuple(sorted(affected - changed.keys())),
        other_owners=other_owners(contracts.live, request, positions, len(record.headers)),
        decisions=decisions,
        erasure=Bytes(deleted=tuple(deleted), words=WORDS, keys_destroyed=tuple(sorted(sealed))),
        decided=max(chunk.timestamp for each in decisions for chunk in each.archive),
        recipients=_recipients(context, catalogue, changed.values()),
    )


def _recipients(
    context: FederationContext, catalogue: Catalogue, changed: Iterable[PlacedNode]
) -> RecipientList | None:
    """The recipients of the replaced versions, up to the newest block read; None without any."""
    contracts = context.contracts
    contracts.participants.declarations()
    block = contracts.participants.mark().block
    found = recipients_in(contracts, catalogue, context.stores.live, block)
    return listed(found, {str(each.position): each.version for each in changed}, block)


def _entry(store: Store, placed: PlacedNode, records: Sequence[StoredArchiveRecord]) -> ReplacedModel:
    for stored in records:
        record = stored.record
        if (record.position, record.version, record.reason) == (
            placed.position,
            placed.version - 1,
            ArchiveReason.SUPERSEDED,
        ):
            old = store.read(record.uri, MAX_NODE_BYTES).decode()
            return replaced(old, placed.node, placed.uri, stored)
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
    """The decisions behind the entries, by any leader, as both contracts logged them, oldest first.

    Raises RunError when the nodes no longer have the events.
    """
    wanted = {(each.position, each.version_after) for each in entries}
    archived = contracts.archive.appended()
    decisions = []
    for proposal, chunks in contracts.live.redacted().items():
        replaced_here = {(str(each.position), each.version) for chunk in chunks for each in chunk.updates}
        if not replaced_here & wanted:
            continue
        if proposal not in archived:
            raise RunError(
                f"the archive chain's node has no event of the decision 0x{proposal.hex()}: use a node that "
                "keeps past events, or a run that kept them."
            )
        decisions.append(_decision(contracts, chunks, *archived[proposal]))
    return tuple(decisions)


def _decision(
    contracts: Contracts,
    live: Sequence[RedactedChunk],
    certificate: Certificate,
    archive: Sequence[ArchivedChunk],
) -> CertifiedDecision:
    """A decision for the certificate.  Raises RefusedError if its votes do not cover all executed calls."""
    records = archive_leaves(contracts.archive, archive)
    replaced_models = redaction_leaves(contracts.live, live)
    actions = actions_under(certificate, (records, replaced_models))
    return CertifiedDecision(
        epoch=certificate.epoch,
        proposal=of_octets(certificate.proposal),
        content_hash=of_octets(certificate.content_hash),
        signed=Cosigned.of(certificate),
        archive=tuple(
            CertifiedArchiveChunk(
                first=chunk.first,
                expected_head=of_octets(chunk.expected_head),
                timestamp=chunk.timestamp,
                records=tuple(
                    Archived.of(StoredArchiveRecord(chunk.first + i, each, chunk.timestamp))
                    for i, each in enumerate(chunk.records)
                ),
                path=_path(action),
            )
            for chunk, action in zip(archive, actions, strict=False)
        ),
        live=tuple(
            CertifiedLiveChunk(
                updates=tuple(map(LiveUpdate.of, chunk.updates)),
                headers=tuple(
                    LiveHeader(
                        height=each.height,
                        version=each.version,
                        px=of_number(each.opening.px),
                        s=of_number(each.opening.s),
                    )
                    for each in chunk.header_updates
                ),
                path=_path(action),
            )
            for chunk, action in zip(live, actions[len(archive) :], strict=True)
        ),
    )


def _path(action: Action) -> tuple[str, ...]:
    return tuple(map(of_octets, action.path))
