# SPDX-License-Identifier: Apache-2.0
"""The filed requests of a federation, each with its state on the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from blockful_py.errors import BlockfulError, RunError
from blockful_py.ledger.protocols import Store
from blockful_py.record.catalogue import Catalogue, CatalogueReader
from blockful_py.record.parts import MAX_REQUEST_BYTES, request_from_bytes
from blockful_py.record.request import Request
from blockful_py.record.request_state import Filed, RequestStage, RequestStanding, Rules
from blockful_py.record.waves import PartHandedIn
from blockful_py.types import Address, RequestState, Uri

REMEMBERED = 64
"""Maximum number of parsed requests in memory."""


class RequestsLedger(Protocol):
    """The registry of participants, as used for requests."""

    def filed_requests(self) -> Sequence[Filed]: ...

    def hand_ins(self, request: int) -> Sequence[PartHandedIn]: ...


class BlockCounter(Protocol):
    def block_number(self) -> int: ...


class LiveContract(Protocol):
    """The live chain's contract, to which requests are bound."""

    @property
    def chain_id(self) -> int: ...

    @property
    def address(self) -> Address: ...

    @property
    def node(self) -> BlockCounter: ...


@dataclass(frozen=True, slots=True)
class _Moment:
    """The current models, and the number of the node's newest block."""

    catalogue: Catalogue
    block_number: int


class Docket:
    """The requests of a federation as one party reads them, with their states."""

    def __init__(
        self,
        registry: RequestsLedger,
        live: LiveContract,
        catalogue: CatalogueReader,
        store: Store,
        rules: Rules,
    ) -> None:
        """Reads requests; `store` has their files."""
        self._registry = registry
        self._live = live
        self._catalogue = catalogue
        self._store = store
        self._rules = rules
        self._parsed = lru_cache(REMEMBERED)(self._read)

    def filed(self) -> Sequence[Filed]:
        """All filed requests, by number."""
        return self._registry.filed_requests()

    def request(self, filed: Filed) -> Request:
        """A request that the owners of its starts have signed.

        Raises StorageError when its file cannot be fetched, otherwise as `request_from_bytes`.
        """
        return self._parsed(filed.uri)

    def entry(self, number: int) -> Filed:
        """The chain's entry for a request.  Raises RunError for an unknown number."""
        for each in self._registry.filed_requests():
            if each.number == number:
                return each
        raise RunError(f"no request {number} is filed: see `blockful participant status`.")

    def __getitem__(self, number: int) -> RequestStanding:
        """The state of a request.  Raises RunError for an unknown number, otherwise as `request`."""
        filed = self.entry(number)
        return self.status(filed, tuple(each.request for each in self.admitted() if each.number < number))

    def admitted(self) -> Iterator[RequestStanding]:
        """The admitted requests, by number; skips unreadable ones."""
        admitted = [each for each in self._registry.filed_requests() if each.state is RequestState.ADMITTED]
        if not admitted:
            return
        at, earlier = self._moment(), list[Request]()
        for filed in admitted:
            with suppress(BlockfulError):
                status = self._status(filed, tuple(earlier), at)
                earlier.append(status.request)
                yield status

    def of(self, request: Request) -> RequestStanding | None:
        """The first admitted filing of a request; None if it has none."""
        return next((each for each in self.admitted() if each.request == request), None)

    def awaited(self) -> frozenset[str]:
        """The models that open requests are about to replace."""
        return frozenset(name for status in self.admitted() for name in status.awaited)

    def left(self) -> frozenset[int]:
        """Users all of whose data was, or is to be, forgotten."""
        return frozenset(
            user
            for each in self.admitted()
            if each.stage is not RequestStage.LAPSED
            for user in each.request.forget.clients
        )

    def status(self, filed: Filed, earlier: tuple[Request, ...] = ()) -> RequestStanding:
        """The state of a request.  Raises as `request`.  `earlier`: as for `RequestStanding`."""
        return self._status(filed, earlier, self._moment())

    def foreseen(self, filed: Filed, request: Request) -> RequestStanding:
        """The state of a request whose filing is yet to come."""
        return self._standing(filed, request, (), self._moment())

    def _moment(self) -> _Moment:
        return _Moment(self._catalogue.read(), self._live.node.block_number())

    def _status(self, filed: Filed, earlier: tuple[Request, ...], at: _Moment) -> RequestStanding:
        return self._standing(filed, self.request(filed), earlier, at)

    def _standing(
        self, filed: Filed, request: Request, earlier: tuple[Request, ...], at: _Moment
    ) -> RequestStanding:
        return RequestStanding(
            filed,
            request,
            at.catalogue.up_to(filed.height),
            earlier,
            self._registry.hand_ins(filed.number),
            at.block_number,
            self._rules,
        )

    def _read(self, uri: Uri) -> Request:
        data = self._store.read(uri, MAX_REQUEST_BYTES)
        return request_from_bytes(data, self._live.chain_id, self._live.address, self._catalogue.read())
