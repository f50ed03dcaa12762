# SPDX-License-Identifier: Apache-2.0
"""A federation whose participants file, hand in, publish and keep silent at will.

Admission, docket and the state of each request are the real ones; the registry follows the rules of
`ParticipantRegistry.sol`, and weights are names alone.  The committee is honest and looks at every block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from blockful_py.chain.participant_registry import FiledRequest, HandIn
from blockful_py.errors import BlockNotFoundError, FormatError, StorageError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.pipeline.review.admission import UNREAD_BLOCKS, RequestAdmission, Ruling
from blockful_py.pipeline.run.identities import address_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.docket import Docket
from blockful_py.record.model_node import PlacedNode, Redaction, RequestAnswer, sign_statement
from blockful_py.record.request_state import RequestStanding, Rules
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Claimed
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec, Position, RequestState, Uri

BLOCKS = 10
"""An owner's time."""
PLACES = 4
CHAIN_ID, CONTRACT = 1337, bytes(20)
WEIGHTS = cid_string(uri_of(b"weights", Codec.RAW))


@dataclass
class Account:
    """A participant.

    Attributes:
        honest: answers requests in order, one part after another, each within an owner's time.
        busy_until: block before which it does no other part.
    """

    secret: int
    honest: bool
    user: int
    since: int = 1
    busy_until: int = 0

    @cached_property
    def address(self) -> bytes:
        return address_of(self.secret)


@dataclass(frozen=True)
class Happened:
    """An event on the chains: a publication, a filing, a decision on it, or a new version of a model.

    Attributes:
        kind: "published", "filed", "admitted", "dismissed", "handed in", "answered" or "withdrawn".
        what: a model's name.
        request: a request's number.
    """

    kind: str
    block: int
    height: int
    what: str = ""
    request: int = 0
    by: bytes = b""


class RefusedByContractError(Exception):
    """The registry's contract refuses a transaction."""


class HeldUpError(Exception):
    """Members allow nobody to build on a model for now."""


@dataclass
class Participation:
    since: int


