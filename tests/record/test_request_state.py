# SPDX-License-Identifier: Apache-2.0
"""Reach, needs, deadlines and end of a filed request.

The models are a <- b <- c, a <- c, and d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.built_on_old import built_on_old
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.commitments import commitment_to, first_commitment, is_commitment
from blockful_py.record.model_node import (
    MAX_NODE_BYTES,
    ModelNode,
    PlacedNode,
    Redaction,
    RequestAnswer,
    sign_statement,
)
from blockful_py.record.parts import request_to_bytes
from blockful_py.record.request import Request, Start
from blockful_py.record.request_state import RequestStage, RequestStanding, Rules
from blockful_py.record.shown import checked_in
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Claimed, SpotCheck
from blockful_py.record.training_trace import MAX_TRACE_BYTES
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Checked, Codec, Position, RequestState, Uri

GRAPH = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ()}
OWNERS = {name: bytes([i]) * 20 for i, name in enumerate("abcde", start=1)}
WEIGHTS = cid_string(uri_of(b"weights", Codec.RAW))
SEQUENTIAL = Request(
    starts=(Start(name="a", position="1:0"),),
    classes=(3,),
    paradigm="sequential",
    method="retrain",
    created=9,
)
PARALLEL = SEQUENTIAL.model_copy(update={"paradigm": "parallel", "method": "gradient_ascent {}"})
OTHER = SEQUENTIAL.model_copy(update={"classes": (5,)})
BLOCKS = 10
"""An owner's time."""
ADMITTED = 100
"""Block of the admission."""


@dataclass(frozen=True)
class Filed:
    """A filed request, at block 90 and height 1; admitted unless it says otherwise."""

    uri: Uri
    state: RequestState = RequestState.ADMITTED
    blocks: int = BLOCKS
    number: int = 1
    by: bytes = OWNERS["a"]
    height: int = 1
    block_number: int = 90

    @property
    def decided(self) -> int:
        return 0 if self.state is RequestState.FILED else ADMITTED

    @property
    def deadline(self) -> int:
        return ADMITTED + self.blocks if self.state is RequestState.ADMITTED else 0


@dataclass(frozen=True)
class HandedIn:
    position: Position
    by: bytes
    uri: Uri
    block_number: int


def part(name: str, by: str, data: bytes = b"part", block_number: int = 101) -> HandedIn:
    return HandedIn(START[name].position, OWNERS[by], uri_of(data, Codec.RAW), block_number)


def commitment(name: str, by: str, trace: bytes = b"trace", block_number: int = 101) -> HandedIn:
    return HandedIn(START[name].position, OWNERS[by], commitment_to(trace), block_number)


def node_of(name: str, owner: str | None = None, references: tuple[Reference, ...] = ()) -> ModelNode:
    statement = Statement(
        name=name,
        user=1,
        round=1,
        owner="0x" + OWNERS[owner or name].hex(),
        weights=WEIGHTS,
        references=references,
        accuracy=0.5,
        training={},
        created=0,
    )
    return sign_statement(statement, 7, 1337, bytes(20))


def changed(
    placed: PlacedNode, request: Request, weights: str | None = WEIGHTS, block_number: int = 101
) -> PlacedNode:
    """The model once it has answered a request, by a withdrawal where there are no weights."""
    claims = None if weights is None else Claimed(ad_f=0.0, ad_r=1.0)
    version = placed.version + 1
    redaction = Redaction(version=version, weights=weights, request=request, claims=claims)
    answers = (*placed.answers, RequestAnswer(request, version, block_number, weights is None))
    node = placed.node.model_copy(update={"redaction": redaction})
    return replace(placed, version=version, node=node, answers=answers)


def catalogue(**by_name: PlacedNode) -> Catalogue:
    """The models, those named as they are given."""
    models = {
        name: PlacedNode(Position(1, i), 0, uri_of(name.encode(), Codec.RAW), node_of(name))
        for i, name in enumerate(GRAPH)
    }
    return Catalogue(models | by_name, InheritanceGraph.from_references(GRAPH))


