# SPDX-License-Identifier: Apache-2.0
"""A notice of recall: what stands in place of a version that a recipient received."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from blockful_py.crypto import eip712, signature
from blockful_py.errors import BlockfulError, VerificationError
from blockful_py.record.checks import require
from blockful_py.record.fields import (
    Address,
    ChainId,
    Cid,
    Hash,
    Part,
    Place,
    Seconds,
    Signature,
    Small,
    octets,
    of_octets,
    parsed,
    spelt,
)
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.recall.documents import UNSIGNED, Did, SignedAnswer
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.unixfs import file_uri

MAX_NOTICE_BYTES = 2 * MAX_NODE_BYTES


@dataclass(frozen=True, slots=True)
class RecallNotice:
    """The struct that a model's owner signs; fields as in `Notice`, the CID by its digest."""

    model: str = eip712.typed("string")
    version: int = eip712.typed("uint32")
    replacement: bytes = eip712.typed("bytes32")
    recipient: bytes = eip712.typed("bytes32")
    at: int = eip712.typed("uint64")


class Notice(Part):
    """A notice, signed by the model's owner.

    Attributes:
        chain_id, contract: of the LiveChain contract.
        version: the recalled version, which the recipient received.
        recipient: as the owner declared it on the record.
        replacement: CID of the node that stands, of version `stands`.
        node: its bytes as text; a node without weights is withdrawn.
        at: time in seconds.
    """

    format: Literal["blockful-recall/1"] = "blockful-recall/1"
    chain_id: ChainId
    contract: Address
    position: Place
    version: Small
    recipient: Hash
    stands: Small
    replacement: Cid
    node: str
    at: Seconds
    signature: Signature = UNSIGNED

    @property
    def domain(self) -> eip712.Domain:
        return eip712.Domain(self.chain_id, octets(self.contract))

    def typed(self) -> RecallNotice:
        return RecallNotice(
            self.position,
            self.version,
            parse_cid(self.replacement).digest,
            octets(self.recipient),
            self.at,
        )

    def signed(self, secret: int) -> Notice:
        """The same notice, signed with the owner's secret."""
        made = signature.sign(secret, eip712.digest(self.domain, self.typed()))
        return self.model_copy(update={"signature": of_octets(made)})

    def to_bytes(self) -> bytes:
        return spelt(self)

    def answer(self, did: Did, at: int) -> SignedAnswer:
        """The recipient's answer, yet to be signed."""
        return SignedAnswer(
            position=self.position,
            version=self.version,
            replacement=self.replacement,
            recipient=self.recipient,
            did=did,
            at=at,
            signature=UNSIGNED,
        )


def parse_notice(data: bytes) -> Notice:
    """Parses a notice.  Raises FormatError, which names the invalid field."""
    return parsed(Notice, data, "notice of recall", MAX_NOTICE_BYTES)


def check_notice(notice: Notice) -> ModelNode:
    """The node that stands by a notice, after checking that the notice's parts agree.

    That the node is on the chain, only the chain shows.  Raises VerificationError (`recall`).
    """
    subject = f"the recall of version {notice.version} at {notice.position}"
    must = partial(require, "recall", subject)
    try:
        must(file_uri(notice.node.encode()) == parse_cid(notice.replacement), "its node has another CID")
        node = parse_node(notice.node.encode())
        signer = of_octets(
            signature.recover(eip712.digest(notice.domain, notice.typed()), octets(notice.signature))
        )
        owner = of_octets(node.signer(notice.chain_id, octets(notice.contract)))
    except VerificationError:
        raise
    except BlockfulError as error:
        raise VerificationError("recall", subject, str(error)) from None
    must(node.statement.owner == owner, "its node is not signed by the model's owner")
    must(signer == owner, f"it is signed by {signer}, and the model's owner is {owner}")
    must(notice.stands > notice.version, f"it says that version {notice.stands} stands")
    return node
