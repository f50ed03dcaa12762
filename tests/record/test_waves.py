# SPDX-License-Identifier: Apache-2.0
"""Parts by waves: who does one when, how long an owner has, and what an absent one delays.

The models are a <- b <- c, a <- c, and d; the request starts at b.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.commitments import first_commitment
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.request import Start
from blockful_py.record.request_state import RequestStage, RequestStanding
from blockful_py.record.statement_parts import Increment
from blockful_py.record.waves import longest_wait
from tests.record.test_request_state import (
    ADMITTED,
    BLOCKS,
    GRAPH,
    OTHER,
    OWNERS,
    PARALLEL,
    SEQUENTIAL,
    START,
    WEIGHTS,
    A,
    B,
    C,
    catalogue,
    changed,
    commitment,
    node_of,
    part,
)
from tests.record.test_request_state import status as standing

STARTS = (Start(name="b", position=str(B.position)),)
ONE_BY_ONE = SEQUENTIAL.model_copy(update={"starts": STARTS, "method": "retrain_ahead {}"})
TOGETHER = PARALLEL.model_copy(update={"starts": STARTS, "method": "retrain_ahead {}"})
BOTH = (ONE_BY_ONE, TOGETHER)


def status(*args: Any, **kwargs: Any) -> RequestStanding:
    """A request that accepts hand-ins for as long as three parts take, one after another."""
    at = standing(*args, **kwargs)
    return replace(at, filed=replace(at.filed, blocks=3 * BLOCKS))


def test_ancestors_take_part_and_are_never_replaced() -> None:
    for request in BOTH:
        at = status(request=request)
        assert (at.affected, at.auxiliary, at.missing) == (("b", "c"), ("a",), ("b", "c"))
        assert at.waits_for == ("a", "b", "c")
        assert [at.due(OWNERS[name]) for name in "abcd"] == [("a",), (), (), ()]
        assert [at.owed(OWNERS[name]) for name in "abcd"] == [("a",), ("b",), ("c",), ()]
        assert status(request=request, handed_in=[part("a", "a")]).waits_for == ("b", "c")
    assert (status().auxiliary, status().waits_for) == ((), ("a", "b", "c"))


def test_a_part_is_due_once_the_parts_of_all_references_are_there() -> None:
    for request in BOTH:
        at = status(request=request, handed_in=[part("a", "a")])
        assert [at.due(OWNERS[name]) for name in "abc"] == [(), ("b",), ()]
    parts = [part("a", "a", block_number=101), part("b", "b", block_number=102)]
    at = status(request=TOGETHER, handed_in=parts)
    assert at.due(OWNERS["c"]) == ("c",) and not at.is_complete
    whole = status(request=TOGETHER, handed_in=[*parts, part("c", "c", block_number=103)])
    assert whole.is_complete and whole.newest_parts.keys() == {"b", "c"}
    replaced = catalogue(b=changed(B, ONE_BY_ONE))
    assert status(replaced, ONE_BY_ONE, handed_in=parts[:1]).due(OWNERS["c"]) == ("c",)


def test_a_part_older_than_a_part_above_is_due_again() -> None:
    parts = [part("a", "a", block_number=101), part("b", "b", block_number=102)]
    early = part("c", "c", block_number=102)
    assert status(request=TOGETHER, handed_in=[*parts, early]).due(OWNERS["c"]) == ("c",)
    made, anew = part("c", "c", block_number=103), part("b", "b", b"anew", block_number=104)
    at = status(request=TOGETHER, handed_in=[*parts, made, anew], now=105)
    assert at.newest_parts == {"b": anew.uri} and at.due(OWNERS["c"]) == ("c",)


def test_a_commitment_to_a_training_is_no_part() -> None:
    for request in BOTH:
        at = status(request=request, handed_in=[commitment("a", "a")])
        assert (at.due(OWNERS["a"]), at.due(OWNERS["b"]), at.parts) == (("a",), (), {})
        both = [
            commitment("a", "a"),
            part("a", "a", block_number=102),
            commitment("b", "b", block_number=103),
        ]
        at = status(request=request, handed_in=both, now=104)
        assert at.auxiliary_parts == {"a": both[1].uri} and at.due(OWNERS["b"]) == ("b",)
    at = status(request=ONE_BY_ONE, handed_in=[part("a", "a"), part("b", "b")])
    assert at.due(OWNERS["b"]) == ("b",)


def test_an_owner_that_only_commits_is_as_one_that_does_not_answer() -> None:
    end = ADMITTED + BLOCKS
    traces = [commitment("a", "a"), commitment("b", "b", block_number=102)]
    for request in BOTH:
        assert status(request=request, now=end + 1, handed_in=traces).due(OWNERS["b"]) == ("b",)
        assert status(request=request, now=end + BLOCKS + 1, handed_in=traces).unanswered() == ("b",)


def test_a_commitment_counts_for_the_part_after_it() -> None:
    """Otherwise an ancestor's owner could make a part unusable on which others have built."""
    node, trace = part("a", "a"), commitment("a", "a", block_number=102)
    for request in BOTH:
        after = status(request=request, handed_in=[node, trace], now=103)
        assert first_commitment(START, "a", after.before_part("a")) is None
        before = status(request=request, handed_in=[replace(trace, block_number=101), node], now=103)
        assert first_commitment(START, "a", before.before_part("a")) == before.handed_in[0]
        alone = status(request=request, handed_in=[trace], now=103)
        assert first_commitment(START, "a", alone.before_part("a")) == trace
    again = [commitment("b", "b", block_number=103), part("b", "b", b"again", 104)]
    at = status(request=TOGETHER, handed_in=[node, part("b", "b", block_number=102), *again], now=105)
    assert first_commitment(START, "b", at.before_part("b")) == again[0]


