# SPDX-License-Identifier: Apache-2.0
"""Reviews the statements of new versions that a redaction proposes."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from blockful_py.committee.proposals import Target
from blockful_py.errors import EarlyError, LearningError, RefusedError
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.selection import Selection
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.ledger.protocols import LiveLedger
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.review.statements import chosen_references, renewed_references
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, Redaction
from blockful_py.record.request_state import RequestStanding
from blockful_py.storage.cid import parse_cid


@dataclass(frozen=True, slots=True)
class Proposed:
    """A target with its new node."""

    target: Target
    node: ModelNode
    redaction: Redaction


class NewStatements:
    """A member's review: owners sign new statements, which change no more than a request lets them."""

    def __init__(self, live: LiveLedger, setup: TrainingSetup) -> None:
        self._live = live
        self._setup = setup

    def review(self, proposed: Proposed, catalogue: Catalogue, affected: AbstractSet[str]) -> None:
        """Checks a node's statement against the current one's.  Raises RefusedError.

        `affected`: the models that its request affects.
        """
        node, target = proposed.node, proposed.target
        signer = node.signer(self._live.chain_id, self._live.address)
        require(signer == target.owner, f"model {node.name} is not signed by its owner")
        current = catalogue[node.name].node.statement
        request = proposed.redaction.request
        removed = catalogue[node.name].node.removed_beside(request.classes)
        require(
            proposed.redaction.left_out == removed,
            f"model {node.name} leaves out classes {list(proposed.redaction.left_out)} of AD_r, its record "
            f"says {list(removed)}",
        )
        chosen_by = None if request.chooses_again else catalogue[node.name].node.chosen_by
        require(
            proposed.redaction.chosen_by == chosen_by,
            f"model {node.name} names another request as the one by which it chose its references",
        )
        if request.chooses_again and not node.is_withdrawn:
            self._check_choice(proposed, catalogue, affected)
        else:
            places = [reference.place() for reference in node.statement.references]
            kept = [reference.place() for reference in current.references]
            require(sorted(places) == sorted(kept), f"model {node.name} lists other references")
        require(
            (node.statement.training, node.statement.samples, node.statement.auditors)
            == (current.training, current.samples, current.auditors),
            f"model {node.name} states another recipe of training, or other samples or auditors",
        )
        if node.statement != current and not request.chooses_again:
            renewed = renewed_references(current, catalogue, affected)
            for stated, asked in zip(node.statement.references, renewed, strict=True):
                require(
                    stated.version == asked.version,
                    f"model {node.name} was trained from version {stated.version} of {stated.name}, which is "
                    f"at version {asked.version}",
                )
            require(
                node.statement.references == renewed,
                f"model {node.name} states accuracies of references that are replaced, or others than before",
            )
        require(
            catalogue[node.name].position == target.position and proposed.redaction.version == target.version,
            f"model {node.name} is proposed for another place or version",
        )

    def _check_choice(self, proposed: Proposed, catalogue: Catalogue, affected: AbstractSet[str]) -> None:
        """Requires a new signed statement that names as many candidates as eq. 1 chooses.

        Nobody else has the owner's test data, so its scores, and thereby which candidates are best, are its
        word, as at publication.
        """
        node, name = proposed.node, proposed.node.name
        require(
            parse_cid(node.statement.weights) == node.weights,
            f"model {name} chose references again, and its owner has not signed the new weights",
        )
        chosen = [ScoredModel(each.name, each.accuracy) for each in node.statement.in_use]
        selection = Selection.of(self._setup.federation)
        if selection is None:
            raise RefusedError("eq. 1 did not choose this federation's references")
        try:
            candidates = selection.candidates(name, catalogue.with_weights)
        except LearningError as error:
            raise RefusedError(str(error)) from None
        strangers = sorted({each.name for each in chosen} - set(candidates))
        require(not strangers, f"model {name} chose {', '.join(strangers)}, which it had not drawn")
        least = min(self._setup.federation.scenario.references, len(candidates))
        require(
            least <= len(chosen) <= max(least, selection.forced(name)),
            f"model {name} chose {len(chosen)} references, eq. 1 chooses {least}",
        )
        current = catalogue[name].node.statement
        expected = chosen_references(current, catalogue, proposed.redaction.request, affected, chosen)
        require(
            {*node.statement.references} == {*expected} and len(node.statement.references) == len(expected),
            f"model {name} states its references otherwise than it chose them",
        )


def require_order(proposed: Sequence[Proposed], status: RequestStanding) -> None:
    """Checks that new versions come after new versions of their references.

    Raises RefusedError unless a parallel decision takes the newest parts, from which the parts below start,
    and EarlyError while a reference has yet to answer a sequential request.
    """
    names = [each.node.name for each in proposed]
    if not status.is_parallel:
        waiting = sorted({*names} - {*status.after_references(names)})
        if waiting:
            raise EarlyError(f"references of {', '.join(waiting)} are still to answer the request")
        return
    parts = status.newest_parts
    others = sorted(each.node.name for each in proposed if each.target.uri != parts.get(each.node.name))
    require(not others, f"the parts of {', '.join(others)} are not the ones that were handed in")
