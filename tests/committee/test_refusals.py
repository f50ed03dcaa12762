# SPDX-License-Identifier: Apache-2.0
"""Refusals of honest members; the coordinator then has no quorum, and nothing changes on the chains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from blockful_py.chain.settlement import (
    ARCHIVE,
    LIVE,
    Executed,
    SettlementContract,
    send_missing,
    unrecorded,
)
from blockful_py.committee.drafting import NewModel
from blockful_py.committee.proposals import ArchiveChunk, PublicationProposal, RedactionDraft, Target
from blockful_py.crypto import chameleon, payload
from blockful_py.crypto.randomness import SeededRng
from blockful_py.engine.jobs import JobState
from blockful_py.errors import QuorumError, RefusedError, StorageError
from blockful_py.pipeline.jobs.journaled_sends import settlement_of
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.review.claims import AUC_TOLERANCE
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.archive_reader import ArchiveReader
from blockful_py.record.model_node import Redaction
from blockful_py.record.request import Start
from blockful_py.record.statement_parts import Claimed, SpotCheck
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import ArchiveReason, Position, Uri
from tests.colluders import Blind, Conspiracy
from tests.committee.plan import Plan, record_measurements, spoiled
from tests.crypto.drawn import drawn_hash
from tests.federations import AFFECTED, readable, set_back, small, store_weights, trained
from tests.limits import ANY_SIZE


@pytest.fixture(scope="module")
def plan(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """The redaction of an honest run, with the chains reset to the state before it."""
    with trained(small(), tmp_path_factory.mktemp("refusals") / "run", chains) as federation:
        with readable(federation), set_back(federation, chains.live, chains.archive):
            unlearned = federation.unlearn()
            new = federation.models()
        for name in AFFECTED:
            store_weights(federation, new[name].weights)
        places = {name: placed.position for name, placed in federation.catalogue().models.items()}
        yield Plan(federation, Conspiracy.of(federation), places, dict(unlearned.nodes))


def test_an_honest_draft_is_certified_and_holds_on_the_chains(plan: Plan) -> None:
    with set_back(plan.federation, plan.federation.nodes.live, plan.federation.nodes.archive):
        coordinator = plan.roster.coordinator(plan.roster.members(plan.reviewer()))
        plan.roster.execute(coordinator.certify_redaction(plan.draft()), coordinator)
        assert plan.federation.verify().passed
        assert plan.federation.catalogue()["x"].version == 1


class Slow(Blind):
    """A reviewer that accepts everything after another decision has reached the live chain."""

    def __init__(self, other: Iterator[Executed]) -> None:
        self._other = other

    def review_publication(self, proposal: PublicationProposal) -> None:
        assert list(self._other)

    def review_redaction(self, draft: RedactionDraft) -> None:
        assert list(self._other)


def test_a_redaction_of_versions_that_another_replaced_during_the_review_is_refused(plan: Plan) -> None:
    with set_back(plan.federation, plan.federation.nodes.live, plan.federation.nodes.archive):
        coordinator = plan.roster.coordinator(plan.roster.members(Blind()))
        first = coordinator.certify_redaction(plan.draft())
        steps = plan.roster.steps(first, coordinator)
        assert {next(steps).chain for _ in first.draft.archive} == {ARCHIVE}
        second, (member, *_) = plan.draft(), plan.roster.members(Slow(steps))
        with pytest.raises(RefusedError, match="URI is"):
            member.approve(second)


def test_every_member_of_a_process_sees_a_redaction_that_came_after_another_had_looked(plan: Plan) -> None:
    with set_back(plan.federation, plan.federation.nodes.live, plan.federation.nodes.archive):
        coordinator = plan.roster.coordinator(plan.roster.members(Blind()))
        first = coordinator.certify_redaction(plan.draft())
        second, (early, *others) = plan.draft(), plan.roster.members(Blind())
        early.approve(second)
        plan.roster.execute(first, coordinator)
        for member in others:
            with pytest.raises(RefusedError, match="URI is"):
                member.approve(second)


def test_a_block_in_whose_place_another_came_during_the_review_is_refused(plan: Plan) -> None:
    contracts = plan.federation.contracts
    with set_back(plan.federation, plan.federation.nodes.live, plan.federation.nodes.archive):
        coordinator = plan.roster.coordinator(plan.roster.members(Blind()))
        models = [NewModel("new", file_uri(b"node"), b"owner" * 4, ())]
        first = coordinator.certify_publication(plan.roster.proposer().publication(models, 0))
        sides: dict[str, SettlementContract] = {ARCHIVE: contracts.archive, LIVE: contracts.live}
        settlement = settlement_of(contracts, first, "the first")
        steps = send_missing(settlement, sides, unrecorded, coordinator.release)
        assert next(steps).chain == ARCHIVE
        second = plan.roster.proposer().publication(models, 0)
        with pytest.raises(RefusedError, match="parent hash is"):
            plan.roster.members(Slow(steps))[0].vote_publication(second)


def test_a_block_whose_opening_does_not_follow_from_its_content_is_refused(plan: Plan) -> None:
    """The live chain would refuse it, with its records in the archive."""
    live = plan.federation.contracts.live
    models = [NewModel("new", file_uri(b"node"), b"owner" * 4, ())]
    proposal = plan.roster.proposer().publication(models, 0)
    (member, *_) = plan.roster.members(Blind())
    block, key = proposal.block, plan.roster.shares[0].group_key
    only = block.publications[0]
    place = Position(live.height() + 1, 0)
    label = chameleon.label(live.chain_id, live.address, place.packed)
    content = payload.transaction_payload(only.uri, only.owner, payload.references_hash(only.references))
    message = chameleon.message(0, content)
    ch, opening = drawn_hash(key, label, message, SeededRng(b"drawn"))
    assert chameleon.verify(key, label, message, ch, opening)
    other = replace(block, publications=(replace(only, ch=ch, opening=opening),))
    with pytest.raises(RefusedError, match=f"the opening at {place} does not follow from the content"):
        member.vote_publication(replace(proposal, block=other))


TARGETS: dict[str, tuple[Callable[[Target], Target], str]] = {
    "another chameleon hash": (lambda t: replace(t, ch=t.ch + 1), "chameleon hash is"),
    "another owner": (lambda t: replace(t, owner=bytes(20)), "owner is"),
    "the version that stands": (lambda t: replace(t, version=t.version - 1), "version is 0, 1 was expected"),
    "a version skipped": (lambda t: replace(t, version=t.version + 1), "version is 2, 1 was expected"),
    "other references": (lambda t: replace(t, references_hash=bytes(32)), "references is"),
    "another old URI": (lambda t: replace(t, old_uri=t.uri), "URI is"),
}


@pytest.mark.parametrize("what", TARGETS)
def test_a_target_that_differs_from_the_chain_is_refused(plan: Plan, what: str) -> None:
    alter, reason = TARGETS[what]
    draft = plan.draft()
    found = plan.refused(spoiled(draft, alter))
    assert reason in found
    assert str(draft.chunks[0].targets[0].position) in found


HEADERS = {
    "another chameleon hash": ("ch", 1, "chameleon hash is"),
    "another content": ("payload", bytes(32), "content is"),
    "a version skipped": ("version", 2, "version is 2, 1 was expected"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_that_differs_from_the_chain_is_refused(plan: Plan, what: str) -> None:
    field, value, reason = HEADERS[what]
    draft = plan.draft()
    first, *rest = draft.chunks
    headers = (replace(first.headers[0], **{field: value}), *first.headers[1:])
    assert reason in plan.refused(replace(draft, chunks=(replace(first, headers=headers), *rest)))


def test_a_request_that_the_owners_of_the_starts_did_not_sign_is_refused(plan: Plan) -> None:
    request = plan.request()
    forged = request.model_copy(update={"signatures": (request.signatures[0],) * 2})
    draft = plan.draft(**{name: plan.redone(name, forged) for name in AFFECTED})
    assert "the request is not signed by the owner of t" in plan.refused(draft)


def test_a_method_that_is_a_control_is_refused(plan: Plan) -> None:
    masked = plan.request(method="head_mask {}")
    draft = plan.draft(**{name: plan.redone(name, masked) for name in AFFECTED})
    assert "'head_mask' is a control for audits: no member signs its results" in plan.refused(draft)


def test_a_method_that_does_not_work_in_the_paradigm_is_refused(plan: Plan) -> None:
    retrained = plan.request(method="retrain {}")
    draft = plan.draft(**{name: plan.redone(name, retrained) for name in AFFECTED})
    assert "'retrain' works in paradigm sequential, not in parallel" in plan.refused(draft)


def test_what_no_public_data_shows_is_refused_unless_it_is_recomputed(plan: Plan) -> None:
    client = plan.request(method="clean_increments {}", classes=(), clients=(3,))
    draft = plan.draft(**{name: plan.redone(name, client) for name in AFFECTED})
    assert "no public data shows whether a model has forgotten client 3" in plan.refused(draft)


def test_somebody_elses_data_cannot_be_asked_for(plan: Plan) -> None:
    other = plan.request(classes=(), samples=("6:0",))
    draft = plan.draft(**{name: plan.redone(name, other) for name in AFFECTED})
    assert "user 6 owns no start of the request" in plan.refused(draft)


def test_a_request_without_signatures_is_refused(plan: Plan) -> None:
    bare = plan.request().model_copy(update={"signatures": ()})
    draft = plan.draft(**{name: plan.redone(name, bare) for name in AFFECTED})
    assert "has 0 signatures" in plan.refused(draft)


def test_a_signature_that_is_none_is_refused(plan: Plan) -> None:
    broken = plan.request().model_copy(update={"signatures": ("0x00", "not hexadecimal")})
    draft = plan.draft(**{name: plan.redone(name, broken) for name in AFFECTED})
    assert "a signature of the request is not hexadecimal" in plan.refused(draft)


def test_a_start_at_another_place_is_refused(plan: Plan) -> None:
    s, t = plan.request().starts
    moved = plan.request(starts=(s, Start(name=t.name, position=s.position)))
    draft = plan.draft(**{name: plan.redone(name, moved) for name in AFFECTED})
    assert "which is not there" in plan.refused(draft)


def test_models_of_different_requests_are_refused(plan: Plan) -> None:
    draft = plan.draft(x=plan.redone("x", plan.request(created=1)))
    assert "come from different requests" in plan.refused(draft)


def test_a_node_without_a_request_is_refused(plan: Plan) -> None:
    draft = plan.draft(x=plan.nodes["x"].model_copy(update={"redaction": None}))
    assert "carries no request" in plan.refused(draft)


@pytest.mark.parametrize("missing", AFFECTED)
def test_a_missing_descendant_is_refused(plan: Plan, missing: str) -> None:
    nodes = {plan.places[name]: node for name, node in plan.nodes.items() if name != missing}
    assert f"{missing} would not be unlearned" in plan.refused(plan.roster.draft(nodes))


def test_a_stranger_is_refused(plan: Plan) -> None:
    redaction = plan.nodes["x"].redaction
    assert redaction is not None
    stranger = plan.federation.catalogue()["z"].node.model_copy(update={"redaction": redaction})
    assert "z descends from no start" in plan.refused(plan.draft(z=stranger))


def test_weights_that_the_method_does_not_give_are_refused(plan: Plan) -> None:
    draft = plan.draft(x=plan.weighted("x", plan.federation.models()["z"].weights))
    assert "the new weights of x differ from the result of gradient_ascent" in plan.refused(draft)


def test_weights_of_a_start_that_its_owner_did_not_sign_are_refused(plan: Plan) -> None:
    draft = plan.draft(s=plan.weighted("s", plan.federation.models()["z"].weights))
    assert "the new weights of s are not the ones that its owner signed" in plan.refused(draft)


def test_a_start_that_is_left_out_is_refused(plan: Plan) -> None:
    silent = replace(plan, nodes={name: node for name, node in plan.nodes.items() if name != "t"})
    assert "t would not be unlearned" in silent.refused(silent.draft())


def test_weights_of_a_start_that_are_not_in_the_store_are_refused(plan: Plan) -> None:
    store, uri = plan.federation.stores.live, plan.nodes["t"].weights
    data = store.read(uri, ANY_SIZE)
    store.delete(uri)
    try:
        assert "the new weights of t: " in plan.refused(plan.draft())
    finally:
        store.add(data)


def test_other_settings_of_the_method_are_refused(plan: Plan) -> None:
    weaker = plan.request(method='gradient_ascent {"alpha":0.5,"epsilon":0.0}')
    draft = plan.draft(**{name: plan.redone(name, weaker) for name in AFFECTED})
    assert "differ from the result of gradient_ascent" in plan.refused(draft)


@pytest.mark.parametrize("name", ["t", "y"])
def test_false_claims_are_refused(plan: Plan, name: str) -> None:
    redaction = plan.nodes[name].redaction
    assert redaction is not None
    better = Claimed(ad_f=0.0, ad_r=1.0)
    assert better != redaction.claims
    altered = redaction.model_copy(update={"claims": better})
    draft = plan.draft(**{name: plan.nodes[name].model_copy(update={"redaction": altered})})
    assert f"model {name} claims ad_f=0.0 ad_r=1.0 chance=None" in plan.refused(draft)


def test_a_figure_before_that_an_owner_leaves_out_is_refused(plan: Plan) -> None:
    """An omitted figure would hide the loss from its training."""
    redaction = plan.nodes["t"].redaction
    assert redaction is not None and redaction.claims is not None
    assert redaction.claims.before is not None
    claims = redaction.claims.model_copy(update={"before": None, "samples": None})
    altered = redaction.model_copy(update={"claims": claims})
    draft = plan.draft(t=plan.nodes["t"].model_copy(update={"redaction": altered}))
    assert "before=None samples=None " in plan.refused(draft)


def _lie(plan: Plan, name: str, **figures: float | None) -> RedactionDraft:
    redaction = plan.nodes[name].redaction
    assert redaction is not None and redaction.claims is not None
    claims = redaction.claims.model_copy(update=figures)
    assert claims != redaction.claims
    altered = redaction.model_copy(update={"claims": claims})
    return plan.draft(**{name: plan.nodes[name].model_copy(update={"redaction": altered})})


@pytest.mark.parametrize("name", ["t", "y"])
@pytest.mark.parametrize("figure", ["logit_auc", "ad_f_before", "logit_auc_before"])
@pytest.mark.parametrize("said", [0.5, None])
def test_a_lie_about_what_is_behind_the_output_is_refused(
    plan: Plan, name: str, figure: str, said: float | None
) -> None:
    """Of a start that its owner made, and of a model that members computed themselves."""
    draft = _lie(plan, name, **{figure: said})
    assert f"{figure}={said}" in plan.refused(draft)


def test_an_auc_from_a_processor_that_rounds_otherwise_is_accepted_and_no_larger_difference(
    plan: Plan,
) -> None:
    redaction = plan.nodes["y"].redaction
    assert redaction is not None and redaction.claims is not None
    true = redaction.claims.logit_auc
    assert true is not None
    members = plan.roster.members(plan.reviewer())
    members[0].approve(_lie(plan, "y", logit_auc=true - 0.9 * AUC_TOLERANCE))
    assert "held-out data give" in plan.refused(_lie(plan, "y", logit_auc=true - 1.5 * AUC_TOLERANCE))


def test_a_version_before_that_a_member_cannot_read_holds_nothing_up(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewer, catalogue = plan.reviewer(), plan.federation.catalogue()
    draft = plan.draft()
    proposed = [reviewer._proposed(target) for chunk in draft.chunks for target in chunk.targets]
    weights = {each.node.name: reviewer._weights.read(each.node.weights) for each in proposed}

    def lost(uri: Uri) -> None:
        raise StorageError("its blocks are lost")

    monkeypatch.setattr(reviewer, "_weights", SimpleNamespace(read=lost))
    request = proposed[0].redaction.request
    reviewer._measure(proposed, weights, request, catalogue)
    claims = Claimed(ad_f=0.0, ad_r=1.0, before=1.0, samples=1)
    better = replace(proposed[0], redaction=proposed[0].redaction.model_copy(update={"claims": claims}))
    with pytest.raises(RefusedError, match="held-out data give"):
        reviewer._measure([better], weights, request, catalogue)


@pytest.mark.parametrize(
    "stated",
    [
        {"untrained": True},
        {"spot_check": SpotCheck(disclosure=cid_string(file_uri(b"")), intervals=9, challenged=9)},
    ],
)
def test_a_recomputed_version_states_no_other_review(plan: Plan, stated: dict[str, object]) -> None:
    """A certificate names the review by it, and would call the model exact."""
    node = plan.nodes["t"]
    assert node.redaction is not None
    altered = node.model_copy(update={"redaction": node.redaction.model_copy(update=stated)})
    refused = plan.refused(plan.draft(t=altered))
    assert "t would be recomputed, and states another review" in refused


def test_classes_that_no_earlier_request_removed_are_not_left_out_of_ad_r(plan: Plan) -> None:
    """An omission would hide the model's loss on these classes."""
    redaction = plan.nodes["y"].redaction
    assert redaction is not None
    altered = redaction.model_copy(update={"left_out": (5,)})
    draft = plan.draft(y=plan.nodes["y"].model_copy(update={"redaction": altered}))
    assert "model y leaves out classes [5] of AD_r, its record says []" in plan.refused(draft)