def test_a_newer_part_of_a_reference_begins_no_other_training() -> None:
    """Its owner could otherwise give a forger any number of draws."""
    first, second = commitment("c", "c"), commitment("c", "c", b"second", 104)
    parts = [part("b", "b"), first, part("b", "b", b"newer", 103), second]
    at = status(request=TOGETHER, handed_in=parts, now=105)
    assert first_commitment(START, "c", at.before_part("c")) == first


def test_who_owes_a_part_reads_the_parts_that_it_starts_from_and_nobody_else() -> None:
    at = status(request=TOGETHER, handed_in=[part("a", "a")])
    assert at.parts_above(OWNERS["b"]).keys() == at.parts_above(OWNERS["c"]).keys() == {A.position}
    assert at.parts_above(OWNERS["a"]) == at.parts_above(OWNERS["d"]) == {}
    done = catalogue(b=changed(B, TOGETHER), c=changed(C, TOGETHER))
    over = status(done, TOGETHER, handed_in=[part("a", "a")])
    assert over.stage is RequestStage.CARRIED_OUT and over.parts_above(OWNERS["b"]) == {}


def test_an_ancestors_owner_that_misses_its_time_is_not_waited_for() -> None:
    end = ADMITTED + BLOCKS
    for request in BOTH:
        assert status(request=request, now=end).due(OWNERS["b"]) == ()
        late = status(request=request, now=end + 1)
        assert (late.due(OWNERS["a"]), late.due(OWNERS["b"])) == ((), ("b",))
        assert late.due_since("b") == end
        assert late.unanswered() == ()


def test_a_late_clean_model_does_not_count() -> None:
    end = ADMITTED + BLOCKS
    for request in BOTH:
        at = status(request=request, now=end + 2, handed_in=[part("a", "a", block_number=end + 1)])
        assert at.auxiliary_parts == {}
        assert at.unused_parts == (part("a", "a").uri,)
        in_time = status(request=request, now=end + 2, handed_in=[part("a", "a", block_number=end)])
        assert in_time.unused_parts == ()
        assert in_time.auxiliary_parts.keys() == {"a"} and in_time.due_since("b") == end