START = catalogue()
A, B, C, D = (START[name] for name in "abcd")


def status(
    record: Catalogue = START,
    request: Request = SEQUENTIAL,
    now: int = 101,
    handed_in: Sequence[HandedIn] = (),
    earlier: tuple[Request, ...] = (),
    state: RequestState = RequestState.ADMITTED,
    withdraws: bool = True,
    attested: bool = False,
) -> RequestStanding:
    filed = Filed(file_uri(request_to_bytes(request)), state)
    rules = Rules(BLOCKS, withdraws, attested)
    return RequestStanding(filed, request, record.up_to(filed.height), earlier, handed_in, now, rules)


def later(record: Catalogue, *references: Reference) -> Catalogue:
    """The record with a model e of height 2, published after the request."""
    e = PlacedNode(Position(2, 0), 0, uri_of(b"e", Codec.RAW), node_of("e", references=references))
    graph = InheritanceGraph.from_references({**GRAPH, "e": [each.name for each in references]})
    return Catalogue({**record.models, "e": e}, graph)


FROM_A = Reference(name="a", position="1:0", accuracy=None)


def test_a_model_that_was_published_later_is_not_reached() -> None:
    """Finding 1: it was withdrawn by a request that had been carried out."""
    done = catalogue(**{name: changed(START[name], SEQUENTIAL) for name in "abc"})
    for record in (later(START, FROM_A), later(done, FROM_A)):
        at = status(record, now=1_000_000)
        assert "e" not in at.affected
        assert "e" not in at.missing
        assert "e" not in at.unanswered()
        assert at.due(OWNERS["e"]) == ()
    assert status(later(done, FROM_A), now=1_000_000).stage is RequestStage.CARRIED_OUT


def test_what_was_built_on_an_old_version_is_named_until_a_request_reaches_it() -> None:
    done = catalogue(**{name: changed(START[name], SEQUENTIAL) for name in "abc"})
    new = FROM_A.model_copy(update={"version": 1})
    assert built_on_old(status(later(START, FROM_A)), later(START, FROM_A)) == ()
    assert built_on_old(status(later(done, new)), later(done, new)) == ()
    old = later(done, FROM_A)
    assert built_on_old(status(old), old) == ("e",)
    follow_up = SEQUENTIAL.model_copy(update={"created": 10})
    reached = Catalogue({**old.models, "e": changed(old["e"], follow_up)}, old.graph)
    assert built_on_old(status(reached), reached) == ()


def test_an_owners_time_counts_from_when_its_part_can_be_done() -> None:
    one = catalogue(a=changed(A, SEQUENTIAL, block_number=150))
    two = catalogue(a=one["a"], b=changed(B, SEQUENTIAL, block_number=170))
    for record, name, begins in ((START, "a", ADMITTED), (one, "b", 150), (two, "c", 170)):
        assert status(record, now=begins + BLOCKS).unanswered() == ()
        assert status(record, now=begins + BLOCKS + 1).unanswered() == (name,)


def test_an_owners_time_counts_from_its_last_part_of_an_earlier_request() -> None:
    """Finding 2: many valid requests kept an owner busy, and then withdrew its models."""
    record = catalogue(d=changed(replace(D, node=node_of("d", owner="a")), OTHER, block_number=160))
    assert status(record, now=ADMITTED + BLOCKS + 1).unanswered() == ("a",)
    after = status(record, now=160 + BLOCKS, earlier=(OTHER,))
    assert (after.due_since("a"), after.unanswered()) == (160, ())
    assert status(record, now=161 + BLOCKS, earlier=(OTHER,)).unanswered() == ("a",)


