# SPDX-License-Identifier: Apache-2.0
"""Replaces models on the record: stores, certifies, archives and redacts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType

from blockful_py.chain.settlement import Executed
from blockful_py.committee.certified import CertifiedRedaction
from blockful_py.committee.drafting import Replacement
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.engine.jobs import Act, PlannedStep
from blockful_py.errors import BlockfulError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedFile
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import batches
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.journaled_sends import Decided, settlement_of
from blockful_py.pipeline.jobs.unstore import missing_files, unstore
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.review.shared_pools import shared_after
from blockful_py.pipeline.review.statements import chosen_references, renewed_references, retrained_privacy
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Progress, Silent, Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, Redaction, sign_statement
from blockful_py.record.request import Request
from blockful_py.record.statement_parts import SharedPart, SpotCheck
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Uri


@dataclass(slots=True)
class RedactionOutcome:
    """The outcome of a redaction: the new nodes by name, and the transactions."""

    nodes: dict[str, ModelNode] = field(default_factory=dict)
    executed: list[Executed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Disclosed:
    """An owner's sealed disclosure of a training, and the entry for it in the node."""

    sealed: SealedFile
    said: SpotCheck


@dataclass(slots=True)
class _Stored:
    """The new versions of one decision stored so far; their weights are only in the store."""

    subject: str
    decision: int | None = None
    nodes: dict[str, ModelNode] = field(default_factory=dict)
    keys: dict[Uri, bytes] = field(default_factory=dict)
    cids: list[str] = field(default_factory=list)


