# SPDX-License-Identifier: Apache-2.0
"""Participants, endpoints and requests, through the registry's adapter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from blockful_py.chain.interface import interface_of
from blockful_py.chain.participant_registry import (
    Declaration,
    Endpoint,
    FiledRequest,
    HandIn,
    ParticipantRegistryContract,
    RegisteredParticipant,
    StoredRequest,
)
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.errors import ContractError
from blockful_py.types import Codec, Position, Receipt, RequestState, Uri
from tests.chain.conftest import KINDS, SEATS, Scene

pytestmark = pytest.mark.parametrize("scene", KINDS, indirect=True)
"""Refusals of requests that are filed and handed in come in each kind's own words."""

FILE, OTHER_FILE = b"\1" * 32, b"\2" * 32
REQUEST, PART = Uri(b"\3" * 32, Codec.RAW), Uri(b"\4" * 32, Codec.DAG_PB)
KEY = b"\5" * 20


@pytest.fixture(scope="module")
def ann(scene: Scene) -> Sender:
    return Sender(scene.node, Signer.from_mnemonic(DEV_MNEMONIC, 1))


@pytest.fixture(scope="module")
def ben(scene: Scene) -> Sender:
    return Sender(scene.node, Signer.from_mnemonic(DEV_MNEMONIC, 2))


def refused(call: Callable[[], Receipt]) -> str:
    with pytest.raises(ContractError) as refusal:
        call()
    assert refusal.value.contract == "ParticipantRegistry"
    return refusal.value.name


def test_the_registry_is_deployed_for_the_committee(scene: Scene) -> None:
    book = scene.participants
    assert book.quorum() == scene.committee.address
    assert book.deployer() == scene.sender.address
    assert (book._read("seats"), book._read("open")) == (SEATS, True)


def test_the_file_is_founded_by_the_deployer_and_changed_by_the_committee(scene: Scene, ann: Sender) -> None:
    book = scene.participants
    assert book.file_digest() is None
    assert refused(lambda: scene.participants_for(ann).found(FILE)) == "NotDeployer"
    book.found(FILE)
    assert book.file_digest() == FILE
    assert refused(lambda: book.found(OTHER_FILE)) == "AlreadyFounded"
    (action,) = scene.council.certify(book, [book.change_file_leaf(OTHER_FILE)])
    assert refused(lambda: book.change_file(FILE, action)) == "NotCertified"
    book.change_file(OTHER_FILE, action)
    assert book.file_digest() == OTHER_FILE


def test_participants_join_leave_and_return(scene: Scene, ann: Sender, ben: Sender) -> None:
    book = scene.participants
    assert book.participant(ann.address) == RegisteredParticipant(0, 0, False, False)
    assert refused(scene.participants_for(ann).leave) == "NotJoined"
    first = scene.participants_for(ann).join()
    scene.participants_for(ben).join()
    assert book.participant(ann.address) == RegisteredParticipant(1, first.block_number, False, False)
    assert refused(scene.participants_for(ann).join) == "AlreadyJoined"
    scene.participants_for(ann).leave()
    assert book.participant(ann.address) == RegisteredParticipant(1, 0, False, False)
    again = scene.participants_for(ann).join()
    assert book.participant(ann.address) == RegisteredParticipant(1, again.block_number, False, False)
    assert book.accounts() == (ann.address, ben.address)


def decide(scene: Scene, request: int, admitted: bool) -> Receipt:
    book = scene.participants
    filed = book.filed_requests()[request - 1]
    (action,) = scene.council.certify(book, [book.decide_leaf(filed.number, filed.content, admitted)])
    return book.decide(request, admitted, action)


def test_requests_and_their_parts(scene: Scene, ann: Sender, ben: Sender) -> None:
    book = scene.participants
    receipt = scene.participants_for(ann).file(REQUEST, blocks=2)
    place = (receipt.block_number, receipt.transaction_hash)
    assert book.filed_requests() == (FiledRequest(1, ann.address, REQUEST, 2, 0, *place),)
    hand_in = scene.participants_for(ben).hand_in
    assert refused(lambda: hand_in(1, Position(3, 4), PART)) == "RequestNotAdmitted"

    admitted = decide(scene, 1, True)
    filed = FiledRequest(1, ann.address, REQUEST, 2, 0, *place, RequestState.ADMITTED, admitted.block_number)
    assert book.filed_requests() == (filed,)
    assert filed.deadline == admitted.block_number + 2
    assert book.filed(1) == StoredRequest(
        filed.content, filed.deadline, ann.address, 0, 2, RequestState.ADMITTED
    )
    handed = hand_in(1, Position(3, 4), PART)
    place = (handed.block_number, handed.transaction_hash)
    assert book.hand_ins(1) == (HandIn(1, Position(3, 4), ben.address, PART, *place),)
    assert book.hand_ins(2) == ()
    scene.participants_for(ann).hand_in(1, Position(3, 4), PART)
    assert refused(lambda: hand_in(1, Position(3, 4), PART)) == "RequestClosed"
    assert len(book.hand_ins(1)) == 2
    assert refused(lambda: scene.participants.file(REQUEST, 2)) == "NotJoined"
    assert refused(lambda: scene.participants_for(ann).file(REQUEST, 0)) == "InvalidDuration"


