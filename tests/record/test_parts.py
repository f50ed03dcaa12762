# SPDX-License-Identifier: Apache-2.0
"""What a filed request needs, and whose time is over, on a chain of models a <- b <- c and a <- c, and d."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import (
    Claimed,
    ModelNode,
    PlacedNode,
    Redaction,
    Request,
    Start,
    Statement,
    sign_statement,
)
from blockful_py.record.parts import (
    checked_in,
    due,
    first_commitment,
    has_lapsed,
    is_complete,
    missing,
    newest_parts,
    request_to_bytes,
    unanswered,
)
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Checked, Codec, Position, Uri

GRAPH = {"a": (), "b": ("a",), "c": ("a", "b"), "d": ()}
OWNERS = {name: bytes([i]) * 20 for i, name in enumerate(GRAPH, start=1)}
WEIGHTS = cid_string(uri_of(b"weights", Codec.RAW))
SEQUENTIAL = Request(
    starts=(Start(name="a", position="1:0"),),
    classes=(3,),
    paradigm="sequential",
    method="retrain",
    created=9,
)
PARALLEL = SEQUENTIAL.model_copy(update={"paradigm": "parallel", "method": "gradient_ascent {}"})
BLOCKS = 10


@dataclass(frozen=True)
class Filed:
    """A filed request, at block 100."""

    uri: Uri
    block_number: int = 100


@dataclass(frozen=True)
class HandedIn:
    position: Position
    by: bytes
    uri: Uri
    block_number: int


def part(name: str, by: str, data: bytes = b"part", block_number: int = 101) -> HandedIn:
    return HandedIn(START[name].position, OWNERS[by], uri_of(data, Codec.RAW), block_number)


def filed(request: Request) -> Filed:
    return Filed(file_uri(request_to_bytes(request)))


def node_of(name: str) -> ModelNode:
    statement = Statement(
        name=name,
        user=1,
        round=1,
        owner="0x" + OWNERS[name].hex(),
        weights=WEIGHTS,
        references=(),
        accuracy=0.5,
        training={},
        created=0,
    )
    return sign_statement(statement, 7, 1337, bytes(20))


def changed(placed: PlacedNode, request: Request, weights: str | None = WEIGHTS) -> PlacedNode:
    claims = None if weights is None else Claimed(ad_f=0.0, ad_r=1.0)
    redaction = Redaction(version=1, weights=weights, request=request, claims=claims)
    return replace(placed, version=1, node=placed.node.model_copy(update={"redaction": redaction}))


def catalogue(**by_name: PlacedNode) -> Catalogue:
    """The models, those named as they are given."""
    models = {
        name: PlacedNode(Position(1, i), 0, uri_of(name.encode(), Codec.RAW), node_of(name))
        for i, name in enumerate(GRAPH)
    }
    return Catalogue(models | by_name, InheritanceGraph.from_references(GRAPH))


START = catalogue()
A, B, C, D = (START[name] for name in "abcd")


def test_an_owner_has_its_time_for_each_edge_from_the_starts() -> None:
    nothing, one = START, catalogue(a=changed(A, SEQUENTIAL))
    two = catalogue(a=changed(A, SEQUENTIAL), b=changed(B, SEQUENTIAL))
    ends = [(nothing, "a", 110), (one, "b", 120), (two, "c", 130)]
    for record, name, end in ends:
        assert unanswered(record, SEQUENTIAL, filed(SEQUENTIAL), BLOCKS, end) == ()
        assert unanswered(record, SEQUENTIAL, filed(SEQUENTIAL), BLOCKS, end + 1) == (name,)


def test_a_model_is_withdrawn_after_its_references_alone() -> None:
    late = 1_000
    assert unanswered(START, SEQUENTIAL, filed(SEQUENTIAL), BLOCKS, late) == ("a",)
    gone = catalogue(a=changed(A, SEQUENTIAL, None))
    assert missing(gone, SEQUENTIAL) == ("b", "c")
    assert unanswered(gone, SEQUENTIAL, filed(SEQUENTIAL), BLOCKS, late) == ("b",)


def test_no_filing_of_another_request_ends_an_owners_time() -> None:
    other = SEQUENTIAL.model_copy(update={"created": 8})
    assert unanswered(START, SEQUENTIAL, filed(other), BLOCKS, 1_000) == ()


def test_a_parallel_request_withdraws_nothing() -> None:
    assert unanswered(START, PARALLEL, filed(PARALLEL), BLOCKS, 1_000) == ()


def test_the_owner_of_a_withdrawn_model_may_come_back() -> None:
    gone = catalogue(a=changed(A, SEQUENTIAL, None))
    assert due(gone, SEQUENTIAL, OWNERS["a"], ()) == ("a",)
    assert due(gone, SEQUENTIAL, OWNERS["b"], ()) == ("b",)
    assert due(gone, SEQUENTIAL, OWNERS["c"], ()) == ()
    assert due(catalogue(a=changed(A, SEQUENTIAL)), SEQUENTIAL, OWNERS["a"], ()) == ()


def test_a_model_that_an_earlier_request_withdrew_has_nothing_to_forget() -> None:
    earlier = SEQUENTIAL.model_copy(update={"created": 1})
    gone = catalogue(b=changed(B, earlier, None))
    assert missing(gone, SEQUENTIAL) == ("a", "c")
    assert due(gone, SEQUENTIAL, OWNERS["b"], ()) == ()


@pytest.mark.parametrize(("by", "complete"), [("a", True), ("b", False)])
def test_a_parallel_request_is_complete_with_what_the_owner_of_its_start_hands_in(
    by: str, complete: bool
) -> None:
    assert not is_complete(START, PARALLEL, ())
    assert is_complete(START, PARALLEL, [part("a", by)]) is complete


def test_what_passing_left_alone_is_missing_until_the_whole_decision_is_executed() -> None:
    a, b = changed(A, PARALLEL), changed(B, PARALLEL)
    assert missing(catalogue(a=replace(a, settled=False)), PARALLEL) == ("b", "c")
    assert missing(catalogue(a=a, b=replace(b, settled=False)), PARALLEL) == ("c",)
    for whole in (catalogue(a=a), catalogue(a=a, b=b)):
        assert missing(whole, PARALLEL) == ()
        assert is_complete(whole, PARALLEL, ())
        assert not has_lapsed(whole, PARALLEL, (), 0, 1)


def test_nothing_is_passed_on_before_every_start_has_answered() -> None:
    both = PARALLEL.model_copy(update={"starts": (*PARALLEL.starts, Start(name="d", position="1:3"))})
    assert missing(catalogue(a=changed(A, both)), both) == ("b", "c", "d")
    assert missing(catalogue(a=changed(A, both), d=changed(D, both)), both) == ()


@pytest.mark.parametrize("other", [{"paradigm": "sequential"}, {"method": "of_my_own {}"}])
def test_a_method_that_members_do_not_recompute_leaves_nothing_alone(other: dict[str, str]) -> None:
    request = PARALLEL.model_copy(update=other)
    assert missing(catalogue(a=changed(A, request)), request) == ("b", "c")


def test_a_decision_under_way_on_another_request_keeps_nobody_waiting_for_this_one() -> None:
    later = PARALLEL.model_copy(update={"classes": (5,)})
    again = replace(changed(A, later), earlier=(PARALLEL,), settled=False)
    assert missing(catalogue(a=again), PARALLEL) == ()
    assert missing(catalogue(a=again), later) == ("b", "c")


def test_what_an_owner_handed_in_last_counts_until_it_is_carried_out() -> None:
    handed_in = [part("a", "a"), part("a", "a", b"later"), part("a", "d"), part("b", "b")]
    assert newest_parts(START, PARALLEL, handed_in) == {"a": uri_of(b"later", Codec.RAW)}
    assert newest_parts(catalogue(a=changed(A, PARALLEL)), PARALLEL, handed_in) == {}


def test_a_part_of_a_version_that_another_request_replaced_meanwhile_is_made_again() -> None:
    other = SEQUENTIAL.model_copy(update={"created": 8})
    moved = catalogue(a=replace(changed(A, other), since=102))
    for block_number in (101, 102):
        stale = [part("a", "a", block_number=block_number)]
        assert not is_complete(moved, PARALLEL, stale)
        assert due(moved, PARALLEL, OWNERS["a"], stale) == ("a",)
    again = [part("a", "a"), part("a", "a", b"again", block_number=103)]
    assert newest_parts(moved, PARALLEL, again) == {"a": uri_of(b"again", Codec.RAW)}
    assert due(moved, PARALLEL, OWNERS["a"], again) == ()


def test_a_request_that_another_followed_is_not_carried_out_again() -> None:
    later = SEQUENTIAL.model_copy(update={"classes": (5,)})
    both = {name: replace(changed(START[name], later), earlier=(SEQUENTIAL,)) for name in "abc"}
    assert missing(catalogue(**both), SEQUENTIAL) == missing(catalogue(**both), later) == ()
    one = catalogue(**{name: changed(START[name], later) for name in "abc"})
    assert missing(one, SEQUENTIAL) == ("a", "b", "c")
    assert due(catalogue(**both), SEQUENTIAL, OWNERS["a"], ()) == ()
    assert due(one, SEQUENTIAL, OWNERS["a"], ()) == ("a",)


def test_only_an_owners_first_commitment_counts_since_its_versions_stand() -> None:
    first, second = part("c", "c", b"first"), part("c", "c", b"second", 102)
    others = [part("c", "a", block_number=90), part("a", "c", block_number=90)]
    assert first_commitment(START, "c", [second, *others, first]) == first
    assert first_commitment(START, "c", others) is None
    assert first_commitment(catalogue(c=replace(C, since=101)), "c", [first, second]) == second
    assert first_commitment(catalogue(b=replace(B, since=101)), "c", [first, second]) == second
    assert first_commitment(catalogue(d=replace(D, since=101)), "c", [first, second]) == first
    assert first_commitment(catalogue(c=replace(C, since=102)), "c", [first, second]) is None


def test_a_commitment_is_no_part() -> None:
    assert newest_parts(START, SEQUENTIAL, [part("a", "a")]) == {}
    assert newest_parts(START, PARALLEL, [part("a", "a")]).keys() == {"a"}


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