def test_an_affected_model_whose_owner_misses_its_time_is_withdrawn() -> None:
    parts = [part("a", "a", block_number=103)]
    for request in BOTH:
        assert status(request=request, now=103 + BLOCKS, handed_in=parts).unanswered() == ()
        late = status(request=request, now=104 + BLOCKS, handed_in=parts)
        assert late.unanswered() == ("b",)
        assert late.due(OWNERS["b"]) == ("b",)  # until the withdrawal
    gone = catalogue(b=changed(B, TOGETHER, None, 115))
    at = status(gone, TOGETHER, now=116, handed_in=parts)
    assert (at.stage, at.missing, at.withdrawn) == (RequestStage.PARTLY, ("c",), ("b",))
    assert at.due_since("c") == 115
    kept = status(request=TOGETHER, now=1_000, handed_in=parts, withdraws=False)
    assert (kept.unanswered(), kept.stage) == ((), RequestStage.LAPSED)


def test_a_part_that_is_there_is_never_withdrawn() -> None:
    parts = [part("a", "a"), part("b", "b", block_number=102)]
    at = status(request=TOGETHER, now=103 + BLOCKS, handed_in=parts)
    assert at.unanswered() == ("c",)


def test_the_first_clean_model_counts_since_others_may_have_built_on_it() -> None:
    first, again = part("a", "a"), part("a", "a", b"again", 108)
    for request in BOTH:
        at = status(request=request, handed_in=[first, again], now=109)
        assert (at.due_since("b"), at.auxiliary_parts) == (101, {"a": first.uri})
    newer = part("b", "b", b"newer", 109)
    at = status(request=TOGETHER, handed_in=[first, part("b", "b", block_number=105), newer], now=110)
    assert (at.due_since("c"), at.newest_parts) == (109, {"b": newer.uri})


def test_a_clean_model_of_a_version_replaced_since_does_not_count() -> None:
    """It may know what the other request forgot."""
    replaced = catalogue(a=changed(A, OTHER, block_number=105))
    for request in BOTH:
        at = status(replaced, request, now=106, handed_in=[part("a", "a", block_number=104)])
        assert at.due(OWNERS["a"]) == ("a",) and at.auxiliary_parts == {}


def test_a_withdrawn_ancestor_is_left_out() -> None:
    at = status(catalogue(a=changed(A, OTHER, None)), TOGETHER)
    assert (at.auxiliary, at.due(OWNERS["b"])) == ((), ("b",))


def named(placed: PlacedNode, *labels: int, checkable: bool = False) -> PlacedNode:
    """The model with stored clean models for some classes."""
    stored = tuple(
        Increment(label=label, weights=WEIGHTS, base="00" * 32, checkable=checkable) for label in labels
    )
    statement = placed.node.statement.model_copy(update={"increments": stored})
    return replace(placed, node=placed.node.model_copy(update={"statement": statement}))


def test_an_ancestor_whose_clean_model_is_in_the_record_is_not_asked() -> None:
    for request in BOTH:
        at = status(catalogue(a=named(A, 5, 3)), request)
        assert (at.settled, at.auxiliary, at.due(OWNERS["b"])) == ({"a"}, (), ("b",))
        at = status(catalogue(a=named(A, 5)), request)
        assert (at.settled, at.auxiliary, at.due(OWNERS["b"])) == (set(), ("a",), ())


