# SPDX-License-Identifier: Apache-2.0
"""Which filed requests a member admits, which it dismisses, and which wait, on the real contracts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.crypto import curve
from blockful_py.crypto.signature import recover
from blockful_py.errors import BlockNotFoundError, ContractError, RefusedError
from blockful_py.forget import Forget
from blockful_py.pipeline.coordination.motions import decide_request
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.requesting import draft_request
from blockful_py.pipeline.review import admission
from blockful_py.pipeline.review.admission import AdmissionVerdict, RequestAdmission, Ruling
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.identities import address_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.parts import MAX_REQUEST_BYTES, request_to_bytes
from blockful_py.record.request import Request, Start
from blockful_py.record.request_state import RequestStage
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm, RequestState, Uri
from tests.devnets import set_balance
from tests.federations import put_back, small, trained

BLOCKS = 20
CLASS = Forget.of_classes([3])


@dataclass(frozen=True)
class Court:
    """A laboratory whose users file requests, each from the account of its models."""

    federation: Federation

    def secret(self, model: str) -> int:
        user = self.federation.catalogue()[model].node.statement.user
        return self.federation.context.accounts.secret(user)

    def registry(self, model: str) -> ParticipantRegistryContract:
        """The registry as the owner of a model uses it."""
        found = self.federation.contracts.participants
        sender = Sender(found.node, Signer(self.secret(model).to_bytes(32, "big")))
        set_balance(found.node, address_of(self.secret(model)), 10**18)
        registry = ParticipantRegistryContract(found.node, found.address, sender)
        if not registry.participant(address_of(self.secret(model))).since:
            registry.join()
        return registry

    def request(
        self,
        starts: Sequence[str] = ("s",),
        paradigm: Paradigm = Paradigm.SEQUENTIAL,
        forget: Forget = CLASS,
        signers: Sequence[str] | None = None,
        **changes: object,
    ) -> Request:
        context, catalogue = self.federation.context, self.federation.catalogue()
        drafted = draft_request(context, catalogue, starts, forget, paradigm, None).model_copy(update=changes)
        live, secrets = context.contracts.live, [self.secret(each) for each in signers or starts]
        return drafted.signed(secrets, live.chain_id, live.address)

    def file(self, request: Request | bytes, by: str = "s", blocks: int = BLOCKS) -> int:
        data = request if isinstance(request, bytes) else request_to_bytes(request)
        return self.file_uri(self.federation.context.stores.live.add(data), by, blocks)

    def file_uri(self, uri: Uri, by: str = "s", blocks: int = BLOCKS) -> int:
        registry = self.registry(by)
        registry.file(uri, blocks)
        return len(registry.filed_requests())

    def verdict(self, number: int) -> AdmissionVerdict:
        return self.admission.verdict(number)

    @property
    def admission(self) -> RequestAdmission:
        """A member's review of undecided requests."""
        return RequestAdmission.of(self.federation)

    def decide(self, number: int, admitted: bool = True) -> None:
        context = self.federation.context
        decide_request(context.contracts, context.session(Counter()).coordinator, number, admitted)

    def pass_blocks(self, count: int) -> None:
        for _ in range(count):
            tick(self.federation.contracts.live.node)


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    rules = {"blocks": BLOCKS}
    return trained(small(unlearning=rules), tmp_path_factory.mktemp("admission") / "run", chains)


@pytest.fixture
def court(origin: Federation) -> Iterator[Court]:
    with put_back(origin.nodes.live, origin.nodes.archive):
        yield Court(origin)


def dismissed(verdict: AdmissionVerdict) -> str:
    assert verdict.ruling is Ruling.DISMISS
    return verdict.reason


@pytest.mark.parametrize("paradigm", list(Paradigm))
def test_what_owners_sign_and_file_is_admitted_once(court: Court, paradigm: Paradigm) -> None:
    number = court.file(court.request(paradigm=paradigm))
    assert court.verdict(number) == AdmissionVerdict(Ruling.ADMIT)
    court.decide(number)
    status = court.federation.context.docket[number]
    assert (status.stage, status.filed.deadline) == (RequestStage.OPEN, status.filed.decided + BLOCKS)
    with pytest.raises(RefusedError, match="does not wait for a decision"):
        court.verdict(number)
    court.decide(number, admitted=False)  # another leader's decision came first
    assert court.federation.context.docket.entry(number).state is RequestState.ADMITTED