class Redactor:
    """Carries out one decision of the committee: one or many models under one certificate."""

    def __init__(self, context: FederationContext, counter: Counter, stopwatch: Stopwatch) -> None:
        self._context = context
        self._session = context.session(counter)
        self._counter = counter
        self._stopwatch = stopwatch
        self._executor = context.executor(stopwatch)

    def replace(
        self,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        request: Request,
        signed_by_owner: Collection[str],
        chosen: Mapping[str, Sequence[ScoredModel]] = MappingProxyType({}),
        handed_in: Mapping[str, ModelNode] = MappingProxyType({}),
        progress: Progress | None = None,
        disclosures: Mapping[str, Disclosed] = MappingProxyType({}),
        untrained: Collection[str] = (),
        parts: Mapping[str, SharedPart] = MappingProxyType({}),
    ) -> RedactionOutcome:
        """Replaces the models in `new` and `handed_in`, all under one certificate.

        A job must be open; its journal holds each step.  The replaced versions' files stay until it ends.

        Args:
            new: read once per model, a few models at a time just before they are stored.
            signed_by_owner: models whose owners made the new weights and sign a new statement.
            handed_in: nodes that their owners made elsewhere, whose files are in the live store.
            chosen: references that owners chose again, best first, by model.
            disclosures: by model.
            untrained: models that are the mean of their references' new weights.
            parts: of shared sums that owners dealt anew, by model.
        """
        names = tuple(dict.fromkeys((*handed_in, *new)))
        stored, shown = _Stored(", ".join(names)), progress or Silent()
        nodes, coordinator = stored.nodes, self._session.coordinator

        def decide() -> Decided[CertifiedRedaction]:
            replacements = [
                Replacement(catalogue[name].position, file_uri(node.to_bytes()))
                for name, node in nodes.items()
            ]
            draft = self._session.proposer.redaction(replacements, self._context.clock.now())
            with shown.stage("review by the committee", coordinator.members, "members") as advance:
                certified = coordinator.certify_redaction(draft, lambda: advance(1))
            self._counter.certified(draft)
            forget, contracts = erased(catalogue, nodes), self._context.contracts
            settlement = settlement_of(contracts, certified, f"unlearn {stored.subject}", forget)
            return Decided(certified, settlement, coordinator.excluded.told())

        try:
            if handed_in:
                with self._stopwatch("store"):
                    self._store(catalogue, handed_in, (), stored)
            for some in batches(new, self._context.setup.form.size):
                with self._stopwatch("unlearn"):
                    weights = {name: new[name] for name in some}
                made = self.make(
                    catalogue, weights, request, signed_by_owner, disclosures, chosen, untrained, parts
                )
                with self._stopwatch("store"):
                    made_nodes = {name: node for name, (_, node) in made.items()}
                    disclosed = [disclosures[name].sealed for name in made if name in disclosures]
                    self._store(catalogue, made_nodes, [file for file, _ in made.values()], stored, disclosed)
            with self._stopwatch("store"):
                (keys,) = self._context.journal.plan([PlannedStep(Act.KEYS, stored.subject)], stored.decision)
                with self._context.journal.taking(keys):
                    self._context.keys.give(stored.keys)
                    if disclosures:  # auditors must not see samples
                        keys_of = {each.sealed.uri: each.sealed.key for each in disclosures.values()}
                        self._context.keys.keyring.deliver(keys_of)
            with self._stopwatch("certify"):
                certified, execution = self._executor.certify(
                    keys.decision, stored.subject, coordinator.keepers, decide
                )
        except BaseException:
            with suppress(BlockfulError):  # resuming the job deletes the rest
                unstore(self._context.stores.live, self._context.keys, stored.cids)
            raise
        with shown.stage("replace on both chains", None):
            executed = self._executor.send(
                execution, lambda: coordinator.hand_over(certified), coordinator.release
            )
        return RedactionOutcome(nodes, list(executed))

    def make(
        self,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        request: Request,
        signed_by_owner: Collection[str],
        disclosures: Mapping[str, Disclosed] = MappingProxyType({}),
        chosen: Mapping[str, Sequence[ScoredModel]] = MappingProxyType({}),
        untrained: Collection[str] = (),
        parts: Mapping[str, SharedPart] = MappingProxyType({}),
    ) -> dict[str, tuple[SealedFile, ModelNode]]:
        """By model, the sealed new weights and the node, without storing them.

        Raises UnusableWeightsError for weights that members would refuse.
        """
        made, form = {}, self._context.setup.form
        for name, weights in new.items():
            form.require(weights, f"the new version of {name}")
        with self._stopwatch("audit"):
            left_out = {name: catalogue[name].node.removed_beside(request.classes) for name in new}
            again = [name for name in new if name in catalogue.with_weights]
            replaced = self._context.weights.read_each([catalogue[name].node.weights for name in again])
            before = dict(zip(again, replaced, strict=True))
            claims = measure(self._context.setup, new, request.classes, left_out, before)
            for name, weights in new.items():
                sealed = self._context.keys.seal(weights)
                redaction = Redaction(
                    version=catalogue[name].version + 1,
                    weights=cid_string(sealed.uri),
                    request=request,
                    claims=claims[name],
                    left_out=left_out[name],
                    spot_check=disclosures[name].said if name in disclosures else None,
                    untrained=name in untrained,
                    chosen_by=None if name in chosen else catalogue[name].node.chosen_by,
                    shared=parts.get(name) or shared_after(catalogue[name].node, request),
                )
                node = catalogue[name].node
                if name in signed_by_owner:
                    part = parts.get(name)
                    node = self._resigned(catalogue, name, weights, sealed, request, chosen.get(name), part)
                made[name] = sealed, node.model_copy(update={"redaction": redaction})
        return made

    def _store(
        self,
        catalogue: Catalogue,
        nodes: Mapping[str, ModelNode],
        sealed: Sequence[SealedFile],
        stored: _Stored,
        disclosed: Sequence[SealedFile] = (),
    ) -> None:
        """Adds weights and nodes to the live store, and the versions to be replaced to the archive's.

        A journaled step.  `sealed`: weights that are not in the live store yet; `disclosed`: disclosures.
        """
        live, archive = self._context.stores.live, self._context.stores.archive
        data = [node.to_bytes() for node in nodes.values()]
        uris = [*(file.uri for file in (*sealed, *disclosed)), *map(file_uri, data)]
        cids = missing_files(live, uris)
        planned = PlannedStep(Act.STORE, ", ".join(nodes), {"cids": cids})
        (step,) = self._context.journal.plan([planned], stored.decision)
        stored.decision = step.decision
        stored.cids += cids
        with self._context.journal.taking(step):
            live.add_each(
                chain((file.pieces() for file in (*sealed, *disclosed)), ((each,) for each in data))
            )
            for _ in sealed:
                self._counter.uploaded()
            replaced = (each for name in nodes for each in _files(catalogue[name]))
            archive.add_each(live.stream(uri, limit) for uri, limit in replaced if not archive.has(uri))
            self._context.hand_out(uris)
        stored.nodes.update(nodes)
        stored.keys.update((file.uri, file.key) for file in sealed)

    def _resigned(
        self,
        catalogue: Catalogue,
        name: str,
        weights: Weights,
        sealed: SealedFile,
        request: Request,
        chosen: Sequence[ScoredModel] | None,
        part: SharedPart | None,
    ) -> ModelNode:
        """The node with a new statement of the owner, about the new weights."""
        placed = catalogue[name]
        statement = placed.node.statement
        starts = [start.name for start in request.starts]
        affected = {*starts, *catalogue.graph.descendants(starts)}
        user = self._context.setup.user(statement.user)
        if chosen is None:
            references = renewed_references(statement, catalogue, affected)
        else:
            references = chosen_references(statement, catalogue, request, affected, chosen)
        changed = {
            "weights": cid_string(sealed.uri),
            "references": references,
            "accuracy": accuracy(self._context.setup.architecture, weights, user.test),
            "privacy": statement.privacy
            and retrained_privacy(statement, request, user, self._earlier(placed, request)),
            "increments": (),
            "shared": part or statement.shared,
            "created": self._context.clock.now(),
        }
        live = self._context.contracts.live
        secret = self._context.accounts.secret(statement.user)
        return sign_statement(statement.model_copy(update=changed), secret, live.chain_id, live.address)

    def _earlier(self, placed: PlacedNode, request: Request) -> tuple[Forget, ...]:
        return self._context.history.earlier_forgets([placed], request)[placed.node.name]


def _files(placed: PlacedNode) -> Iterator[tuple[Uri, int]]:
    """A version's node, and its weights if it has any, each with its maximum size in bytes."""
    yield placed.uri, MAX_NODE_BYTES
    for uri in placed.node.sealed[:1]:
        yield uri, MAX_SEALED_BYTES


def erased(catalogue: Catalogue, replaced: Mapping[str, ModelNode]) -> tuple[str, ...]:
    """CIDs of the replaced nodes, weights and increments that no model points to afterwards."""
    kept: set[Uri] = set()
    gone: set[Uri] = set()
    for name, placed in catalogue.models.items():
        uris = {placed.uri, *placed.node.sealed}
        if name in replaced:
            gone |= uris
            kept.update(replaced[name].sealed)
        else:
            kept |= uris
    return tuple(sorted(map(cid_string, gone - kept)))
