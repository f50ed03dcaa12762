# SPDX-License-Identifier: Apache-2.0
"""A certificate's page: figures before and after, alarms, and the page for the person who asked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from blockful_py.forget import Forget
from blockful_py.record.certificates.document import FiguresBefore
from blockful_py.record.shown import MERGED
from blockful_py.report.certificate import CertificatePage, ModelRow, VoteRow, WorkRow, render_certificate
from blockful_py.report.plain import plain_language
from blockful_py.types import Checked

KEPT = ModelRow(
    name="r6",
    position="2:1",
    start=False,
    version_before=0,
    version_after=1,
    old_weights="b1",
    new_weights="b2",
    record=0,
    head="0x00",
    ad_f=0.0,
    ad_r=0.92,
    logit_auc=0.9412,
    before=FiguresBefore(0.97, 0.91, 0.9, 0.9871),
    at_chance=False,
    is_loss=False,
    left_out=(),
    auc=None,
)
LOST = replace(
    KEPT,
    name="r1",
    start=True,
    ad_r=0.11,
    before=FiguresBefore(None, None, 0.904, None),
    at_chance=True,
    left_out=(5, 8),
)
GONE = replace(
    KEPT,
    name="r2",
    new_weights=None,
    ad_f=None,
    ad_r=None,
    logit_auc=None,
    before=FiguresBefore(None, None, None, None),
)


@pytest.fixture
def page() -> CertificatePage:
    return CertificatePage(
        digest="0x" + 64 * "1",
        asked="class 3",
        forget=Forget.of_classes([3]),
        method="retrain {}",
        paradigm="sequential",
        kind="Measured: the output of the new models, and nothing else.",
        warnings=["retrain: unchanged models teach it again"],
        checked="members measured",
        how=Checked.MEASURED,
        requested="2026-01-01 10:00:00 UTC",
        decided="2026-01-02 10:00:00 UTC",
        requesters=[("r1", "1:1", "0xaa")],
        models=[LOST, KEPT, GONE],
        work=[],
        spot_checks=[],
        left_alone=["r9"],
        votes=[
            VoteRow("Replacement of 3", 1, (1, 2, 3), 4, 3, "0x0"),
            VoteRow("This certificate", 1, (1, 2, 4), 4, 3, "0x1"),
        ],
        deleted=["b1"],
        words="Words.",
        keys_destroyed=["b1"],
        identifiers=[("Block 3", "0x2")],
        audit=None,
        development=None,
        file="erasure.json",
    )


def words(page: CertificatePage) -> str:
    html = render_certificate(page, plain_language(page))
    return " ".join(re.sub(r"<[^>]*>", " ", html.partition("</style>")[2]).split())


def test_the_page_has_figures_before_and_after_and_an_alarm(page: CertificatePage) -> None:
    shown = words(page)
    assert "r6 90.0 % 97.0 % 0.0 % 0.987 0.941 91.0 % 92.0 %" in shown
    assert "r1 (start) 90.4 % – 0.0 % – 0.941 – 11.0 %" in shown and "r2 – – – – – – –" in shown
    assert (
        shown.count("Model Accuracy before AD_f AUC of the logit AD_r before after before after before") == 1
    )
    assert "Alarm: r1 is no better than chance on what was to be kept." in shown
    assert "AD_r of r1 leaves out what earlier requests removed: class 5, 8." in shown
    worse = words(replace(page, models=[replace(KEPT, is_loss=True)]))
    assert "Alarm: r6 does worse on what was to be kept than before, by more than chance explains." in worse
    assert "Attention: on everything that r6 should still know, it does worse than before" in worse
    sound = words(replace(page, models=[KEPT]))
    assert "Alarm" not in sound and "Attention" not in sound and "leaves out" not in sound


def test_both_parts_begin_with_the_kind_and_its_warnings(page: CertificatePage) -> None:
    """Who reads only the first line knows what is not shown."""
    shown = words(page)
    first = (
        "Measured: the output of the new models, and nothing else. "
        "Warning: retrain: unchanged models teach it again."
    )
    assert f"A request to be forgotten {first}" in shown and f"Erasure certificate {first}" in shown
    assert "Warning" not in words(replace(page, warnings=[]))


def test_clients_have_no_figure_of_a_class(page: CertificatePage) -> None:
    gone = [replace(KEPT, ad_f=None, logit_auc=None, before=FiguresBefore(None, 0.91, 0.9, None))]
    shown = words(replace(page, forget=Forget.of_clients([5]), models=gone))
    assert "AUC" not in shown and "r6 90.0 % – – 91.0 % 92.0 %" in shown


def test_what_members_computed_without_the_data_is_said_to_be_so(page: CertificatePage) -> None:
    for forget in (Forget.of_clients([5]), Forget.of_samples([(5, 1)])):
        meaning = " ".join(plain_language(replace(page, forget=forget, how=Checked.EXACT))[2].paragraphs)
        assert "It proves that the new versions were made without the data." in meaning
        assert "which model learnt from which may still tell" in meaning.lower()
        assert "does not prove" not in meaning


def test_merged_parts_that_nobody_saw_trained_prove_nothing(page: CertificatePage) -> None:
    said = replace(page, forget=Forget.of_clients([5]), how=Checked.EXACT, kind=MERGED)
    meaning = " ".join(plain_language(said)[2].paragraphs)
    assert "does not prove" in meaning and "It proves" not in meaning


def test_the_person_who_asked_reads_five_answers_before_the_technical_page(page: CertificatePage) -> None:
    shown = words(page)
    assert shown.index("Who asked?") < shown.index("What remains?") < shown.index("Erasure certificate")
    asked, done, meaning, checked, remains = (" ".join(part.paragraphs) for part in plain_language(page))
    assert "the owner of the model r1 asked that models forget what they learnt of class 3." in asked
    assert "2 models got a new version: r1 and r6." in done
    assert "1 model got no new version in time and cannot be used any more: r2." in done
    assert "everything that r1 should still know, it is no better than guessing" in done
    assert "right in 0 of 100 cases" in done  # not of every model is the figure before known
    assert "What the models do not say they may still know." in done and "right in 94 of 100 cases" in done
    assert "does not prove that nothing of the data is left" in meaning
    assert "3 of its 4 members signed this certificate; 3 were needed" in checked
    assert "r9 also learnt from these models, and stayed as before" in remains
    for jargon in ("AD_f", "AD_r", "quorum", "redaction", "CID", "forget set"):
        assert jargon not in " ".join((asked, done, meaning, checked, remains))


@pytest.mark.parametrize(
    ("forget", "said"),
    [
        (Forget.of_clients([5]), "all data of participant 5"),
        (Forget.of_samples([(5, 1), (5, 2)]), "2 samples of participant 5"),
        (Forget.of_classes([3, 8]), "what they learnt of classes 3 and 8"),
    ],
)
def test_what_was_to_be_forgotten_in_plain_words(page: CertificatePage, forget: Forget, said: str) -> None:
    asked, done, meaning, *_ = plain_language(replace(page, forget=forget, how=Checked.ATTESTED))
    assert said in asked.paragraphs[0]
    assert ("what was to be forgotten" in " ".join(done.paragraphs)) == bool(forget.classes)
    assert ("similar data" in " ".join(meaning.paragraphs)) != bool(forget.classes)


def test_the_figure_before_is_said_where_it_is_known_of_every_model(page: CertificatePage) -> None:
    done = plain_language(replace(page, models=[KEPT]))[1]
    assert "right in 97 (before) and 0 (now) of 100 cases" in " ".join(done.paragraphs)
    assert "right in 99 (before) and 94 (now) of 100 cases. Guessing" in " ".join(done.paragraphs)


def test_a_withdrawal_of_adopted_models_says_what_is_left_to_do(page: CertificatePage) -> None:
    withdrawn = replace(
        page,
        asked="dataset papers",
        forget=Forget.of_datasets(["papers"]),
        models=[GONE],
        work=[WorkRow("r2", False, [("r1", "merge")], "gil", "recomputed")],
    )
    text = render_certificate(withdrawn, plain_language(withdrawn))
    assert "What was withdrawn" in text
    assert "r1 (merge)</td><td>gil</td><td>recomputed" in text
    assert "no model is left out" in text
    assert not re.search("computed every new version|AD_f", text)