def test_an_owners_time_counts_from_its_last_part_of_the_same_request() -> None:
    """An owner of several models that were due at once lost the last of them while it did the others."""
    own = {name: replace(each, node=node_of(name, owner="a")) for name, each in (("a", A), ("d", D))}
    both = SEQUENTIAL.model_copy(
        update={"starts": (*SEQUENTIAL.starts, Start(name="d", position=str(D.position)))}
    )
    record = catalogue(a=own["a"], d=changed(own["d"], both, block_number=108))
    assert status(record, both, now=108 + BLOCKS).unanswered() == ()
    assert status(record, both, now=109 + BLOCKS).unanswered() == ("a",)


def test_an_owners_time_counts_from_when_another_request_withdraws_what_it_waits_for() -> None:
    """Until then its part could not be done; it lost the model while it did it."""
    b = changed(B, OTHER, weights=None, block_number=140)
    record = catalogue(a=changed(A, SEQUENTIAL, block_number=120), b=b)
    assert status(record, now=140 + BLOCKS).unanswered() == ()
    assert status(record, now=141 + BLOCKS).unanswered() == ("c",)


def test_a_part_presses_once_half_of_its_owners_time_is_over() -> None:
    half = BLOCKS // 2
    assert not status(now=ADMITTED + half).presses(("a",))
    assert status(now=ADMITTED + half + 1).presses(("a",))
    busy = catalogue(d=changed(replace(D, node=node_of("d", owner="a")), OTHER, block_number=160))
    assert not status(busy, now=160 + half, earlier=(OTHER,)).presses(("a",))
    assert status(request=PARALLEL, now=ADMITTED + half + 1).presses(("b", "a"))
    gone = status(catalogue(a=changed(A, SEQUENTIAL, None)), now=1_000)
    assert not gone.presses(("a",))


def test_who_comes_back_after_a_parallel_decision_does_not_open_the_request_again() -> None:
    """A request that was carried out had lapsed, once the owner of a withdrawn model came back."""
    own_parts = PARALLEL.model_copy(update={"method": "scrub {}"})
    gone = changed(B, OTHER, weights=None, block_number=102)
    done = {name: changed(START[name], own_parts, block_number=105) for name in "ac"}
    back = changed(gone, OTHER, block_number=150)
    at = status(catalogue(b=gone, **done), own_parts)
    assert (at.stage, at.missing) == (RequestStage.CARRIED_OUT, ())
    record = catalogue(b=back, **done)
    later_on = status(record, own_parts, now=1_000)
    assert (later_on.stage, later_on.missing) == (RequestStage.CARRIED_OUT, ())
    assert built_on_old(later_on, record) == ("b",)
    in_time = catalogue(b=changed(gone, OTHER, block_number=104), **done)
    assert status(in_time, own_parts).missing == ("b",)
    one_by_one = {name: changed(START[name], SEQUENTIAL, block_number=105) for name in "ac"}
    assert status(catalogue(b=back, **one_by_one), now=151).missing == ("b",)


def test_withdrawals_give_an_absent_owner_no_more_time() -> None:
    gone = changed(replace(D, node=node_of("d", owner="a")), OTHER, None, 160)
    at = status(catalogue(d=gone), now=ADMITTED + BLOCKS + 1, earlier=(OTHER,))
    assert at.unanswered() == ("a",)


def test_a_model_is_withdrawn_after_its_references_alone() -> None:
    late = 1_000
    assert status(now=late).unanswered() == ("a",)
    gone = status(catalogue(a=changed(A, SEQUENTIAL, None)), now=late)
    assert gone.missing == ("b", "c")
    assert gone.unanswered() == ("b",)
    assert gone.withdrawn == ("a",)


@pytest.mark.parametrize("state", [RequestState.FILED, RequestState.DISMISSED])
def test_nothing_is_due_or_withdrawn_unless_the_committee_has_admitted_the_request(
    state: RequestState,
) -> None:
    for request in (SEQUENTIAL, PARALLEL):
        at = status(request=request, now=1_000, state=state)
        assert at.stage is (RequestStage.FILED if state is RequestState.FILED else RequestStage.DISMISSED)
        assert (at.unanswered(), at.due(OWNERS["a"]), at.owed(OWNERS["a"])) == ((), (), ())
        assert at.awaited == frozenset()


