# SPDX-License-Identifier: Apache-2.0
"""Votes and collisions that a past epoch's committee can still make, from its members' folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.chain.contract import Contract
from blockful_py.committee.service.folder import keys_in, share_in
from blockful_py.crypto import chameleon, curve, merkle, multisignature, payload
from blockful_py.crypto.eip712 import Certified, digest
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.types import Action, Certificate, Codec, HeaderUpdate, Position, Update, Uri
from tests.crypto.committee import collide_together
from tests.member.processes import WORDS, MemberProcess


@dataclass(frozen=True)
class EpochCommittee:
    """The members of `epoch` by roster index, with all their secrets."""

    contracts: Contracts
    epoch: int
    members: Sequence[MemberProcess]

    def shares(self) -> list[KeyShare]:
        key_id = self.contracts.committee.key_id(self.epoch)
        shares = (share_in(each.folder, keys_in(each.folder, WORDS), key_id) for each in self.members)
        return [share for share in shares if share is not None]

    def certify(self, contract: Contract, leaf: bytes) -> Action:
        """One action of `contract`, signed by all."""
        content, proposal = merkle.root([leaf]), keccak(b"proposal" + leaf)
        secrets = [keys_in(member.folder, WORDS).voting_secret for member in self.members]
        decision = (self.epoch, proposal, content, 2 ** len(secrets) - 1)
        certified = Certified(contract.chain_id, contract.address, *decision)
        digested = digest(self.contracts.committee.domain, certified)
        signed = multisignature.sign(sum(secrets) % curve.N, digested)
        certificate = Certificate(*decision, signed.nonce, signed.s)
        return Action(certificate, 0, 1, merkle.MerkleTree([leaf]).proof(0))

    def redaction(self, position: Position) -> tuple[list[Update], list[HeaderUpdate]]:
        """Other content for a model and its header, opened under this epoch's key."""
        live = self.contracts.live
        (current,) = live.transactions([position])
        (header,) = live.headers([position.height])
        uri = Uri(keccak(b"another model"), Codec.RAW)
        hashed = payload.references_hash(current.references)
        model = payload.transaction_payload(uri, current.owner, hashed)
        block = payload.header_payload(
            header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
        )
        versions = (current.version + 1, header.version + 1)
        places = (position, Position.of_header(position.height))
        tasks = [
            Task(
                chameleon.label(live.chain_id, live.address, place.packed),
                chameleon.message(version, content),
                h,
            )
            for place, version, content, h in zip(
                places, versions, (model, block), (current.ch, header.ch), strict=True
            )
        ]
        shares = self.shares()
        key = shares[0].public
        signers = [ThresholdSigner(share) for share in shares[: key.threshold]]
        opened, header_opened = collide_together(key, signers, b"outgoing", tasks)
        updates = [Update(position, versions[0], uri, opened)]
        return updates, [HeaderUpdate(position.height, versions[1], header_opened)]