def test_a_request_with_many_owners_is_filed_by_one_of_them(court: Court) -> None:
    both = court.request(("s", "t"))
    assert court.verdict(court.file(both, by="t")).ruling is Ruling.ADMIT
    assert "has not signed it" in dismissed(court.verdict(court.file(both, by="a")))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"method": "no_such_method {}"}, "no_such_method"),
        ({"method": 'retrain {"no_such_setting":1}'}, "no_such_setting"),
        ({"method": "retrain {"}, "not a method"),
        ({"method": "clean_increments {}"}, "more than each owner's own data"),
        ({"method": "subtract {}"}, "changes models of sums"),
        ({"paradigm": Paradigm.PARALLEL, "method": "retrain {}"}, "works in paradigm"),
        ({"paradigm": Paradigm.PARALLEL, "clients": (1,), "classes": ()}, "user 1 owns no start"),
    ],
)
def test_what_can_never_be_carried_out_is_dismissed(
    court: Court, changes: dict[str, object], reason: str
) -> None:
    number = court.file(court.request(**changes))  # type: ignore[arg-type]
    assert reason in dismissed(court.verdict(number))


def test_a_start_at_another_place_is_dismissed(court: Court) -> None:
    live = court.federation.contracts.live
    elsewhere = court.request().model_copy(update={"starts": (Start(name="s", position="9:0"),)})
    signed = elsewhere.signed([court.secret("s")], live.chain_id, live.address)
    assert "there was no start s at 9:0" in dismissed(court.verdict(court.file(signed)))


def test_what_its_owners_did_not_sign_is_dismissed(court: Court) -> None:
    number = court.file(court.request(signers=("a",)), by="a")
    assert "not signed by the owners of its starts" in dismissed(court.verdict(number))


@pytest.mark.parametrize("data", [b"", b"no request", b"{}", b"\xff" * 40, b"[" * 100_000])
def test_what_is_no_request_is_dismissed(court: Court, data: bytes) -> None:
    assert dismissed(court.verdict(court.file(data)))


def test_a_request_of_an_unknown_paradigm_is_dismissed(court: Court) -> None:
    data = request_to_bytes(court.request()).replace(b'"sequential"', b'"never"')
    assert "never" in dismissed(court.verdict(court.file(data)))


def test_a_file_beyond_the_limit_is_dismissed(court: Court) -> None:
    assert str(MAX_REQUEST_BYTES) in dismissed(court.verdict(court.file(bytes(MAX_REQUEST_BYTES + 1))))