def test_a_node_that_its_owner_did_not_sign_is_refused(plan: Plan) -> None:
    statement = plan.nodes["x"].statement.model_copy(update={"accuracy": 1.0})
    draft = plan.draft(x=plan.nodes["x"].model_copy(update={"statement": statement}))
    assert "model x is not signed by its owner" in plan.refused(draft)


def test_a_node_of_another_place_is_refused(plan: Plan) -> None:
    nodes = {plan.places[name]: node for name, node in plan.nodes.items()}
    nodes[plan.places["s"]], nodes[plan.places["t"]] = nodes[plan.places["t"]], nodes[plan.places["s"]]
    assert "not signed by its owner" in plan.refused(plan.roster.draft(nodes))


def test_a_node_of_another_version_is_refused(plan: Plan) -> None:
    redaction: Redaction = plan.nodes["x"].redaction.model_copy(update={"version": 2})
    draft = plan.draft(x=plan.nodes["x"].model_copy(update={"redaction": redaction}))
    assert "proposed for another place or version" in plan.refused(draft)


def test_a_node_that_is_not_in_the_store_is_refused(plan: Plan) -> None:
    draft = plan.draft()
    uri = draft.chunks[0].targets[0].uri
    content = plan.federation.stores.live.read(uri, ANY_SIZE)
    plan.federation.stores.live.delete(uri)
    assert "a model node cannot be read" in plan.refused(draft)
    plan.federation.stores.live.add(content)


