# SPDX-License-Identifier: Apache-2.0
"""The federation file, the participants and their requests (IParticipantRegistry)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from blockful_py.chain import abi
from blockful_py.chain.contract import BarringContract
from blockful_py.chain.event_list import PastEvent
from blockful_py.errors import DeploymentError
from blockful_py.types import Action, Address, Bytes32, Codec, Position, Receipt, RequestState, Uri


@dataclass(frozen=True, slots=True)
class RegisteredParticipant:
    """An account's entry in the registry.

    Attributes:
        number: permanent number from 1 in the order of joining; 0 if it never joined.
        since: the node's block of the latest joining; 0 if it is not joined.
        barred: whether the committee barred it.
        admitted: whether the committee admitted it.
    """

    number: int
    since: int
    barred: bool
    admitted: bool


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Network address of an account.

    Attributes:
        key: address (20 bytes) of the secp256k1 key to which its TLS certificate is pinned.
        url: 1 to 200 printable ASCII characters without spaces; not checked to be a URL.
    """

    key: bytes
    url: str


@dataclass(frozen=True, slots=True)
class FiledRequest:
    """A request on the chain; block numbers are the node's of the live chain.

    Attributes:
        number: from 1 in the order of filing.
        by: account of the participant that filed it.
        uri: file of the signed request.
        blocks: number of blocks after its admission that accept hand-ins.
        height: height of the live chain at filing; the request reaches no later model.
        block_number: block of its transaction.
        state: filed, admitted or dismissed.
        decided: block of the decision; 0 before it.
    """

    number: int
    by: bytes
    uri: Uri
    blocks: int
    height: int
    block_number: int
    transaction_hash: Bytes32
    state: RequestState = RequestState.FILED
    decided: int = 0

    @property
    def content(self) -> bytes:
        """Content hash of the request in the contract's state, 24 bytes."""
        return abi.filed_content(self.by, self.uri, self.blocks, self.height)

    @property
    def is_admitted(self) -> bool:
        return self.state is RequestState.ADMITTED

    @property
    def deadline(self) -> int:
        """Last block that accepts hand-ins; 0 unless it is admitted."""
        return self.decided + self.blocks if self.is_admitted else 0


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """The contract's stored state of a request; `content` as in FiledRequest."""

    content: bytes
    deadline: int
    by: bytes
    height: int
    blocks: int
    state: RequestState


@dataclass(frozen=True, slots=True)
class HandIn:
    """A participant's part of a request for one model; `block_number` is a block of the node."""

    request: int
    position: Position
    by: bytes
    uri: Uri
    block_number: int
    transaction_hash: Bytes32


@dataclass(frozen=True, slots=True)
class Declaration:
    """A file that an account declared on a model; anybody can declare any file, so readers check `by`."""

    position: Position
    by: bytes
    uri: Uri
    block_number: int


DECISIONS = {"RequestAdmitted": RequestState.ADMITTED, "RequestDismissed": RequestState.DISMISSED}
"""Events of the committee's decisions on requests."""


