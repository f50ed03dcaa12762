# SPDX-License-Identifier: Apache-2.0
"""A certificate's first line says what was checked, what was not, and who can teach the data again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blockful_py.pipeline.jobs.requesting import advice_on
from blockful_py.record.certificates.document import CertificateStatement
from blockful_py.record.request import Request
from blockful_py.record.shown import Shown, shown
from blockful_py.types import Checked, Paradigm, References
from blockful_py.unlearning.registry import FOR_SUMS, METHODS
from blockful_py.verdicts import methods
from tests.record.conftest import Scene
from tests.unlearning.audit.test_exactness import EXACT

AUDITORS = ["0x" + f"{number:040x}" for number in range(1, 17)]
AGAIN = 'retrain_ahead {"references":"chosen again"}'
CLIENT = {"classes": (), "clients": (5,)}


@pytest.fixture(scope="module")
def statement(scene: Scene) -> CertificateStatement:
    return scene.federation.certify_erasure(scene.unlearned.request).statement


def asked(statement: CertificateStatement, paradigm: Paradigm, method: str, **changes: Any) -> Request:
    return statement.request.model_copy(update={"paradigm": paradigm, "method": method, **changes})


def altered(
    statement: CertificateStatement,
    request: Request,
    others: int | None = 3,
    checks: tuple[tuple[int, int], ...] = (),
    unchanged: bool = True,
    from_initial: tuple[bool, ...] = (False,),
) -> CertificateStatement:
    """The statement for another request; `checks`: intervals recomputed and all, by model, in turn.

    Unless `unchanged`, no model has a reference outside of the replaced ones.
    """
    replaced = {each.position for each in statement.replaced}
    models = []
    for number, model in enumerate(statement.record.models):
        node = json.loads(model.node)
        if checks:
            challenged, intervals = checks[number % len(checks)]
            node["redaction"]["spot_check"] = {
                "disclosure": "b", "intervals": intervals, "challenged": challenged,
                "from_initial": from_initial[number % len(from_initial)],
            }  # fmt: skip
        if not unchanged:
            kept = [each for each in node["statement"]["references"] if each["position"] in replaced]
            node["statement"]["references"] = kept
        models.append(model.model_copy(update={"node": json.dumps(node)}))
    record = statement.record.model_copy(update={"models": tuple(models)})
    return statement.model_copy(update={"request": request, "record": record, "other_owners": others})


def test_what_members_recomputed_is_not_called_exact(statement: CertificateStatement) -> None:
    told = shown(statement)
    assert told.review is Checked.RECOMPUTED
    assert told.kind == (
        "Recomputed: the new models are what the method makes. Whether they have forgotten is not shown. "
        "3 other owners have models that the request left unchanged, and can teach it again if they hold it."
    )


def test_a_start_that_was_checked_does_not_make_passing_a_check(statement: CertificateStatement) -> None:
    told = shown(altered(statement, statement.request, checks=((6, 40),)))
    assert told.review is Checked.RECOMPUTED
    assert told.kind.startswith("Recomputed: the new models are what the method makes. Whether they have ")
    starts, models = len(statement.request.starts), len(statement.record.models)
    assert f"Of the starts, {models} of {starts} showed a training without the data: 6 of 40" in told.kind


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("retrain_ahead {}", "retrain_ahead is exact given the graph;"),
        (AGAIN, "retrain_ahead is exact with the graph chosen again;"),
        ("clean_line {}", "clean_line is exact given the graph;"),
        ("fine_tune {}", None),
        ("mine:Method {}", None),
        ("retrain {}", None),  # references that stay may know the class
    ],
)
def test_what_members_measured_is_the_output_only(
    statement: CertificateStatement, method: str, words: str | None
) -> None:
    told = shown(altered(statement, asked(statement, Paradigm.SEQUENTIAL, method)))
    assert told.kind.startswith("Measured: the output of the new models, and nothing else.")
    assert "nobody saw them do it" in told.kind if words else "exact" not in told.kind
    assert words is None or words in told.kind


def test_retraining_is_exact_where_no_reference_stays(statement: CertificateStatement) -> None:
    request = asked(statement, Paradigm.SEQUENTIAL, "retrain {}")
    told = shown(altered(statement, request, unchanged=False))
    assert "retrain is exact given the graph;" in told.kind and told.warnings == ()
    again = request.model_copy(update={"method": 'retrain {"references":"chosen again"}'})
    assert "retrain is exact with the graph chosen again;" in (
        shown(altered(statement, again, unchanged=False)).kind
    )


def test_a_spot_check_says_how_much_of_the_least_checked_training(statement: CertificateStatement) -> None:
    request = asked(statement, Paradigm.SEQUENTIAL, "retrain {}")
    same = shown(altered(statement, request, checks=((6, 40),)))
    assert same.review is Checked.SPOT_CHECKED
    assert same.kind.startswith("Spot-checked: 6 of 40 intervals of each new training, drawn by lot,")
    assert "exact" not in same.kind
    least = shown(altered(statement, request, checks=((6, 40), (5, 40))))
    assert "5 of 40 intervals of the least checked new training" in least.kind
    exact = shown(altered(statement, request, checks=((6, 40),), unchanged=False)).kind
    assert exact.startswith("Exact given the graph, spot-checked: 6 of 40")
    assert "This holds if the rest was done in the same way." in exact and "clean models" not in exact
    waves = shown(altered(statement, asked(statement, Paradigm.PARALLEL, AGAIN), checks=((6, 40),))).kind
    assert waves.startswith("Exact with the graph chosen again, spot-checked: 6 of 40")
    assert "Not all clean models that they start from were checked." in waves


def test_a_replay_is_called_so_with_its_auditor_and_weaker_beside_a_spot_check(
    statement: CertificateStatement,
) -> None:
    request = asked(statement, Paradigm.SEQUENTIAL, "retrain {}")
    whole = altered(statement, request, checks=((40, 40),), unchanged=False)
    replay = {"auditor": "0x" + "ab" * 20, "commitment": "0" * 64, "signature": "0x" + "0" * 128}
    models = []
    for model in whole.record.models:
        node = json.loads(model.node)
        node["redaction"]["spot_check"]["replay"] = replay
        node["statement"] |= {"samples": "0" * 64, "auditors": AUDITORS[: 2 + len(models)]}
        models.append(model.model_copy(update={"node": json.dumps(node)}))

    def told(*nodes: Any) -> Shown:
        record = whole.record.model_copy(update={"models": nodes})
        return shown(whole.model_copy(update={"record": record}))

    all_replayed = told(*models)
    assert all_replayed.review is Checked.REPLAYED
    assert all_replayed.kind.startswith("Exact given the graph, replayed: an auditor, drawn for each new")
    assert "from 2 or more that its owner had agreed to" in all_replayed.kind
    assert replay["auditor"] in all_replayed.kind
    assert "This holds if the auditors are honest." in all_replayed.kind
    assert told(whole.record.models[0], *models[1:]).review is Checked.SPOT_CHECKED


@pytest.mark.parametrize(("from_initial", "whole"), [((True,), True), ((True, False), False)])
def test_what_the_new_models_start_from_is_called_checked_if_it_was(
    statement: CertificateStatement, from_initial: tuple[bool, ...], whole: bool
) -> None:
    request = asked(statement, Paradigm.PARALLEL, "retrain_ahead {}")
    told = shown(altered(statement, request, checks=((6, 40),), from_initial=from_initial)).kind
    assert ("were checked too, down to the initial weights" in told) == whole
    assert ("Not all clean models that they start from were checked." in told) != whole


def test_an_owners_word_is_called_so(statement: CertificateStatement) -> None:
    told = shown(altered(statement, asked(statement, Paradigm.SEQUENTIAL, "retrain {}", **CLIENT), None))
    assert told.kind == (
        "Attested: the owners give their word that they left the data out. Nobody checked it."
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (0, "No other owner has a model that the request left unchanged."),
        (1, "1 other owner has models that the request left unchanged, and can teach it again"),
        (3, "3 other owners have models that the request left unchanged, and can teach it again"),
    ],
)
def test_the_first_line_counts_who_can_teach_it_again(
    statement: CertificateStatement, others: int, said: str
) -> None:
    assert said in shown(altered(statement, statement.request, others)).kind


@pytest.mark.parametrize("method", ["gradient_ascent {}", "retrain {}", "retrain_ahead {}", "clean_line {}"])
def test_the_warning_is_the_one_that_a_party_gets_at_filing(
    scene: Scene, statement: CertificateStatement, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A party does not see who holds the class, as the certificate does not."""
    federation = scene.federation
    monkeypatch.setattr("blockful_py.pipeline.jobs.requesting._taught", lambda *asked: None)
    request = asked(statement, Paradigm.SEQUENTIAL, method)
    advice = advice_on(federation.context, federation.catalogue(), request)
    said = () if advice.caveat is None else (f"{method.split()[0]}: {advice.caveat}",)
    assert shown(altered(statement, request)).warnings == said


def test_the_names_are_those_of_methods_and_the_exact_ones_are_tested() -> None:
    named = {methods.RETRAIN_AHEAD, methods.RETRAIN, methods.CLEAN_LINE, methods.CLEAN_INCREMENTS}
    assert {*named, methods.SUBTRACT} <= METHODS.keys()
    kept, exact = References.KEPT, EXACT | FOR_SUMS
    assert {name for name in METHODS if methods.exact_words(name, kept, True)} == exact
    assert {name for name in METHODS if methods.exact_words(name, kept, False)} == exact | {"retrain"}
