# SPDX-License-Identifier: Apache-2.0
"""Reads owners' commitments to their trainings from the chain."""

from __future__ import annotations

from pydantic import ValidationError

from blockful_py.chain.participant_registry import FiledRequest, HandIn, ParticipantRegistryContract
from blockful_py.errors import StorageError
from blockful_py.ledger.protocols import Store
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.commitments import first_commitment, is_commitment
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.shown import by_waves
from blockful_py.record.waves import PartHandedIn
from blockful_py.types import Paradigm


class Commitments:
    """Commitments to trainings, as owners handed them in on the chain."""

    def __init__(self, participants: ParticipantRegistryContract, store: Store) -> None:
        """Reads the chain; `store` has the filed requests."""
        self._participants = participants
        self._store = store

    def first(self, status: RequestStanding, name: str) -> PartHandedIn | None:
        """The first commitment to the training that an owner does for a request (see `first_commitment`).

        It counts for a part if it came before it: a part that others build on does not become unusable by a
        later one.  For a model's next version, the commitments for all sequential requests count.
        """
        record = status.record
        if status.hands_in(name):
            return first_commitment(record, name, status.before_part(name))
        listed = [
            each
            for filed in self._participants.filed_requests()
            if filed.is_admitted
            for each in self._of(filed, record, name)
        ]
        return first_commitment(record, name, listed)

    def _of(self, filed: FiledRequest, catalogue: Catalogue, name: str) -> list[HandIn]:
        """Commitments for a model, unless they are known to be to parts."""
        handed_in = self._participants.hand_ins(filed.number)
        listed = [each for each in handed_in if each.position == catalogue[name].position]
        return listed if any(map(is_commitment, listed)) and not self._is_part(filed, catalogue, name) else []

    def _is_part(self, filed: FiledRequest, catalogue: Catalogue, name: str) -> bool:
        """Whether a model has a part of a request: of a parallel one, or a clean model of an ancestor.

        False for an unreadable request, so that it cannot hide a commitment.
        """
        try:
            data = self._store.read(filed.uri, MAX_REQUEST_BYTES)
            request = Request.model_validate_json(data)
        except (StorageError, ValidationError):
            return False
        starts = [start.name for start in request.starts if start.name in catalogue.models]
        affected = {*starts, *catalogue.graph.descendants(starts)}
        return request.paradigm == Paradigm.PARALLEL or (by_waves(request) and name not in affected)
