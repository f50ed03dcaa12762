# SPDX-License-Identifier: Apache-2.0
"""Verifies erasure certificates against trust anchors or against the chains."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from blockful_py.ledger.protocols import LiveReader
from blockful_py.record.certificates.checking import CheckedStatement, check_certificate
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.chain_view import Rosters
from blockful_py.record.checks import require
from blockful_py.record.fields import octets
from blockful_py.record.openings import ContractId
from blockful_py.record.proofs.anchors import (
    Anchors,
    ArchiveSource,
    KeySource,
    anchors_in_archive,
    anchors_of_blocks,
    check_anchors,
    check_archive_anchor,
)
from blockful_py.record.request import Request
from blockful_py.types import Bytes32, Position


class CommitteeSource(ContractId, KeySource, Rosters, Protocol):
    """The Committee contract, read through a node of its home chain."""


class Executing(Protocol):
    """A contract that reports the progress of a proposal's execution."""

    def progress(self, proposal: Bytes32) -> tuple[int, int]: ...


class LiveChainSource(LiveReader, Executing, Protocol):
    """The live chain."""


class ArchiveChainSource(ArchiveSource, Executing, Protocol):
    """The archive chain."""


@dataclass(frozen=True, slots=True)
class Chains:
    """Both chains and the committee, read through nodes."""

    live: LiveChainSource
    committee: CommitteeSource
    archive: ArchiveChainSource


@dataclass(frozen=True, slots=True)
class CertificateOutcome:
    """The result of a certificate's verification.

    Attributes:
        trusted: height of the highest block with a trusted hash.
        covered: number of archive records that a trusted head covers; None without a given head.
        superseded: current versions of models that were replaced again since.
    """

    checked: CheckedStatement
    trusted: int
    covered: int | None
    superseded: Mapping[str, int]


def verify_certificate(
    certificate: ErasureCertificate,
    anchors: Anchors,
    roster_ids: frozenset[bytes] = frozenset(),
    chains: Chains | None = None,
) -> CertificateOutcome:
    """Checks a certificate against trust anchors, and against `chains` if given.

    `roster_ids`: identifiers of trusted rosters, 32 bytes each; a roster vouches for its group key.
    Raises VerificationError, which names the first failed check.
    """
    checked = check_certificate(certificate)
    superseded: Mapping[str, int] = {}
    if chains is not None:
        superseded = check_on_chains(checked, chains)
        anchors |= anchors_of_blocks(checked.record, chains.live, chains.committee)
        anchors |= anchors_in_archive(checked.statement.archive, checked.heads, chains.archive)
        roster_ids |= frozenset(checked.rosters.values())
    for epoch, identifier in checked.rosters.items():
        require(
            "anchor",
            "the certificate",
            identifier in roster_ids,
            f"nobody said that the roster of epoch {epoch} has the id 0x{identifier.hex()}: find out from "
            "somebody you trust and give it with --roster-id, or name a run with --run",
        )
    vouched = frozenset(each.key_id for each in checked.statement.committee.rosters)
    anchors = replace(anchors, key_ids=anchors.key_ids | vouched)
    trusted = check_anchors(checked.record, anchors)
    return CertificateOutcome(checked, trusted, check_archive_anchor(checked.heads, anchors), superseded)


def check_on_chains(checked: CheckedStatement, chains: Chains) -> Mapping[str, int]:
    """Checks that the contracts have the same rosters and decisions, and that the chain had the models.

    Returns the current versions of models that were replaced again since.  Raises VerificationError:
    `anchor`, `others`, `executed` or `current`.
    """
    must = partial(require, "anchor", "the certificate")
    statement, committee = checked.statement, chains.committee
    must(
        (statement.committee.chain_id, octets(statement.committee.contract))
        == (committee.chain_id, committee.address),
        f"it is of the committee {statement.committee.contract} on chain {statement.committee.chain_id}, "
        f"yours is 0x{committee.address.hex()} on chain {committee.chain_id}",
    )
    for members in statement.committee.rosters:
        must(
            committee.roster(members.epoch) == (members.roster(), members.quorum),
            f"the roster of epoch {members.epoch} is not the one that the chain has",
        )
    others = other_owners(chains.live, statement.request, checked.record.nodes, checked.record.last)
    require(
        "others",
        "the certificate",
        statement.other_owners == others,
        f"it counts {statement.other_owners} other owners of models left unchanged, the chain has {others}",
    )
    for decision in statement.decisions:
        proposal = octets(decision.proposal)
        sides = ((chains.archive, len(decision.archive)), (chains.live, len(decision.live)))
        for contract, chunks in sides:
            progress = contract.progress(proposal)
            require(
                "executed",
                f"decision {decision.proposal[:10]}",
                progress == (chunks, chunks),
                f"the chain has executed {progress} of {chunks} transactions",
            )
    places = list(checked.record.nodes)
    superseded = {}
    for current in chains.live.transactions(places):
        position = current.position
        certified, node = checked.record.transactions[position], checked.record.nodes[position]
        subject = f"model {node.name} at {position}"
        require(
            "current",
            subject,
            current.version > certified.version
            or (current.version, current.uri) == (certified.version, certified.uri),
            f"the chain holds version {current.version} of it, which is not the one of this certificate",
        )
        if current.version > certified.version:
            superseded[node.name] = current.version
    return superseded


def other_owners(live: LiveReader, request: Request, replaced: Collection[Position], last: int) -> int | None:
    """Number of owners, other than the starts', of models that a request to forget classes left unchanged.

    Counts models in blocks up to `last`, at positions outside `replaced`; None if no class is forgotten.

    Nobody knows who holds a class, since no party shows its data, so this is no number of holders.  It counts
    the owners who were not reached and can teach the class again if they hold it, among them owners whose
    models were withdrawn or forgot it for other requests.  Owners of replaced models that were not trained
    again may hold it too.  Positions, heights and owners never change on the chain, so that anybody finds the
    same number at any later time.  Whether the other models still recall the class would tell more, but only
    readers of their weights could check that.

    Raises ContractError if the chain has no block `last`.
    """
    if not request.classes:
        return None
    headers = live.headers(range(1, last + 1))
    places = [Position(each.height, index) for each in headers for index in range(each.tx_count)]
    owners = {each.position: each.owner for each in live.transactions(places)}
    asked = {owners.get(start.place()) for start in request.starts}
    return len({owner for place, owner in owners.items() if place not in replaced} - asked)