def test_a_parallel_request_withdraws_nothing() -> None:
    assert status(request=PARALLEL, now=1_000).unanswered() == ()


def test_where_the_federation_withdraws_nothing_a_request_ends_at_its_deadline() -> None:
    waits = status(now=ADMITTED + BLOCKS, withdraws=False)
    assert (waits.stage, waits.due(OWNERS["a"])) == (RequestStage.OPEN, ("a",))
    over = status(now=ADMITTED + BLOCKS + 1, withdraws=False)
    assert (over.stage, over.unanswered(), over.due(OWNERS["a"])) == (RequestStage.LAPSED, (), ())


def test_a_parallel_request_ends_at_its_deadline_or_as_long_again_where_its_parts_are_there() -> None:
    parts, end = [part("a", "a")], ADMITTED + BLOCKS
    assert status(request=PARALLEL, now=end).stage is RequestStage.OPEN
    assert status(request=PARALLEL, now=end + 1).stage is RequestStage.LAPSED
    assert status(request=PARALLEL, now=end + BLOCKS, handed_in=parts).stage is RequestStage.OPEN
    assert status(request=PARALLEL, now=end + BLOCKS + 1, handed_in=parts).stage is RequestStage.LAPSED
    done = catalogue(a=changed(A, PARALLEL))
    assert status(done, PARALLEL, now=10_000).stage is RequestStage.CARRIED_OUT


def test_the_stages_of_a_sequential_request() -> None:
    one = catalogue(a=changed(A, SEQUENTIAL))
    all_three = catalogue(**{name: changed(START[name], SEQUENTIAL) for name in "abc"})
    stages = [status(record).stage for record in (START, one, all_three)]
    assert stages == [RequestStage.OPEN, RequestStage.PARTLY, RequestStage.CARRIED_OUT]


def test_nobody_builds_on_what_a_request_is_about_to_replace() -> None:
    assert status().awaited == frozenset()
    assert status(catalogue(a=changed(A, SEQUENTIAL))).awaited == {"b", "c"}
    assert status(request=PARALLEL).awaited == frozenset()
    assert status(request=PARALLEL, handed_in=[part("a", "a")]).awaited == {"a", "b", "c"}
    assert status(request=PARALLEL, handed_in=[part("a", "a")], now=1_000).awaited == frozenset()


def test_the_owner_of_a_withdrawn_model_may_come_back() -> None:
    gone = status(catalogue(a=changed(A, SEQUENTIAL, None)))
    assert [gone.due(OWNERS[name]) for name in "abc"] == [("a",), ("b",), ()]
    assert status(catalogue(a=changed(A, SEQUENTIAL))).due(OWNERS["a"]) == ()
    over = status(catalogue(**{name: changed(START[name], SEQUENTIAL, None) for name in "abc"}))
    assert (over.stage, over.due(OWNERS["a"])) == (RequestStage.CARRIED_OUT, ("a",))


def test_a_model_that_an_earlier_request_withdrew_has_nothing_to_forget() -> None:
    gone = status(catalogue(b=changed(B, OTHER, None)))
    assert gone.missing == ("a", "c")
    assert gone.due(OWNERS["b"]) == ()


@pytest.mark.parametrize(("by", "complete"), [("a", True), ("b", False)])
def test_a_parallel_request_is_complete_with_what_the_owner_of_its_start_hands_in(
    by: str, complete: bool
) -> None:
    assert not status(request=PARALLEL).is_complete
    at = status(request=PARALLEL, handed_in=[part("a", by)])
    assert at.is_complete is complete
    assert at.owed(OWNERS["a"]) == (() if complete else ("a",))


