# SPDX-License-Identifier: Apache-2.0
"""Shared sums (`learning.shared_sums`) among machines: owners deal parts, and have members open heads."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from blockful_py.committee import codec
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import IndexedClient
from blockful_py.committee.service.messages import HeadAnswer, HeadRequest
from blockful_py.crypto.envelope import KEY_BYTES
from blockful_py.crypto.randomness import system_rng
from blockful_py.engine.jobs import Act, PlannedStep
from blockful_py.errors import LearningError, QuorumError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedFile, seal
from blockful_py.keys.shared_files import SharedPlace, deal_files
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.form import InMemory, form_of
from blockful_py.learning.models.analytic import HEAD
from blockful_py.learning.trainer import Assignment
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.coordination.sharers import sharers
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.unstore import missing_files
from blockful_py.pipeline.review.share_reader import context_of
from blockful_py.record.fields import canonical_json
from blockful_py.record.statement_parts import SharedClass, SharedPart
from blockful_py.settings import quorum_of
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri

_log = logging.getLogger(__name__)

HEAD_BYTES, RUN_BYTES = 200, 1 << 24
"""Bytes of a message for each entry of a head's matrix, at most, and for all heads of one run."""

ATTEMPTS = 3
"""Runs of the members before a head is given up."""


@dataclass
class SharedTrainer:
    """In place of a training: deals the owner's part of each model, and has its head opened.

    Attributes:
        user: the owner; requests that it `opted_out` by leave samples out of its parts.
        parts: the parts dealt, by model.
    """

    context: FederationContext
    user: UserData
    opted_out: Sequence[Forget]
    parts: dict[str, SharedPart] = field(default_factory=dict)

    def train(self, assignments: Sequence[Assignment]) -> list[Weights]:
        """Heads (`learning.models.analytic`), in order.  Raises as `deal` and `open_heads`."""
        return [self._trained(each) for each in assignments]

    def _trained(self, assigned: Assignment) -> Weights:
        name = assigned.name
        catalogue = self.context.record.catalogue.read()
        self.parts[name] = part = deal(self.context, name, self.user, self.opted_out)
        places = tuple(catalogue[each].position for each in assigned.references)
        (head,) = open_heads(self.context, HeadRequest((name,), 0, places, part_bytes(part)))
        return head


def deal(
    context: FederationContext,
    name: str,
    user: UserData,
    forgets: Iterable[Forget],
    struck: tuple[int, ...] = (),
) -> SharedPart:
    """Deals an owner's part of a model to the members, who get its files and their keys.

    `forgets`: leave samples out of it.

    A job must be open; its journal holds the steps.  Raises LearningError without samples, QuorumError while
    a member does not answer.
    """
    rows = rows_after(user, forgets)
    if not len(rows):
        raise LearningError(f"{name} has no samples left to share: leave it out.")
    samples = user.train.at(rows)
    network = context.setup.architecture.sums(initial_weights(context.setup.federation))
    members, live = sharers(context.leader.remote(), context.contracts), context.contracts.live
    features = network.features(samples.x)
    place = SharedPlace(context_of(live.chain_id, live.address), name, user.index, features.shape[1])
    labels = samples.y.cpu().numpy()
    files = deal_files(place, features, labels, rows.cpu().numpy(), members.keys, system_rng)
    sealed = [_sealed(each) for each in (files.proof, *files.files)]
    uris, store = [each.uri for each in sealed], context.stores.live
    planned = PlannedStep(Act.STORE, name, {"cids": missing_files(store, uris)})
    stored, keyed = context.journal.plan([planned, PlannedStep(Act.KEYS, name)])
    with context.journal.taking(stored):
        store.add_each(each.pieces() for each in sealed)
        context.hand_out(uris)
    with context.journal.taking(keyed):  # auditors must not see shares
        context.keys.keyring.deliver({each.uri: each.key for each in sealed})
    return shared_part(members.epoch, files.counts, uris, struck)


def shared_part(
    epoch: int, counts: Mapping[int, int], uris: Sequence[Uri], struck: tuple[int, ...] = ()
) -> SharedPart:
    """The record's entry of a part, of its files' URIs: the proof, then as in `share_files`."""
    proof, *others = map(cid_string, uris)
    half = len(counts)
    classes = tuple(
        SharedClass(label=label, samples=counts[label], sums=sums, rows=rows)
        for label, sums, rows in zip(sorted(counts), others[:half], others[half:], strict=True)
    )
    return SharedPart(epoch=epoch, proof=proof, classes=classes, struck=struck)


def open_heads(context: FederationContext, asked: HeadRequest) -> list[Weights]:
    """Has the members open heads, in the order of the names; a quorum of them must give the same.

    Members leave out liars and silent ones.  Raises QuorumError with the members' reasons, which name them.
    """
    committee, form = context.leader.remote(), form_of(context.setup.architecture)
    reasons: list[str] = []
    for _ in range(ATTEMPTS):
        members = sharers(committee, context.contracts)
        clients = [IndexedClient(j, client) for j, client in members.clients.items()]
        about = (MessageKind.OPEN_HEADS, members.epoch, system_rng(32), asked)
        answers = at_once(
            clients,
            lambda each, about=about: each.client.ask(*about),  # type: ignore[misc]
            len(clients),
        )
        reasons = [f"member {j}: {each.reason}" for j, each in answers.items() if isinstance(each, Refusal)]
        told = Counter(each.message.body for each in answers.values() if not isinstance(each, Refusal))
        for body, times in told.most_common(1):
            if times >= quorum_of(len(members.keys)):
                for reason in reasons:
                    _log.warning("a run on shares went on without one: %s", reason)
                heads = codec.decode(HeadAnswer, body).heads
                return [
                    form.read(InMemory(each), f"the head of {name}")
                    for name, each in zip(asked.names, heads, strict=True)
                ]
    names = ", ".join(asked.names)
    raise QuorumError(f"members did not open heads of {names} in {ATTEMPTS} runs: {'; '.join(reasons)}")


def new_heads(context: FederationContext, request: int, names: Sequence[str]) -> Iterator[Weights]:
    """The heads of models that a request replaces, in order, as many in a run as its messages may hold."""
    features = initial_weights(context.setup.federation)[HEAD].shape[0]
    most = max(1, RUN_BYTES // (HEAD_BYTES * features**2))
    for i in range(0, len(names), most):
        yield from open_heads(context, HeadRequest(tuple(names[i : i + most]), request, (), b""))


def _sealed(content: bytes) -> SealedFile:
    return seal(lambda: (content,), system_rng(KEY_BYTES))


def part_bytes(part: SharedPart) -> bytes:
    return canonical_json(part.model_dump(mode="json"))