@dataclass
class FilingsWorld:
    """A record and a registry in memory in place of the chains; `happened` is their log."""

    accounts: list[Account]
    block: int = 1
    height: int = 0
    models: dict[str, PlacedNode] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[Uri, bytes] = field(default_factory=dict)
    filed: list[FiledRequest] = field(default_factory=list)
    parts: dict[int, list[HandIn]] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)

    chain_id, address = CHAIN_ID, CONTRACT

    def __post_init__(self) -> None:
        self._moment, self._admitted = (0, 0), tuple[RequestStanding, ...]()
        self._told, self._catalogue = 0, Catalogue({}, InheritanceGraph.from_references({}))
        self.by_address = {account.address: account for account in self.accounts}
        self.docket = Docket(self, self, self, self, Rules(BLOCKS, withdraws=True))
        self.admission = RequestAdmission(self, self.docket, attested=False, methods=(), model="cnn")  # type: ignore[arg-type]

    # Reads of the docket and of the members' admission.

    @property
    def node(self) -> FilingsWorld:
        return self

    def block_number(self) -> int:
        return self.block

    def filed_requests(self) -> Sequence[FiledRequest]:
        return self.filed

    def hand_ins(self, request: int) -> Sequence[HandIn]:
        return self.parts.get(request, ())

    def participant(self, account: bytes) -> Participation:
        return Participation(self.by_address[account].since)

    def read(self, uri: Uri | None = None, limit: int = 0) -> Catalogue | bytes:
        """The record, or a file."""
        if uri is None:
            if self._told != len(self.happened):
                self._told = len(self.happened)
                self._catalogue = Catalogue(dict(self.models), InheritanceGraph.from_references(self.parents))
            return self._catalogue
        if uri not in self.files:
            raise BlockNotFoundError("nobody has it.")
        if len(self.files[uri]) > limit:
            raise FormatError("it is too large.")
        return self.files[uri]

    def admitted(self) -> Sequence[RequestStanding]:
        """The docket's admitted requests; cached until the next event."""
        moment = self.block, len(self.happened)
        if moment != self._moment:
            self._moment, self._admitted = moment, tuple(self.docket.admitted())
        return self._admitted

    # Actions of participants.

    def publish(self, owner: Account, references: Sequence[str]) -> str:
        """Publishes a model.

        Raises RefusedByContractError when a reference is gone, and HeldUpError, like members, when one is
        about to be replaced.
        """
        if any(self.models[name].node.is_withdrawn for name in references):
            raise RefusedByContractError
        if held := self.docket.awaited().intersection(references):
            raise HeldUpError(min(held))
        name = f"m{len(self.models) + 1}"
        self.height += 1
        named = tuple(
            Reference(
                name=each,
                position=str(self.models[each].position),
                accuracy=0.5,
                version=self.models[each].version,
            )
            for each in references
        )
        statement = Statement(
            name=name,
            user=owner.user,
            round=1,
            owner="0x" + owner.address.hex(),
            weights=WEIGHTS,
            references=named,
            accuracy=0.5,
            training={},
            created=0,
        )
        node = sign_statement(statement, owner.secret, CHAIN_ID, CONTRACT)
        self.models[name] = PlacedNode(Position(self.height, 0), 0, uri_of(name.encode(), Codec.RAW), node)
        self.parents[name] = tuple(references)
        self._tell("published", what=name, by=owner.address)
        return name

    def file(self, by: Account, uri: Uri, blocks: int) -> int:
        """Files a request.  Raises RefusedByContractError like the contract's `file`."""
        taken = [
            each
            for each in self.filed
            if each.by == by.address
            and (
                each.state is RequestState.FILED
                or (each.state is RequestState.DISMISSED and self.block < each.decided + UNREAD_BLOCKS)
            )
        ]
        if not by.since or len(taken) >= PLACES or not blocks:
            raise RefusedByContractError
        number = len(self.filed) + 1
        self.filed.append(FiledRequest(number, by.address, uri, blocks, self.height, self.block, bytes(32)))
        self._tell("filed", request=number, by=by.address)
        return number

    def hand_in(self, by: Account, number: int, name: str, data: bytes) -> None:
        """Hands in a part.

        Raises RefusedByContractError like the contract, unless the request is admitted and open.
        """
        filed = self.filed[number - 1]
        if not by.since or not filed.is_admitted or self.block > filed.deadline:
            raise RefusedByContractError
        part = HandIn(
            number, self.models[name].position, by.address, uri_of(data, Codec.RAW), self.block, bytes(32)
        )
        self.parts.setdefault(number, []).append(part)
        self._tell("handed in", what=name, request=number, by=by.address)

    def answer(self, status: RequestStanding, name: str, withdrawal: bool = False) -> None:
        """A new version of a model."""
        placed, version = self.models[name], self.models[name].version + 1
        redaction = Redaction(
            version=version,
            weights=None if withdrawal else WEIGHTS,
            request=status.request,
            claims=None if withdrawal else Claimed(ad_f=0.0, ad_r=1.0),
        )
        answers = (*placed.answers, RequestAnswer(status.request, version, self.block, withdrawal))
        node = placed.node.model_copy(update={"redaction": redaction})
        self.models[name] = replace(placed, version=version, node=node, answers=answers)
        self._tell("withdrawn" if withdrawal else "answered", what=name, request=status.number)

    # Actions of the committee.

    def look(self) -> None:
        """Members decide on filings, withdraw unanswered models, and execute parallel requests."""
        for filed in [each for each in self.filed if each.state is RequestState.FILED]:
            try:
                ruling = self.admission.verdict(filed.number).ruling
            except StorageError:
                continue
            if ruling is not Ruling.WAIT:
                self._decide(filed.number, ruling is Ruling.ADMIT)
        for status in self.admitted():
            for name in status.unanswered():
                self.answer(status, name, withdrawal=True)
        for status in self.admitted():
            if status.is_parallel and status.stage.is_open and status.is_complete:
                for name in status.missing:
                    self.answer(status, name)

    def _decide(self, number: int, admitted: bool) -> None:
        state = RequestState.ADMITTED if admitted else RequestState.DISMISSED
        self.filed[number - 1] = replace(self.filed[number - 1], state=state, decided=self.block)
        self._tell("admitted" if admitted else "dismissed", request=number)

    def _tell(self, kind: str, what: str = "", request: int = 0, by: bytes = b"") -> None:
        self.happened.append(Happened(kind, self.block, self.height, what, request, by))