def test_a_request_is_decided_once(scene: Scene, ann: Sender) -> None:
    book = scene.participants
    scene.participants_for(ann).file(REQUEST, blocks=2)
    decided = decide(scene, 2, False)
    filed = book.filed_requests()[-1]
    assert (filed.state, filed.decided, filed.deadline) == (RequestState.DISMISSED, decided.block_number, 0)
    assert refused(lambda: decide(scene, 2, True)) == "RequestNotWaiting"
    assert book.filed(3) == StoredRequest(bytes(24), 0, bytes(20), 0, 0, RequestState.UNKNOWN)


def test_who_is_barred_takes_no_part(scene: Scene, ben: Sender) -> None:
    book, own = scene.participants, scene.participants_for(ben)
    (action,) = scene.council.certify(book, [book.set_barred_leaf(ben.address, True)])
    book.set_barred(ben.address, True, action)
    assert book.participant(ben.address) == RegisteredParticipant(2, 0, True, False)
    assert refused(own.join) == "ParticipantIsBarred"
    assert refused(lambda: own.file(REQUEST, 2)) == "ParticipantIsBarred"
    assert refused(lambda: own.hand_in(1, Position(3, 4), PART)) == "ParticipantIsBarred"


def test_endpoints_are_announced_replaced_and_removed(scene: Scene, ann: Sender, ben: Sender) -> None:
    book = scene.participants
    first, second = Endpoint(KEY, "https://ann.example:4433"), Endpoint(KEY, "https://[2001:db8::1]/x")
    scene.participants_for(ann).announce(first)
    scene.participants_for(ben).announce(first)
    scene.participants_for(ann).announce(second)
    assert book.endpoint(ann.address) == second
    assert book.endpoints() == {ann.address: second, ben.address: first}
    scene.participants_for(ben).announce(None)
    assert book.endpoint(ben.address) is None
    assert book.endpoints() == {ann.address: second}
    for unfit in (Endpoint(bytes(20), "https://x"), Endpoint(KEY, "x" * 201), Endpoint(KEY, "http://\u00e9")):
        assert refused(partial(book.announce, unfit)) == "InvalidEndpoint"


def test_a_registry_that_is_not_open_asks_for_admission(scene: Scene, ann: Sender) -> None:
    interface, live = interface_of("ParticipantRegistry"), scene.deployment.address("LiveChain")
    address, _ = scene.sender.deploy(interface, scene.committee.address, live, SEATS, False)
    book = ParticipantRegistryContract(scene.node, address, ann)
    assert not book._read("open")
    assert refused(book.join) == "NotAdmitted"
    (action,) = scene.council.certify(book, [book.admit_leaf(ann.address)])
    book.admit(ann.address, action)
    joined = book.join()
    assert book.participant(ann.address) == RegisteredParticipant(1, joined.block_number, False, True)


def test_past_requests_are_kept(scene: Scene, tmp_path: Path) -> None:
    address = scene.deployment.address("ParticipantRegistry")
    book = ParticipantRegistryContract(scene.node, address, kept=tmp_path)
    assert book.filed_requests() == scene.participants.filed_requests()
    (kept,) = tmp_path.iterdir()
    assert kept.name == f"{scene.node.chain_id}-{address.hex()}.jsonl"


def test_every_account_declares_files_on_models(scene: Scene, ben: Sender) -> None:
    book = scene.participants
    own = ParticipantRegistryContract(scene.node, book.address, ben)
    before = len(book.declarations())
    receipt = own.declare(Position(3, 1), PART)
    own.declare(Position(2, 0), REQUEST)
    first, second = book.declarations()[before:]
    assert first == Declaration(Position(3, 1), ben.address, PART, receipt.block_number)
    assert (second.position, second.uri) == (Position(2, 0), REQUEST)
