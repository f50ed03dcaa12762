# SPDX-License-Identifier: Apache-2.0
"""Checks a request that several owners sign, as one of them sees the chains, before it signs or files it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from blockful_py.chain.participant_registry import FiledRequest
from blockful_py.costs import MEASURED_GAS
from blockful_py.crypto import signature
from blockful_py.errors import InvalidSignatureError, RefusedError
from blockful_py.learning.forget_sets import require_rows
from blockful_py.names import called
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.requesting import method_of
from blockful_py.pipeline.review.admission import RequestAdmission, most_blocks
from blockful_py.pipeline.review.times import MAX_DRIFT
from blockful_py.pipeline.run.identities import address_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.parts import request_to_bytes
from blockful_py.record.request_file import RequestFile
from blockful_py.record.request_state import RequestStanding
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm


@dataclass(frozen=True, eq=False)
class AskedOfOwner:
    """A checked request file, and the part of one of its owners.

    Attributes:
        file: the owner may sign it, and members would admit its request if this owner filed it now.
        account: the owner's address, 0x...
        user: the owner's number.
        owners: each owner that signs, in words, by address.
        standing: the state of the request if this owner filed it now.
        chunk: models that one transaction replaces at most.
    """

    file: RequestFile
    account: str
    user: int
    owners: Mapping[str, str]
    standing: RequestStanding
    chunk: int

    @property
    def starts(self) -> tuple[str, ...]:
        """The owner's models that the request starts from."""
        return self._own(start.name for start in self.file.request.starts)

    @property
    def reached(self) -> tuple[str, ...]:
        """All models with weights that must forget, in topological order."""
        return self.standing.missing

    @property
    def blocks(self) -> int:
        """Blocks of the live chain's node, from the admission, in which owners may hand in parts."""
        return self.standing.filed.blocks

    @property
    def gas(self) -> int:
        """Gas on both chains to replace the reached models, about."""
        heights = {self.standing.record[name].position.height for name in self.reached}
        paradigm = Paradigm(self.file.request.paradigm)
        return MEASURED_GAS.of(paradigm, len(self.reached), len(heights), self.chunk)

    @property
    def own_reached(self) -> tuple[str, ...]:
        """The owner's models among them."""
        return self._own(self.reached)

    @property
    def own_clean(self) -> tuple[str, ...]:
        """The owner's models that do not change, and of which it hands in clean ones."""
        return self._own(self.standing.auxiliary)

    @property
    def own_data(self) -> str | None:
        """The owner's data that the request names, in words; None for a class or for data of others."""
        forget = self.file.request.forget
        if self.user in forget.clients:
            return "all your data"
        if rows := forget.rows(self.user):
            return f"your sample{'s' * (len(rows) > 1)} {', '.join(map(str, rows))}"
        return None

    @property
    def others(self) -> tuple[str, ...]:
        """The other owners that sign, in words."""
        return tuple(name for account, name in self.owners.items() if account != self.account)

    @property
    def missing(self) -> tuple[str, ...]:
        """The owners that have yet to sign, in words."""
        return tuple(self.owners[each] for each in self.file.missing)

    def require_signed(self) -> None:
        """Checks that all owners have signed.  Raises InvalidSignatureError, which names the others."""
        if self.missing:
            raise InvalidSignatureError(
                f"the request still needs the signature of {', '.join(self.missing)}: hand the file on, for "
                "`blockful participant sign FOLDER FILE`."
            )

    def signed(self, secret: int) -> RequestFile:
        """The file with the signature of this owner, whose account has the secret."""
        return self.file.with_signature(signature.sign(secret, self.file.digest))

    def _own(self, names: Iterable[str]) -> tuple[str, ...]:
        nodes = ((name, self.standing.record[name].node) for name in names)
        return tuple(name for name, node in nodes if node.statement.owner == self.account)


def asked_of(context: FederationContext, file: RequestFile, user: int) -> AskedOfOwner:
    """Checks a request file against the view that participant `user` has of both chains; returns its part.

    Raises:
        RefusedError: the file is for another federation, a start is not on the chain as it says, none of the
            starts is the participant's, or members would not admit the request.
        UnknownModelError, SettingsError, UnlearningError: as `method_of` and `RequestAdmission`, or the
            participant does not have a sample that the request names as its own.
    """
    catalogue = context.record.catalogue.read()
    _require_on_chain(context, file, catalogue)
    request = file.request if file.missing else file.signed()
    account = address_of(context.accounts.secret(user))
    own = "0x" + account.hex()
    if own not in file.owners:
        raise RefusedError("none of the request's starts is yours: only the owners of its starts sign it.")
    method_of(context, request)
    require_rows(request.forget, context.setup.users)
    blocks = most_blocks(request, catalogue, context.run.settings.unlearning.blocks)
    filed = FiledRequest(
        number=0,
        by=account,
        uri=file_uri(request_to_bytes(request)),
        blocks=min(blocks, context.contracts.participants.most_blocks()),
        height=context.contracts.live.height(),
        block_number=context.contracts.live.node.block_number(),
        transaction_hash=bytes(32),
    )
    standing = context.docket.foreseen(filed, request)
    RequestAdmission.of(context.opened).require_admissible(standing)
    starts = zip(request.starts, file.owners, strict=True)
    owners = {owner: _owner(context, catalogue[start.name]) for start, owner in starts}
    chunk = context.run.settings.chain.chunk_models
    return AskedOfOwner(file, own, user, owners, standing, chunk)


def _require_on_chain(context: FederationContext, file: RequestFile, catalogue: Catalogue) -> None:
    """Checks that a file is for this federation, and its starts, owners and time are as the chain has them.

    Raises RefusedError or UnknownModelError.
    """
    live = context.contracts.live
    if (file.chain_id, file.contract) != (live.chain_id, "0x" + live.address.hex()):
        raise RefusedError(
            f"the request is for contract {file.contract} on chain {file.chain_id}, and this federation has "
            f"0x{live.address.hex()} on chain {live.chain_id}: it is another federation's."
        )
    for start, owner in zip(file.request.starts, file.owners, strict=True):
        placed = catalogue[start.name]
        if (start.place(), owner) != (placed.position, placed.node.statement.owner):
            raise RefusedError(
                f"the file names {start.name} at {start.position} of {owner}, and the chain has it at "
                f"{placed.position} of {placed.node.statement.owner}: have the request made anew."
            )
    ahead = file.request.created - context.clock.now()
    if ahead > MAX_DRIFT:
        raise RefusedError(
            f"the request says that it was made {ahead} s from now: set this machine's clock, or have it "
            "made anew."
        )


def _owner(context: FederationContext, placed: PlacedNode) -> str:
    """The owner of a model, in words."""
    user, account = placed.node.statement.user, placed.node.statement.owner
    return f"participant {called(user, context.run.settings.federation.party(user, account))}"
