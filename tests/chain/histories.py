# SPDX-License-Identifier: Apache-2.0
"""Every kind of transaction that a federation sends, and every reason for its refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from blockful_py.chain.alarm_registry import AlarmRegistryContract
from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import Call
from blockful_py.chain.deployments import Deployment, deploy_archive, deploy_live
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import Node
from blockful_py.chain.participant_registry import Endpoint, ParticipantRegistryContract
from blockful_py.chain.quorum import AppointedCommitteeContract, QuorumMirrorContract
from blockful_py.chain.reader_registry import ReaderRegistryContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.crypto import curve, signature
from blockful_py.crypto.eip712 import Domain
from blockful_py.errors import ContractError
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, NewBlock, Position, Receipt, Uri
from tests.chain.council import Council, uri
from tests.chain.town import Town

GAS = 10_000_000


def everything(node: Node) -> list[str]:
    """Uses all contracts on a new chain, appointed and elected; returns the names of the errors, in order."""
    senders = [Sender(node, Signer.from_mnemonic(DEV_MNEMONIC, index), gas_limit=GAS) for index in range(6)]
    council = Council.gathered(b"the same everywhere")
    live = deploy_live(senders[0], council.roster, seats=3)
    committee = live.address("AppointedCommittee")
    council.domain = Domain(node.chain_id, committee)
    deployed = live.merged(deploy_archive(senders[0], node.chain_id, committee, council.roster))
    refusals = models(senders[0], council, deployed)
    refusals += registries(senders[0], senders[1], council, deployed)
    refusals += epochs(senders[0], council, deployed)
    return refusals + elections(senders)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(ContractError) as refusal:
        call()
    return refusal.value.name


def models(sender: Sender, council: Council, deployed: Deployment) -> list[str]:
    """Publishes, archives and redacts."""
    node = sender.node
    live = LiveChainContract(node, deployed.address("LiveChain"), sender)
    archive = ArchiveRegistryContract(node, deployed.address("ArchiveRegistry"), sender)
    for references in ((), (Position(1, 0), Position(1, 23))):
        block = council.block(live, 24, references)  # more than 24 slots: an access list is declared
        live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
    records = [ArchiveRecord(Position(1, i), 0, ArchiveReason.PUBLISHED, uri(f"{i}")) for i in range(24)]
    head, timestamp = archive.head(), node.timestamp()
    (action,) = council.certify(archive, [archive.append_leaf(head, timestamp, records, 0, 1)])
    archive.send(archive.append_data(head, timestamp, records, action))
    chunk = council.redaction(live, [Position(height, i) for height in (1, 2) for i in range(24)])
    (action,) = council.certify(live, [live.redact_leaf(*chunk, 0, 1)])
    live.send(live.redact_data(*chunk, action))
    assert all(each.version == 1 for each in live.transactions([Position(1, 3), Position(2, 23)]))

    def append_after(block: NewBlock, voters: Sequence[int] = (0, 1, 3)) -> Receipt:
        (action,) = council.certify(live, [live.append_leaf(block, 0, 1)], voters)
        return live.send(live.append_data(block, action))

    block, again = council.block(live, 2), action
    refusals = [
        refused(lambda: live.send(live.redact_data(*chunk, again))),
        refused(lambda: append_after(replace(block, parent_hash=bytes(32)))),
        refused(lambda: append_after(replace(block, publications=block.publications[::-1]))),
        refused(lambda: append_after(block, (0, 2))),
        refused(lambda: live.transaction(Position(9, 0))),
        refused(lambda: archive.records(99, 1)),
    ]
    (action,) = council.certify(live, [live.append_leaf(block, 0, 1)])
    forged = replace(action, certificate=replace(action.certificate, s=1))
    refusals.append(refused(lambda: live.send(live.append_data(block, forged))))
    call = Call(live.interface, live.address, live.append_data(block, action))
    return [*refusals, refused(lambda: Sender(node, sender._account, gas_limit=100_000).send(call))]


def registries(sender: Sender, other: Sender, council: Council, deployed: Deployment) -> list[str]:
    """Readers, auditors, alarms; participants, whom the committee bars, and their requests."""
    node = sender.node
    readers, own = (
        ReaderRegistryContract(node, deployed.address("ReaderRegistry"), each) for each in (sender, other)
    )
    own.register(curve.multiply_base(5))
    (action,) = council.certify(readers, [readers.set_barred_leaf(other.address, True)])
    readers.set_barred(other.address, True, action)
    refusals = [refused(lambda: own.register(curve.multiply_base(6))), refused(readers.leave)]

    archive = ArchiveRegistryContract(node, deployed.address("ArchiveRegistry"), sender)
    key = curve.multiply_base(7)
    (action,) = council.certify(archive, [archive.set_auditor_leaf(other.address, key.x, key.y, 0, 1)])
    archive.set_auditor(other.address, key.x, key.y, action)

    alarms, proposal = AlarmRegistryContract(node, deployed.address("AlarmRegistry"), sender), b"\1" * 32
    reason = "the update of model a is another than mine"
    signed = signature.sign(council.secrets[2], alarms.digest(council.domain, 1, proposal, reason))
    alarms.alarm(1, proposal, reason, 2, signed)
    refusals += [
        refused(lambda: alarms.alarm(1, proposal, reason, 2, signed)),
        refused(lambda: alarms.alarm(1, proposal, reason, 1, signed)),
    ]

    address = deployed.address("ParticipantRegistry")
    book, theirs = (ParticipantRegistryContract(node, address, each) for each in (sender, other))
    content = Uri(b"\3" * 32, Codec.RAW)
    refusals += [refused(theirs.leave), refused(lambda: theirs.found(bytes(32)))]
    book.found(b"\2" * 32)
    theirs.join()
    theirs.announce(Endpoint(b"\5" * 20, "https://ann.example:4433"))
    theirs.file(content, 2)
    (filed,) = book.filed_requests()
    (action,) = council.certify(book, [book.decide_leaf(1, filed.content, True)])
    book.decide(1, True, action)
    theirs.hand_in(1, Position(1, 3), content)
    theirs.announce(None)
    refusals.append(refused(lambda: theirs.hand_in(1, Position(1, 3), content)))
    theirs.leave()
    (action,) = council.certify(book, [book.set_barred_leaf(other.address, True)])
    book.set_barred(other.address, True, action)
    return [*refusals, refused(theirs.join)]


def epochs(sender: Sender, council: Council, deployed: Deployment) -> list[str]:
    """The committee appoints its successor, whom the mirror follows."""
    committee = AppointedCommitteeContract(sender.node, deployed.address("AppointedCommittee"), sender)
    mirror = QuorumMirrorContract(sender.node, deployed.address("QuorumMirror"), sender)
    following = replace(council.roster, group_key=curve.multiply_base(77))
    (action,) = council.certify(mirror, [mirror.advance_leaf(2, following)])
    committee.appoint(following)
    mirror.advance(2, following, action)
    return [refused(lambda: mirror.advance(2, following, action))]


def elections(senders: Sequence[Sender]) -> list[str]:
    """Candidates draw a seed, prove their outputs and confirm a key; one elected member tries to leave."""
    town = Town.founded(senders)
    leaving, *_ = town.elect()
    leaving.book.unbond()
    return [refused(leaving.book.withdraw), refused(town.book.open_election)]