def test_what_passing_left_alone_is_missing_until_the_whole_decision_is_executed() -> None:
    a, b = changed(A, PARALLEL), changed(B, PARALLEL)
    assert status(catalogue(a=replace(a, settled=False)), PARALLEL).missing == ("b", "c")
    assert status(catalogue(a=a, b=replace(b, settled=False)), PARALLEL).missing == ("c",)
    for whole in (catalogue(a=a), catalogue(a=a, b=b)):
        at = status(whole, PARALLEL, now=1_000)
        assert (at.missing, at.is_complete, at.stage) == ((), True, RequestStage.CARRIED_OUT)


def test_nothing_is_passed_on_before_every_start_has_answered() -> None:
    both = PARALLEL.model_copy(update={"starts": (*PARALLEL.starts, Start(name="d", position="1:3"))})
    assert status(catalogue(a=changed(A, both)), both).missing == ("b", "c", "d")
    assert status(catalogue(a=changed(A, both), d=changed(D, both)), both).missing == ()


@pytest.mark.parametrize("other", [{"paradigm": "sequential"}, {"method": "of_my_own {}"}])
def test_a_method_that_members_do_not_recompute_leaves_nothing_alone(other: dict[str, str]) -> None:
    request = PARALLEL.model_copy(update=other)
    assert status(catalogue(a=changed(A, request)), request).missing == ("b", "c")


def test_a_decision_under_way_on_another_request_keeps_nobody_waiting_for_this_one() -> None:
    following = PARALLEL.model_copy(update={"classes": (5,)})
    again = replace(changed(changed(A, PARALLEL), following), settled=False)
    assert status(catalogue(a=again), PARALLEL).missing == ()
    assert status(catalogue(a=again), following).missing == ("b", "c")


def test_what_an_owner_handed_in_last_counts_until_it_is_carried_out() -> None:
    handed_in = [part("a", "a"), part("a", "a", b"later"), part("a", "d"), part("b", "b")]
    expected = {"a": uri_of(b"later", Codec.RAW)}
    assert status(request=PARALLEL, handed_in=handed_in).newest_parts == expected
    done = status(catalogue(a=changed(A, PARALLEL)), PARALLEL, handed_in=handed_in)
    assert done.newest_parts == {}


def test_a_part_of_a_version_that_another_request_replaced_meanwhile_is_made_again() -> None:
    moved = catalogue(a=changed(A, OTHER, block_number=102))
    for block_number in (101, 102):
        stale = status(moved, PARALLEL, handed_in=[part("a", "a", block_number=block_number)])
        assert not stale.is_complete
        assert stale.due(OWNERS["a"]) == ("a",)
    parts = [part("a", "a"), part("a", "a", b"again", block_number=103)]
    again = status(moved, PARALLEL, handed_in=parts)
    assert again.newest_parts == {"a": uri_of(b"again", Codec.RAW)}
    assert again.due(OWNERS["a"]) == ()


def test_a_parallel_request_takes_parts_up_to_its_deadline() -> None:
    assert status(request=PARALLEL, now=ADMITTED + BLOCKS - 1).due(OWNERS["a"]) == ("a",)
    assert status(request=PARALLEL, now=ADMITTED + BLOCKS).due(OWNERS["a"]) == ()


def test_a_request_that_another_followed_is_not_carried_out_again() -> None:
    both = catalogue(**{name: changed(changed(START[name], SEQUENTIAL), OTHER) for name in "abc"})
    assert status(both).missing == status(both, OTHER).missing == ()
    one = catalogue(**{name: changed(START[name], OTHER) for name in "abc"})
    assert status(one).missing == ("a", "b", "c")
    assert status(both).due(OWNERS["a"]) == ()
    assert status(one).due(OWNERS["a"]) == ("a",)


