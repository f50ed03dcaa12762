# SPDX-License-Identifier: Apache-2.0
"""An erasure certificate: made from the chains, signed by members who check it, verified by anybody."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.chain.leaves import roster_id
from blockful_py.committee.vault import Vault
from blockful_py.crypto.signature import sign
from blockful_py.errors import FormatError, QuorumError, RunError, VerificationError
from blockful_py.ledger.erasure import erasure_digest
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.certificate import latest_request
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.certificates.attachment import attach, audit_beacon
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import (
    CertificateStatement,
    ErasureCertificate,
    parse_certificate,
    parse_statement,
)
from blockful_py.record.certificates.verifying import Chains, other_owners, verify_certificate
from blockful_py.record.fields import of_octets, position
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.request import Request
from blockful_py.storage.cid import parse_cid
from blockful_py.types import ModelTransaction, Position
from blockful_py.verdicts.draw import Draw
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome, commitment_of
from tests.federations import AFFECTED, GRAPH, STARTS, UNTOUCHED
from tests.limits import ANY_SIZE
from tests.record.conftest import Scene
from tests.record.mutations import leaves, one_change_each, replaced, spelt
from tests.record.relay import through_relays
from tests.verdicts.made_up import figures

SECTIONS = {
    "format": set(),
    "request": {"request"},
    "committee": {"decision", "committee", "anchor"},
    "record": {"shape", "content", "opening", "merkle", "header", "link", "signature", "history", "replaced"},
    "archive": {"history", "replaced", "decision", "committee"},
    "replaced": {"replaced", "decision", "erasure"},
    "left_alone": {"committee"},
    "other_owners": {"others", "committee"},
    "decisions": {"decision", "committee"},
    "erasure": {"erasure", "committee"},
    "decided": {"decision"},
}
"""Which checks may find an altered field of each part of the statement."""


def made_up_audit(federation: Federation, request: Request) -> AuditOutcome:
    """As good as gold, by figures that nobody measured."""
    rows = [
        Row(name, tuple(figures(model, **changed) for model in AFFECTED))
        for name, changed in (
            ("gradient_ascent", {}),
            ("original", {"ad_f_test": 0.9, "ad_f_train": 0.9}),
            ("gold", {}),
            ("gold2", {}),
        )
    ]
    draw = Draw(
        ((rows[0].method, commitment_of(rows[0])),),
        audit_beacon(federation.certify_erasure(request).statement).hex(),
    )
    return AuditOutcome(
        "class 3", STARTS, rows[0].method, "0" * 64, draw.seed, rows[0], tuple(rows[1:]), draw=draw
    )


@pytest.fixture(scope="module")
def certificate(scene: Scene) -> ErasureCertificate:
    request = scene.unlearned.request
    return scene.federation.certify_erasure(request, made_up_audit(scene.federation, request))


@pytest.fixture(scope="module")
def sides(scene: Scene) -> Chains:
    contracts = scene.federation.contracts
    return Chains(contracts.live, contracts.committee, contracts.archive)


def _rosters(scene: Scene) -> frozenset[bytes]:
    return frozenset({roster_id(1, scene.federation.contracts.committee.roster(1)[0])})


def _known(scene: Scene) -> Anchors:
    """A block hash and a head; the roster vouches for the group key."""
    return replace(scene.anchors(), key_ids=frozenset())


def test_it_says_what_was_asked_replaced_archived_and_decided(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    statement = certificate.statement
    assert statement.request == scene.unlearned.request
    assert [each.name for each in statement.replaced] == list(AFFECTED)
    for each in statement.replaced:
        assert (each.version_before, each.version_after) == (0, 1)
        assert each.claims == scene.unlearned.nodes[each.name].redaction.claims
        assert each.record >= len(GRAPH)
    assert statement.left_alone == ()
    assert statement.other_owners == len(UNTOUCHED)
    assert len(statement.erasure.deleted) == 2 * len(AFFECTED)
    assert not any(scene.federation.stores.live.has(parse_cid(cid)) for cid in statement.erasure.deleted)
    assert set(statement.erasure.keys_destroyed) == {each.old_weights for each in statement.replaced}
    assert set(statement.erasure.keys_destroyed) < set(statement.erasure.deleted)
    (decision,) = statement.decisions
    assert (len(decision.signed.voters), len(certificate.endorsed.votes.voters)) == (4, 3)
    assert len(certificate.to_bytes()) < 300_000


def test_it_is_verified_without_a_node_by_those_who_know_a_block_and_the_roster(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    parsed = parse_certificate(certificate.to_bytes())
    outcome = verify_certificate(parsed, _known(scene), _rosters(scene))
    assert outcome.covered == len(parsed.statement.archive.records)
    for anchors, rosters in (
        (_known(scene), frozenset()),
        (_known(scene), frozenset({bytes(32)})),
        (replace(_known(scene), block_hashes=frozenset()), _rosters(scene)),
        (replace(_known(scene), archive_heads=frozenset({bytes(32)})), _rosters(scene)),
    ):
        with pytest.raises(VerificationError) as caught:
            verify_certificate(parsed, anchors, rosters)
        assert caught.value.check == "anchor"


def test_it_is_verified_on_the_chains_and_outlives_the_next_request(
    scene: Scene, certificate: ErasureCertificate, sides: Chains
) -> None:
    assert verify_certificate(certificate, Anchors(), chains=sides).superseded == {}
    with scene.put_back():
        scene.federation.unlearn(starts=["t"])
        assert verify_certificate(certificate, Anchors(), chains=sides).superseded == {"t": 2}


def test_a_quorum_that_hides_owners_is_found_out_on_the_chains(
    scene: Scene, certificate: ErasureCertificate, sides: Chains
) -> None:
    """The members sign whatever they are shown; without the chains, the number is only bounded."""
    statement = certificate.statement.model_copy(update={"other_owners": 1})
    colluders = [Identities(0, (1337, 1338)).voter(index) for index in certificate.endorsed.votes.voters]
    digest = erasure_digest(statement.committee.domain, certificate.endorsed.epoch, statement.to_bytes())
    signatures = tuple(of_octets(sign(secret, digest)) for secret in colluders)
    votes = certificate.endorsed.votes.model_copy(update={"signatures": signatures})
    endorsed = certificate.endorsed.model_copy(update={"votes": votes})
    forged = ErasureCertificate(statement=statement, endorsed=endorsed, attachment=None)
    verify_certificate(forged, _known(scene), _rosters(scene))
    with pytest.raises(VerificationError, match=r"it counts 1 other owners .* the chain has 3") as caught:
        verify_certificate(forged, Anchors(), chains=sides)
    assert caught.value.check == "others"


def test_owners_are_counted_once_and_not_where_they_asked_or_classes_are_not_concerned(
    scene: Scene, certificate: ErasureCertificate, sides: Chains
) -> None:
    request, last = certificate.statement.request, len(certificate.statement.record.headers)
    places = [position(each.position) for each in certificate.statement.replaced]
    assert other_owners(sides.live, request, places, last) == len(UNTOUCHED)
    assert other_owners(sides.live, request, [], last) == len(GRAPH) - len(STARTS)
    assert other_owners(sides.live, request, places, 1) == 2  # a and b
    asked = {start.place() for start in request.starts}

    def owned(places: Sequence[Position]) -> list[ModelTransaction]:
        found = sides.live.transactions(places)
        return [each if each.position in asked else replace(each, owner=bytes(20)) for each in found]

    one = SimpleNamespace(headers=sides.live.headers, transactions=owned)
    assert other_owners(one, request, places, last) == 1  # type: ignore[arg-type]
    client = request.model_copy(update={"classes": (), "clients": (3,)})
    assert other_owners(sides.live, client, places, last) is None


def test_chains_that_never_executed_the_decision_refuse_it(
    scene: Scene, certificate: ErasureCertificate, sides: Chains
) -> None:
    class Unexecuted:
        def __init__(self, contract: object) -> None:
            self._contract = contract

        def __getattr__(self, name: str) -> object:
            return getattr(self._contract, name)

        def progress(self, proposal: bytes) -> tuple[int, int]:
            return 0, 0

    for side in ("live", "archive"):
        elsewhere = replace(sides, **{side: Unexecuted(getattr(sides, side))})
        with pytest.raises(VerificationError) as caught:
            verify_certificate(certificate, Anchors(), chains=elsewhere)
        assert caught.value.check == "executed"


def test_one_change_of_any_field_is_found_out_and_named(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    """The forger cannot sign, so the error is in the statement when the signatures would fail as well."""
    data = certificate.to_bytes()
    anchors, rosters = _known(scene), _rosters(scene)
    verify_certificate(parse_certificate(data), anchors, rosters)
    for path, changed in one_change_each(data, ways=1):
        with pytest.raises((FormatError, VerificationError)) as caught:
            verify_certificate(parse_certificate(changed), anchors, rosters)
        error = caught.value
        if isinstance(error, FormatError):
            field = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
            assert field in str(error) or "spelt" in str(error), (path, str(error))
        elif path[0] == "statement":
            assert error.check in SECTIONS[str(path[1])], (path, str(error))
        else:
            assert error.check == {"endorsed": "committee", "attachment": "audit"}[str(path[0])], path


def _statement(certificate: ErasureCertificate, **changes: object) -> bytes:
    return certificate.statement.model_copy(update=changes).to_bytes()


def _keys_destroyed(certificate: ErasureCertificate, *cids: str) -> bytes:
    erasure = certificate.statement.erasure.model_copy(update={"keys_destroyed": cids})
    return _statement(certificate, erasure=erasure)


def _votes_of_two(statement: CertificateStatement) -> tuple[object, ...]:
    (decision,) = statement.decisions
    fewer = decision.signed.model_copy(update={"voters": decision.signed.voters[:2]})
    return (decision.model_copy(update={"signed": fewer}),)


REFUSED: dict[str, tuple[Callable[[ErasureCertificate], bytes], str]] = {
    "a model left out": (
        lambda c: _statement(c, replaced=c.statement.replaced[1:]),
        "it lists other models than its record",
    ),
    "somebody left alone who was not": (
        lambda c: _statement(c, left_alone=("z",)),
        "left alone are none, not z",
    ),
    "fewer owners who can teach it again": (
        lambda c: _statement(c, other_owners=len(UNTOUCHED) - 1),
        "it counts 2 other owners of models left unchanged, the chain has 3",
    ),
    "more owners than models": (
        lambda c: _statement(c, other_owners=len(UNTOUCHED) + 1),
        "it counts 4 other owners of models, and does not show as many",
    ),
    "no number of owners": (
        lambda c: _statement(c, other_owners=None),
        "other_owners is a number for a request to forget classes",
    ),
    "a decision by too few": (
        lambda c: _statement(c, decisions=_votes_of_two(c.statement)),
        "a certificate has 2 voters, 3 are needed",
    ),
    "a key destroyed of weights that stand": (
        lambda c: _keys_destroyed(c, c.statement.replaced[0].new_weights),
        "keys listed as destroyed are not keys of the versions before",
    ),
    "bytes that are no statement": (lambda c: b"{}", "this is no statement of an erasure"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_members_sign_nothing_that_they_do_not_find_themselves(
    scene: Scene, certificate: ErasureCertificate, what: str
) -> None:
    alter, reason = REFUSED[what]
    coordinator = scene.federation.context.session(Counter()).coordinator
    assert coordinator.endorse_erasure(1, certificate.statement.to_bytes()).votes
    with pytest.raises(QuorumError, match=reason):
        coordinator.endorse_erasure(1, alter(certificate))


def test_members_do_not_sign_that_bytes_are_deleted_which_are_there(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    store, archive = scene.federation.stores.live, scene.federation.stores.archive
    cid = parse_cid(certificate.statement.erasure.deleted[0])
    store.add(archive.read(cid, ANY_SIZE))
    try:
        coordinator = scene.federation.context.session(Counter()).coordinator
        with pytest.raises(QuorumError, match="the live store still has"):
            coordinator.endorse_erasure(1, certificate.statement.to_bytes())
        assert len(scene.federation.certify_erasure(scene.unlearned.request).statement.erasure.deleted) == (
            len(certificate.statement.erasure.deleted) - 1
        )
    finally:
        store.delete(cid)


def test_members_do_not_sign_that_a_key_is_destroyed_which_one_of_them_has(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    uri = parse_cid(certificate.statement.erasure.keys_destroyed[0])
    vault = Vault(scene.federation.run.vaults / "member1", Identities(0, (1337, 1338)).voter(1))
    vault.put({uri.digest: bytes(32)})
    try:
        with pytest.raises(QuorumError, match="this member still has the keys of"):
            scene.federation.certify_erasure(scene.unlearned.request)
    finally:
        vault.destroy([uri.digest])
    assert scene.federation.certify_erasure(scene.unlearned.request).statement == certificate.statement


def test_there_is_no_certificate_of_a_request_that_was_never_carried_out(scene: Scene) -> None:
    other = scene.unlearned.request.model_copy(update={"created": 1})
    with pytest.raises(RunError, match="there is nothing to certify"):
        scene.federation.certify_erasure(other)
    assert latest_request(scene.federation.catalogue()) == scene.unlearned.request


def test_the_same_certificate_is_made_again(scene: Scene, certificate: ErasureCertificate) -> None:
    again = scene.federation.certify_erasure(scene.unlearned.request)
    assert again.statement == certificate.statement
    assert again.endorsed == certificate.endorsed


def test_sequential_unlearning_has_a_decision_for_each_model(scene: Scene) -> None:
    with scene.put_back():
        unlearned = scene.federation.unlearn(starts=["x"], classes=[4], paradigm="sequential")
        certificate = scene.federation.certify_erasure(unlearned.request)
        assert len(certificate.statement.decisions) == len(certificate.statement.replaced) == 2
        assert [each.version_before for each in certificate.statement.replaced] == [1, 1]
        check_certificate(parse_certificate(certificate.to_bytes()))


def test_evidence_does_not_depend_on_who_called(
    scene: Scene, sides: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A contract wallet leads, or somebody relays the certified calls through a contract first."""
    with scene.put_back(), monkeypatch.context() as patched:
        through_relays(patched)
        unlearned = scene.federation.unlearn(starts=["x"], classes=[4])
        assert len(unlearned.executed) == 2
        called = [each for each in unlearned.executed if each.receipt.events]
        assert not called, "the relays were called, not the contracts"
        certificate = scene.federation.certify_erasure(unlearned.request)
        assert [each.name for each in certificate.statement.replaced] == ["x", "y"]
        parsed = parse_certificate(certificate.to_bytes())
        assert verify_certificate(parsed, Anchors(), chains=sides).superseded == {}