def _without_last_record(chunk: ArchiveChunk) -> ArchiveChunk:
    return replace(chunk, records=chunk.records[:-1])


def _of_another_version(chunk: ArchiveChunk) -> ArchiveChunk:
    first, *rest = chunk.records
    return replace(chunk, records=(replace(first, version=7), *rest))


def _as_published(chunk: ArchiveChunk) -> ArchiveChunk:
    first, *rest = chunk.records
    return replace(chunk, records=(replace(first, reason=ArchiveReason.PUBLISHED), *rest))


def _with_the_last_twice(chunk: ArchiveChunk) -> ArchiveChunk:
    return replace(chunk, records=(*chunk.records, chunk.records[-1]))


RECORDS = {
    "no record": (lambda chunk: replace(chunk, records=()), "would not be archived"),
    "one record less": (_without_last_record, "would not be archived"),
    "a record of another version": (
        _of_another_version,
        "version 0 of the model at 2:0 would not be archived",
    ),
    "a record for another reason": (_as_published, "would not be archived"),
    "a record twice": (_with_the_last_twice, "number of archive records is 5, 4 was expected"),
    "another head": (lambda chunk: replace(chunk, expected_head=bytes(32)), "archive head is"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_a_redaction_that_does_not_archive_what_it_replaces_is_refused(plan: Plan, what: str) -> None:
    alter, reason = RECORDS[what]
    draft = plan.draft()
    (chunk,) = draft.archive
    assert reason in plan.refused(replace(draft, archive=(alter(chunk),)))


def test_a_redaction_without_archive_chunks_is_refused(plan: Plan) -> None:
    assert "would not be archived" in plan.refused(replace(plan.draft(), archive=()))


def test_a_second_content_under_one_proposal_is_refused(plan: Plan) -> None:
    """A member that has approved a draft stands by it."""
    draft = plan.draft()
    (chunk,) = draft.archive
    second = replace(draft, archive=(replace(chunk, timestamp=chunk.timestamp + 1),))
    members = plan.roster.members(plan.reviewer())
    coordinator = plan.roster.coordinator(members)
    coordinator.certify_redaction(draft)
    for member in members:
        with pytest.raises(RefusedError, match="approved with other content"):
            member.approve(second)
    with pytest.raises(QuorumError, match="0 of 4 members agree"):
        coordinator.certify_redaction(second)


def test_the_next_leader_proposes_the_nodes_of_one_that_failed(plan: Plan) -> None:
    nodes = {plan.places[name]: node for name, node in plan.nodes.items()}
    members = plan.roster.members(plan.reviewer())
    for member in members:
        member.approve(plan.roster.draft(nodes))
    coordinator = plan.roster.coordinator(members)
    coordinator.certify_redaction(plan.roster.draft(nodes, later=1))


def test_members_of_one_process_compute_a_content_once(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = record_measurements(monkeypatch)
    nodes = {plan.places[name]: node for name, node in plan.nodes.items()}
    members = plan.roster.members(plan.reviewer())
    for member in members:
        member.approve(plan.roster.draft(nodes))
    assert measured == [{*plan.nodes}]
    for member in members:
        member.approve(plan.roster.draft(nodes, later=1))
    assert measured == [{*plan.nodes}] * 2


def test_members_of_processes_of_their_own_each_compute_it(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, draft = record_measurements(monkeypatch), plan.draft()
    for index in range(4):
        plan.roster.members(plan.reviewer())[index].approve(draft)
    assert measured == [{*plan.nodes}] * 4


def test_a_refused_request_of_a_federation_leaves_nothing_behind(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members do not find the archive's record of the version of s to be replaced."""
    federation = plan.federation
    uri, read = federation.catalogue()["s"].uri, ArchiveReader.read
    with set_back(federation, federation.nodes.archive), monkeypatch.context() as patch:
        patch.setattr(
            ArchiveReader, "read", lambda self: tuple(each for each in read(self) if each.record.uri != uri)
        )
        before = plan.state()
        with pytest.raises(QuorumError, match="version 0 of the model at 2:0 is not in the archive"):
            federation.unlearn()
        assert plan.state() == before
    assert jobs_of(federation.run)[-1].state is JobState.FAILED
    assert federation.verify().passed