def test_only_an_owners_first_commitment_counts_since_its_versions_stand() -> None:
    first, second = commitment("c", "c", b"first"), commitment("c", "c", b"second", 102)
    others = [
        commitment("c", "a", block_number=90),
        commitment("a", "c", block_number=90),
        part("c", "c", block_number=90),
    ]
    assert first_commitment(START, "c", [second, *others, first]) == first
    assert first_commitment(START, "c", others) is None
    assert first_commitment(catalogue(c=changed(C, OTHER)), "c", [first, second]) == second
    assert first_commitment(catalogue(b=changed(B, OTHER)), "c", [first, second]) == second
    assert first_commitment(catalogue(d=changed(D, OTHER)), "c", [first, second]) == first
    assert first_commitment(catalogue(c=changed(C, OTHER, block_number=102)), "c", [first, second]) is None


def test_a_commitment_is_no_part_and_a_node_is_no_commitment() -> None:
    """Their codecs tell: a node has at most as many bytes as a block."""
    largest = file_uri(bytes(MAX_NODE_BYTES))
    assert not is_commitment(replace(part("a", "a"), uri=largest))
    assert is_commitment(commitment("a", "a", bytes(MAX_TRACE_BYTES)))
    node, trace = part("a", "a"), commitment("a", "a", block_number=102)
    assert status(handed_in=[node]).newest_parts == {}
    assert status(request=PARALLEL, handed_in=[trace]).newest_parts == {}
    assert status(request=PARALLEL, handed_in=[node, trace]).newest_parts == {"a": node.uri}


def with_samples(name: str) -> PlacedNode:
    """A model whose owner committed to its samples."""
    node = START[name].node
    statement = node.statement.model_copy(update={"samples": "0" * 64})
    return replace(START[name], node=node.model_copy(update={"statement": statement}))


def test_models_of_which_nothing_would_be_left_are_withdrawn_at_once() -> None:
    """A root whose owner can show no training became untrained, and with it what inherits from it alone."""
    asked = SEQUENTIAL.model_copy(update={"classes": (), "samples": ("1:0",)})
    waves = asked.model_copy(update={"paradigm": "parallel", "method": "retrain_ahead {}"})
    for request in (asked, waves):
        assert status(request=request).emptied == {"a", "b", "c"}
        assert status(request=request).unanswered() == ("a",)
        assert status(request=request).owed(OWNERS["b"]) == ()
        assert status(catalogue(b=with_samples("b")), request).emptied == {"a"}
        assert status(catalogue(a=with_samples("a")), request).emptied == set()
        assert status(request=request, withdraws=False).emptied == set()
        assert status(request=request, attested=True).emptied == set()
    assert status().emptied == set()
    leaving = SEQUENTIAL.model_copy(update={"classes": (), "clients": (1,)})
    assert status(catalogue(a=with_samples("a"), b=with_samples("b")), leaving).emptied == {"a", "b", "c"}


def test_a_request_is_spot_checked_where_all_its_versions_were() -> None:
    def version(spot_check: SpotCheck | None, weights: str | None = WEIGHTS) -> ModelNode:
        node = changed(A, SEQUENTIAL, weights).node
        assert node.redaction is not None
        redaction = node.redaction.model_copy(update={"spot_check": spot_check})
        return node.model_copy(update={"redaction": redaction})

    checked = version(SpotCheck(disclosure=WEIGHTS, intervals=60, challenged=6))
    withdrawn = version(None, weights=None)
    assert checked_in(SEQUENTIAL, [checked, withdrawn]) is Checked.SPOT_CHECKED
    assert checked_in(SEQUENTIAL, [checked, version(None)]) is Checked.MEASURED
    assert checked_in(SEQUENTIAL, [withdrawn]) is Checked.MEASURED
    assert checked_in(PARALLEL, [version(None)]) is Checked.RECOMPUTED
    leaving = SEQUENTIAL.model_copy(update={"classes": (), "clients": (1,)})
    assert checked_in(leaving, [withdrawn]) is Checked.EXACT
    assert checked_in(leaving, [withdrawn, version(None)]) is Checked.ATTESTED