def test_an_audit_that_was_not_drawn_from_the_decisions_is_refused(
    scene: Scene, certificate: ErasureCertificate
) -> None:
    """Whoever made the weights could have known its gold and its lessons."""
    assert certificate.attachment is not None
    drawn = AuditOutcome.from_json(json.loads(certificate.attachment.audit))
    assert drawn.draw is not None
    alone = replace(drawn.draw, beacon="")
    for audit in (replace(drawn, draw=None), replace(drawn, draw=alone, seed=alone.seed)):
        attached = attach(certificate.statement, audit, scene.federation.context.leader.secret)
        with pytest.raises(VerificationError, match="not drawn from the committee's decisions"):
            check_certificate(certificate.model_copy(update={"attachment": attached}))


@settings(max_examples=100)
@given(place=st.integers(0, 100_000), depth=st.integers(0, 10), value=st.none() | st.integers() | st.text())
def test_fuzzed_certificates_end_in_one_clear_error(
    certificate: ErasureCertificate, place: int, depth: int, value: object
) -> None:
    document = json.loads(certificate.to_bytes())
    paths = [path for path, _ in leaves(document)]
    path = paths[place % len(paths)]
    changed = replaced(document, path[: 1 + depth % len(path)], value)
    if changed not in (document, document | {"attachment": None}):
        with pytest.raises((FormatError, VerificationError)):
            check_certificate(parse_certificate(spelt(changed)))


@settings(max_examples=50)
@given(data=st.binary(max_size=200))
def test_fuzzed_bytes_end_in_one_clear_error(data: bytes) -> None:
    for parse in (parse_certificate, parse_statement):
        with pytest.raises(FormatError):
            parse(data)