def test_code_that_no_operator_names_waits_and_is_dismissed_in_the_end(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding 2: such a request had three models withdrawn."""
    monkeypatch.setattr(admission, "UNREAD_BLOCKS", 3)
    number = court.file(court.request(method="nobody.has:This {}"))
    assert court.verdict(number).ruling is Ruling.WAIT
    court.pass_blocks(4)
    assert "nobody.has:This" in dismissed(court.verdict(number))


def test_a_file_that_nobody_has_may_come_and_is_dismissed_in_the_end(
    court: Court, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding 5: it was asked for for ever."""
    monkeypatch.setattr(admission, "UNREAD_BLOCKS", 3)
    request = court.request()
    number = court.file_uri(file_uri(request_to_bytes(request)))
    with pytest.raises(BlockNotFoundError):
        court.verdict(number)
    court.pass_blocks(4)
    dismissed(court.verdict(number))
    court.federation.context.stores.live.add(request_to_bytes(request))
    assert court.verdict(number).ruling is Ruling.ADMIT


@pytest.mark.parametrize(
    ("paradigm", "most"), [(Paradigm.PARALLEL, BLOCKS), (Paradigm.SEQUENTIAL, 3 * BLOCKS)]
)
def test_no_request_is_open_for_longer_than_the_rules_give(
    court: Court, paradigm: Paradigm, most: int
) -> None:
    """Finding 8: an endless open request froze what may change of the rules.  s -> x -> y are two edges."""
    request = court.request(paradigm=paradigm)
    assert f"at most {most}" in dismissed(court.verdict(court.file(request, blocks=most + 1)))
    assert court.verdict(court.file(request, blocks=most)).ruling is Ruling.ADMIT


def test_one_request_of_an_account_is_open_at_a_time(court: Court) -> None:
    first, second = court.file(court.request(paradigm=Paradigm.PARALLEL)), court.file(court.request())
    other = court.file(court.request(("t",)), by="t")
    court.decide(first)
    assert court.verdict(second).ruling is Ruling.WAIT
    assert court.verdict(other).ruling is Ruling.ADMIT
    court.pass_blocks(BLOCKS + 1)
    assert court.federation.context.docket[first].stage is RequestStage.LAPSED
    assert court.verdict(second).ruling is Ruling.ADMIT


def test_the_same_request_is_admitted_once(court: Court) -> None:
    request = court.request(paradigm=Paradigm.PARALLEL)
    first, again = court.file(request), court.file(request)
    court.decide(first)
    assert "was admitted before" in dismissed(court.verdict(again))


def signed_again(secret: int, digest: bytes) -> str:
    """Another valid signature of the same digest: with the nonce 7 instead of the one of RFC 6979."""
    r, n = curve.multiply_base(7).x, curve.N
    s = pow(7, -1, n) * (int.from_bytes(digest, "big") + r * secret) % n
    found = (r.to_bytes(32, "big") + (parity << 255 | min(s, n - s)).to_bytes(32, "big") for parity in (0, 1))
    return next("0x" + each.hex() for each in found if recover(digest, each) == address_of(secret))


def test_what_owners_signed_once_is_not_admitted_again_with_another_signature_of_one(court: Court) -> None:
    """One of two owners asked twice with the other's signature, each time under a fresh one of its own."""
    live, request = court.federation.contracts.live, court.request(("s", "t"))
    court.decide(court.file(request))
    digest = request.digest(live.chain_id, live.address)
    fresh = (signed_again(court.secret("s"), digest), request.signatures[1])
    again = request.model_copy(update={"signatures": fresh})
    assert again != request and again.signers(live.chain_id, live.address) == request.signers(
        live.chain_id, live.address
    )
    court.pass_blocks(3 * BLOCKS + 1)
    assert "was admitted before" in dismissed(court.verdict(court.file(again)))


def test_of_two_signers_that_file_at_once_the_first_is_admitted(court: Court) -> None:
    request = court.request(("s", "t"), Paradigm.PARALLEL)
    first, second = court.file(request, by="t"), court.file(request, by="s")
    assert court.verdict(first) == AdmissionVerdict(Ruling.ADMIT)
    assert court.verdict(second) == AdmissionVerdict(
        Ruling.WAIT, f"request {first}, filed before it, is the same"
    )
    court.decide(first)
    assert "was admitted before" in dismissed(court.verdict(second))
    assert court.verdict(court.file(court.request())).ruling is Ruling.ADMIT  # s has no open request


def test_no_signer_holds_the_others_filing_up_by_one_that_has_to_wait(court: Court) -> None:
    court.decide(court.file(court.request(("t",)), by="t"))
    both = court.request(("s", "t"))
    blocked, good = court.file(both, by="t"), court.file(both, by="s")
    assert "of the same account is open" in court.verdict(blocked).reason
    assert court.verdict(good) == AdmissionVerdict(Ruling.ADMIT)
    court.decide(good)
    assert "was admitted before" in dismissed(court.verdict(blocked))


@pytest.mark.parametrize("by", ["a", "t"])
def test_a_copy_that_is_filed_first_and_not_admissible_holds_nobody_up(court: Court, by: str) -> None:
    """By a participant without a start, or by a signer for too long."""
    both = court.request(("s", "t"))
    copy, good = court.file(both, by=by, blocks=100 * BLOCKS), court.file(both, by="s")
    assert court.verdict(good) == AdmissionVerdict(Ruling.ADMIT)
    dismissed(court.verdict(copy))


def test_a_signer_with_an_open_request_signs_another_that_a_signer_without_one_files(court: Court) -> None:
    """The open request counts for the account that filed it."""
    court.decide(court.file(court.request(("t",)), by="t"))
    assert court.verdict(court.file(court.request(("s", "t")), by="s")).ruling is Ruling.ADMIT


def test_a_start_that_was_published_later_is_none(court: Court) -> None:
    number = court.file(court.request())
    context = court.federation.context
    status = context.docket.status(context.docket.entry(number))
    earlier = replace(status, record=status.record.up_to(1))
    with pytest.raises(RefusedError, match="there was no start s"):
        admission.require_starts(earlier)


def test_what_a_barred_account_filed_is_dismissed(court: Court) -> None:
    number = court.file(court.request())
    registry, account = court.registry("s"), address_of(court.secret("s"))
    registry.leave()
    assert not registry.participant(account).since
    assert "no participant any more" in dismissed(court.verdict(number))


def test_a_member_votes_only_for_what_it_finds_itself(court: Court) -> None:
    good, bad = court.file(court.request()), court.file(b"no request")
    look = court.admission
    look.review(good, True)
    look.review(bad, False)
    for number, admitted in ((good, False), (bad, True)):
        with pytest.raises(RefusedError, match="is to"):
            look.review(number, admitted)


def test_an_account_fills_its_places_and_gets_them_back_for_what_is_admitted(court: Court) -> None:
    numbers = [court.file(court.request(created=created)) for created in range(1, 5)]
    with pytest.raises(ContractError, match="AllPlacesTaken"):
        court.file(court.request(created=5))
    court.decide(numbers[0])
    court.file(court.request(created=5))
    court.decide(numbers[1], admitted=False)
    with pytest.raises(ContractError, match="AllPlacesTaken"):
        court.file(court.request(created=6))