def test_an_ancestor_whose_stored_training_can_be_shown_is_asked_for_it() -> None:
    """Unless no owner right below hands in a part, which could tell what it rests on."""
    line = InheritanceGraph.from_references({**GRAPH, "c": ("b",)})
    for request in BOTH:
        at = status(catalogue(a=named(A, 3, checkable=True)), request)
        assert (at.settled, at.auxiliary, at.due(OWNERS["b"])) == ({"a"}, ("a",), ())
        late = status(catalogue(a=named(A, 3, checkable=True)), request, now=ADMITTED + BLOCKS + 1)
        assert late.due(OWNERS["b"]) == ("b",)
        below = request.model_copy(update={"starts": (Start(name="c", position=str(C.position)),)})
        for checkable, asked in ((True, ("a", "b")), (False, ())):
            record = catalogue(a=named(A, 3, checkable=True), b=named(B, 3, checkable=checkable))
            assert status(replace(record, graph=line), below).auxiliary == asked


def test_a_commitment_counts_until_the_part_or_the_end_of_the_owners_time() -> None:
    early, after = commitment("a", "a"), commitment("a", "a", block_number=103)
    late = commitment("a", "a", block_number=ADMITTED + BLOCKS + 1)
    given = part("a", "a", block_number=102)
    for request in BOTH:
        for handed_in in ([early], [early, given]):
            assert status(request=request, handed_in=handed_in).has_committed("a")
        for handed_in in ([], [late], [given, after]):
            assert not status(request=request, handed_in=handed_in).has_committed("a")


def test_a_clean_model_whose_reference_has_none_is_not_taken_on_trust() -> None:
    """Nobody but a's owner knows whether the class has reached a."""
    below = Start(name="c", position=str(C.position))
    for request in (each.model_copy(update={"starts": (below,)}) for each in BOTH):
        assert status(catalogue(b=named(B, 3)), request).auxiliary == ("a", "b")
        assert status(catalogue(a=named(A, 3), b=named(B, 3)), request).auxiliary == ()


def test_a_clean_model_is_none_once_a_version_above_it_was_replaced() -> None:
    below = Start(name="c", position=str(C.position))
    for request in (each.model_copy(update={"starts": (below,)}) for each in BOTH):
        record = catalogue(a=changed(A, OTHER), b=named(B, 3))
        assert record.changed == {"a", "b", "c"}
        assert status(record, request).auxiliary == ("a", "b")


def test_samples_and_clients_have_reached_no_ancestor_of_the_starts() -> None:
    for what in ({"samples": ("2:0",)}, {"clients": (2,)}):
        for request in BOTH:
            asked = request.model_copy(update={"classes": (), **what})
            assert status(request=asked).auxiliary == ()


def test_stored_clean_models_serve_requests_for_their_class_alone() -> None:
    record = catalogue(a=named(A, 3, 5))
    for request in BOTH:
        assert status(record, request.model_copy(update={"classes": (3, 5)})).auxiliary == ("a",)
        before = catalogue(a=named(A, 3), c=changed(C, OTHER))
        assert status(before, request).auxiliary == ("a",)
    assert status(record, SEQUENTIAL.model_copy(update={"starts": STARTS})).settled == set()


def test_the_longest_wait_follows_references_and_each_owners_own_models() -> None:
    graph = InheritanceGraph.from_references(GRAPH)
    assert longest_wait(graph, dict(zip("abcd", "abcd", strict=True))) == 3
    assert longest_wait(graph, {"a": "a", "d": "a"}) == 2
    assert longest_wait(graph, {"a": "a", "d": "d"}) == 1
    assert longest_wait(graph, {}) == 0


def test_an_owner_does_one_part_after_another() -> None:
    """d shares no path with the start b, and neither waits for the other unless one account owns both."""
    both = TOGETHER.model_copy(
        update={"starts": (*STARTS, Start(name="d", position=str(START["d"].position)))}
    )
    assert status(request=both).due_since("d") == ADMITTED
    own = catalogue(d=replace(START["d"], node=node_of("d", owner="a")))
    assert status(own, both).due_since("d") == ADMITTED + BLOCKS
    assert status(own, both, handed_in=[part("a", "a", block_number=104)]).due_since("d") == 104
