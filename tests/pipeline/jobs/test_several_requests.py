# SPDX-License-Identifier: Apache-2.0
"""Later requests do not teach models again what earlier requests made them forget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import PROXY_SAMPLES
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.proxy import available_proxy
from blockful_py.unlearning.task import UnlearningTask
from tests.federations import AFFECTED, STARTS, UNTOUCHED, small, trained

METHOD = "clean_increments"


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    settings = small(unlearning={"options": {METHOD: {"heal_steps": 2}}})
    federation = trained(settings, tmp_path_factory.mktemp("several") / "run", chains)
    federation.unlearn(classes=[3], method=METHOD)
    return federation


def forgets(
    federation: Federation, number: int, earlier: dict[str, tuple[Forget, ...]]
) -> dict[str, Weights]:
    """The next request's result, computed beside the pipeline."""
    setup = federation.setup
    forget = Forget.of_classes([number])
    task = UnlearningTask.of(
        setup.federation,
        federation.models().values(),
        setup.users,
        STARTS,
        forget,
        available_proxy(setup.dataset.proxy, forget, PROXY_SAMPLES),
    )
    return dict(CleanIncrements(heal_steps=2).unlearn(replace(task, earlier=earlier)).weights)


def test_each_request_leaves_out_what_all_before_it_named(federation: Federation) -> None:
    three = dict.fromkeys(AFFECTED, (Forget.of_classes([3]),))
    expected, taught_again = forgets(federation, 8, three), forgets(federation, 8, {})
    first_nodes = federation.catalogue()
    found = federation.unlearn(classes=[8], method=METHOD)
    assert found.erasure is not None
    assert {(each.name, each.version) for each in found.erasure.versions} == {(name, 1) for name in AFFECTED}
    second = federation.models()
    for name in AFFECTED:
        assert equal(second[name].weights, expected[name])
        assert not equal(second[name].weights, taught_again[name])
    catalogue = federation.catalogue()
    done = catalogue["y"].node.redaction
    assert done is not None
    both = (Forget.of_classes([3]), Forget.of_classes([8]))
    first = {name: first_nodes[name].node.redaction for name in AFFECTED}
    certificate = federation.certify_erasure(found.request)
    page = page_of(certificate, check_certificate(certificate), "erasure.json")
    for row in page.models:
        redaction = first[row.name]
        assert redaction is not None and redaction.claims is not None
        now = catalogue[row.name].node.redaction
        assert now is not None and now.claims is not None
        assert now.claims.before is not None, "without class 8 as well"
        measured = (now.claims.ad_f_before, now.claims.before, now.claims.logit_auc_before)
        assert (row.before.ad_f, row.before.ad_r, row.before.logit_auc) == measured
        assert None not in measured and row.left_out == (3,)
    test = federation.setup.dataset.test
    for name in AFFECTED:
        redaction = catalogue[name].node.redaction
        assert redaction is not None and redaction.claims is not None
        assert redaction.left_out == (3,)
        kept = accuracy(federation.setup.architecture, second[name].weights, test.without((3, 8)))
        assert redaction.claims.ad_r == kept
    other = done.request.model_copy(update={"classes": (5,)})
    earlier = federation.context.history.earlier_forgets(catalogue.models.values(), other)
    assert earlier == dict.fromkeys(AFFECTED, both) | dict.fromkeys(UNTOUCHED, ())
    assert federation.context.history.earlier_forgets([catalogue["y"]], done.request) == {"y": both[:1]}