class ParticipantRegistryContract(BarringContract):
    """Adapter of ParticipantRegistry.  Every method raises NodeError if the node fails."""

    NAME: ClassVar[str] = "ParticipantRegistry"

    def deployer(self) -> Address:
        """Account that founds the federation, 20 bytes."""
        return self._octets("deployer")

    def file_digest(self) -> Bytes32 | None:
        """Digest of the federation file (32 bytes); None before the federation is founded."""
        digest: bytes = self._read("fileDigest")
        return digest if any(digest) else None

    def participant(self, account: Address) -> RegisteredParticipant:
        """The entry of an account (20 bytes)."""
        return RegisteredParticipant(*self._read("participant", account))

    def accounts(self) -> tuple[bytes, ...]:
        """Accounts in the order of their numbers, from 1; some may have left or be barred."""
        numbers = range(1, self._read("count") + 1)
        return tuple(self._read_each("accountOf", numbers))

    def joined(self) -> frozenset[bytes]:
        """The accounts that are joined now."""
        accounts = self.accounts()
        entries = (RegisteredParticipant(*each) for each in self._read_each("participant", accounts))
        return frozenset(account for account, entry in zip(accounts, entries, strict=True) if entry.since)

    def endpoint(self, account: Address) -> Endpoint | None:
        """Network address of an account; None if it announced none."""
        key, url = self._read("endpoint", account)
        return Endpoint(key, url) if url else None

    def most_blocks(self) -> int:
        """Maximum number of blocks for which a request takes hand-ins."""
        return self._number("MAX_BLOCKS")

    def filed(self, number: int) -> StoredRequest:
        """The contract's stored state of a request; zeros for an unknown one."""
        content, deadline, by, height, blocks, _place, state = self._read("filed", number)
        return StoredRequest(content, deadline, by, height, blocks, RequestState(state))

    def filed_requests(self) -> tuple[FiledRequest, ...]:
        """Every filed request with its decision, oldest first."""
        decided = {
            event.arguments["number"]: (state, event.block_number)
            for name, state in DECISIONS.items()
            for event in self.events(name)
        }
        filed = []
        for each in map(_filed_request, self.events("Filed")):
            state, block = decided.get(each.number, (RequestState.FILED, 0))
            filed.append(replace(each, state=state, decided=block))
        return tuple(filed)

    def hand_ins(self, request: int) -> tuple[HandIn, ...]:
        """Every part handed in for a request, oldest first."""
        events = self.events("HandedIn")
        return tuple(_hand_in(event) for event in events if event.arguments["request"] == request)

    def declarations(self) -> tuple[Declaration, ...]:
        """Every file declared on a model, oldest first."""
        return tuple(map(_declaration, self.events("Declared")))

    def require_declarations(self) -> None:
        """Checks that the contract takes declarations.  Raises DeploymentError for an earlier one."""
        if self.interface.selector("declare") not in self.node.code(self.address):
            raise DeploymentError(
                f"the ParticipantRegistry at 0x{self.address.hex()} was deployed by a version of BlockFUL "
                "without recalls, so this record can name no recipients and no answers: tell recipients "
                "yourself, and deploy a new federation for models that you hand out later."
            )

    def endpoints(self) -> dict[bytes, Endpoint]:
        """Announced network addresses of all accounts, participants or not."""
        announced = {
            event.arguments["account"]: Endpoint(event.arguments["key"], event.arguments["url"])
            for event in self.events("Announced")
        }
        return {account: endpoint for account, endpoint in announced.items() if endpoint.url}

    def found(self, digest: Bytes32) -> Receipt:
        """Sets the federation file's digest.

        Raises ContractError NotDeployer, AlreadyFounded or InvalidFile.
        """
        return self._send("found", digest)

    def join(self) -> Receipt:
        """Joins the sender's account.

        Raises ContractError ParticipantIsBarred, AlreadyJoined, NotAdmitted or AllSeatsTaken.
        """
        return self._send("join")

    def leave(self) -> Receipt:
        """Removes the sender's account, which keeps its number.  Raises ContractError NotJoined."""
        return self._send("leave")

    def announce(self, endpoint: Endpoint | None) -> Receipt:
        """Announces the sender's network address; None removes it.

        Raises ContractError InvalidEndpoint.
        """
        key, url = (endpoint.key, endpoint.url) if endpoint is not None else (bytes(20), "")
        return self._send("announce", key, url)

    def file(self, uri: Uri, blocks: int) -> Receipt:
        """Files a request that accepts hand-ins for `blocks` blocks after its admission.

        The event Filed has its number.  Raises ContractError ParticipantIsBarred, NotJoined, InvalidDuration
        or AllPlacesTaken.
        """
        return self._send("file", uri.digest, int(uri.codec), blocks)

    def hand_in(self, request: int, position: Position, uri: Uri) -> Receipt:
        """Hands in the sender's part of a request for one model.

        Raises ContractError ParticipantIsBarred, NotJoined, RequestNotAdmitted, RequestClosed or
        TooManyHandIns.
        """
        return self._send("handIn", request, position.packed, uri.digest, int(uri.codec))

    def declare(self, position: Position, uri: Uri) -> Receipt:
        """Declares a file of the sender on a model."""
        return self._send("declare", position.packed, uri.digest, int(uri.codec))

    def decide(self, request: int, admitted: bool, action: Action) -> Receipt:
        """Admits or dismisses a request.

        Raises ContractError RequestNotWaiting, or an error of IQuorum or ICertified: NotCertified if a
        reorganisation gave the number to another request.
        """
        return self._send("decide", request, admitted, abi.action(action))

    def change_file(self, digest: Bytes32, action: Action) -> Receipt:
        """Replaces the federation file's digest.

        Raises ContractError InvalidFile, or an error of IQuorum or ICertified.
        """
        return self._send("changeFile", digest, abi.action(action))

    def admit(self, account: Address, action: Action) -> Receipt:
        """Lets an account join a registry that is not open.

        Raises ContractError NothingToChange, or an error of IQuorum or ICertified.
        """
        return self._send("admit", account, abi.action(action))

    def change_file_leaf(self, digest: Bytes32, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `change_file(digest)` in a certificate's content."""
        return self._leaf("changeFile", chunk, chunks, abi.file_digest(digest))

    def decide_leaf(
        self, request: int, content: bytes, admitted: bool, chunk: int = 0, chunks: int = 1
    ) -> bytes:
        """Leaf of `decide(request, admitted)` in a certificate's content, bound to that `content`."""
        return self._leaf("decide", chunk, chunks, abi.decision_digest(request, content, admitted))

    def admit_leaf(self, account: Address, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `admit(account)` in a certificate's content."""
        return self._leaf("admit", chunk, chunks, abi.admission_digest(account))


def _filed_request(event: PastEvent) -> FiledRequest:
    values = event.arguments
    return FiledRequest(
        number=values["number"],
        by=values["by"],
        uri=Uri(values["digest"], Codec(values["codec"])),
        blocks=values["blocks"],
        height=values["height"],
        block_number=event.block_number,
        transaction_hash=event.transaction_hash,
    )


def _hand_in(event: PastEvent) -> HandIn:
    values = event.arguments
    return HandIn(
        request=values["request"],
        position=Position.unpack(values["position"]),
        by=values["by"],
        uri=Uri(values["digest"], Codec(values["codec"])),
        block_number=event.block_number,
        transaction_hash=event.transaction_hash,
    )


def _declaration(event: PastEvent) -> Declaration:
    values = event.arguments
    return Declaration(
        position=Position.unpack(values["position"]),
        by=values["by"],
        uri=Uri(values["digest"], Codec(values["codec"])),
        block_number=event.block_number,
    )
