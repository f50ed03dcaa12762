# SPDX-License-Identifier: Apache-2.0
"""Compares found models with the record: which are new, which have changed, which are refused and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count

from blockful_py.adopt.adopted_sources import AdoptedSources
from blockful_py.adopt.found import Found, FoundModel, last_part
from blockful_py.errors import FormatError
from blockful_py.names import LONGEST, name_fault
from blockful_py.record.adopted import Adopted, AdoptedEdge, Computation
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import canonical_json
from blockful_py.record.model_node import MAX_NODE_BYTES
from blockful_py.storage.bounds import MAX_DIGESTS_BYTES

DIGEST_BYTES = 128
"""Bytes of a digest and its entry in a header, without its name."""


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A model to publish.

    Attributes:
        name: on the record.
        parents: on the record, one for each edge.
        supersedes: the model on the record that it is a later version of.
        computed: how members compute its weights again, if they are to.
    """

    name: str
    found: FoundModel
    parents: tuple[str, ...]
    supersedes: str | None = None
    computed: Computation | None = None

    @property
    def adopted(self) -> Adopted:
        """Its part of the statement."""
        found = self.found
        return Adopted(
            source=found.source,
            speaks_for=found.speaks_for,
            edges=found.edges,
            merge_method=found.merge_method,
            quantisation=found.quantisation,
            datasets=found.datasets,
            files=found.files,
            licence=found.licence,
            description=found.description,
            supersedes=self.supersedes,
            computed=self.computed,
        )


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """The steps of an adoption.

    Attributes:
        models: to publish, parents first.
        absent: names of parents that are not there, which are published as models known by name alone.
        unchanged: names on the record of models that need nothing.
        refused: why a model is not adopted, by source.
        notes: warnings about adopted models.
    """

    models: tuple[PlannedModel, ...]
    absent: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def plan_adoption(found: Found, record: Catalogue) -> AdoptionPlan:
    """The plan of an adoption into a record; O(models + edges)."""
    return _Planning(found, record).plan()


class _Planning:
    def __init__(self, found: Found, record: Catalogue) -> None:
        self._sources = AdoptedSources(record)
        self._refused = dict(found.refused)
        self._notes = list(found.notes)
        self._found = {model.source: model for model in found.models}
        self._taken = set(record.models)

    def plan(self) -> AdoptionPlan:
        unchanged = self._leave_unchanged()
        self._refuse_known_files()
        parents = self._resolved()
        for source, reason in _cycles(parents).items():
            self._refuse(source, reason)
            del parents[source]
        order, absent = self._ordered(parents)
        planned = self._named(order, parents)
        names = tuple(each.name for each in planned if each.found.source in absent)
        return AdoptionPlan(
            planned, names, unchanged, dict(sorted(self._refused.items())), tuple(self._notes)
        )

    def _refuse(self, source: str, reason: str) -> None:
        self._found.pop(source, None)
        self._refused.setdefault(source, reason)

    def _leave_unchanged(self) -> tuple[str, ...]:
        """Takes out the models that the record has as they are, withdrawn or not; returns their names."""
        unchanged = []
        for source, model in [*self._found.items()]:
            name = self._sources.described(model)
            if name is not None:
                unchanged.append(name)
                del self._found[source]
        return tuple(unchanged)

    def _refuse_known_files(self) -> None:
        """Refuses models that a request took off the record, and two cards for the same files."""
        cards = dict(self._sources.by_files)
        for source, model in [*self._found.items()]:
            reason = self._sources.forgotten(model) or _too_large(model)
            cids = tuple(each.cid for each in model.files)
            other = cards.setdefault(cids, source) if cids else source
            if reason is None and other != source and other not in {each.parent for each in model.edges}:
                reason = f"it has the files of {other}: one model has one card; leave one of the two out."
            if reason is not None:
                self._refuse(source, reason)

    def _resolved(self) -> dict[str, tuple[str, ...]]:
        """AdoptedSources of the parents of each model, one for each of its edges."""
        known = {*self._found, *self._refused, *self._sources.current}
        by_last: dict[str, list[str]] = {}
        for source in known:
            by_last.setdefault(last_part(source), []).append(source)
        resolved = {}
        for source, model in [*self._found.items()]:
            edges: dict[str, AdoptedEdge] = {}
            for edge in model.edges:
                edges.setdefault(self._source_of(source, edge.parent, known, by_last), edge)
            if source in edges:
                self._refuse(source, "it names itself as its parent: correct its card.")
                continue
            resolved[source] = tuple(edges)
            self._found[source] = replace(model, edges=tuple(edges.values()))
        return resolved

    def _source_of(
        self, model: str, parent: str, known: Collection[str], by_last: Mapping[str, Sequence[str]]
    ) -> str:
        """The source that a card means by a parent: that name, or the one model of its last part."""
        if parent in known:
            return parent
        alike = [each for each in by_last.get(last_part(parent), ()) if "/" not in parent or "/" not in each]
        alike = [each for each in alike if each != model]
        if len(alike) > 1:
            listed = ", ".join(sorted(alike)[:3])
            self._notes.append(f"{model}: parent {parent} may be any of {listed}, and is taken for none")
        return alike[0] if len(alike) == 1 else parent

    def _ordered(self, parents: Mapping[str, tuple[str, ...]]) -> tuple[list[str], set[str]]:
        """Sources to publish, parents first, and those known by name alone; refuses heirs of withdrawn."""
        order: dict[str, None] = {}
        absent: set[str] = set()
        gone: set[str] = set()
        for root in sorted(self._found):
            stack = [(root, False)]
            while stack:
                source, is_left = stack.pop()
                if source in order or source in gone:
                    continue
                if source not in self._found:
                    if source not in self._sources.current:
                        self._found[source] = FoundModel(source)
                        absent.add(source)
                        order[source] = None
                    continue
                if not is_left:
                    stack.append((source, True))
                    stack += [(parent, False) for parent in parents.get(source, ())]
                    continue
                lost = [
                    each for each in parents.get(source, ()) if each in gone or self._is_gone(each, order)
                ]
                if lost:
                    self._refuse(source, f"its parent {lost[0]} was withdrawn: make it again from another.")
                    gone.add(source)
                else:
                    order[source] = None
        return [*order], absent

    def _is_gone(self, source: str, order: Collection[str]) -> bool:
        """Whether a parent was withdrawn, and no new version of it is to be published."""
        return source not in order and self._sources.is_withdrawn(source)

    def _named(
        self, order: Iterable[str], parents: Mapping[str, tuple[str, ...]]
    ) -> tuple[PlannedModel, ...]:
        names: dict[str, str] = dict(self._sources.current)
        planned = []
        for source in order:
            before = self._sources.current.get(source)
            names[source] = self._name(source, before)
            placed = tuple(names[parent] for parent in parents.get(source, ()))
            planned.append(PlannedModel(names[source], self._found[source], placed, before))
        return tuple(planned)

    def _name(self, source: str, before: str | None) -> str:
        """A free name on the record: "account--model", and ".v2" and so on for later versions."""
        plain = name_of(source)
        if before is None and plain not in self._taken:
            self._taken.add(plain)
            return plain
        marks = (f".v{number}" for number in count(2)) if before else (f"~{number}" for number in count(2))
        name = next(
            name for mark in marks if (name := plain[: LONGEST - len(mark)] + mark) not in self._taken
        )
        self._taken.add(name)
        return name


def name_of(source: str) -> str:
    """The model name of a source; a long or odd one is cut and gets a hash of the whole."""
    name = source.replace("/", "--").replace("\\", "--").lstrip(" .-")
    if name and name_fault(name) is None:
        return name
    mark = f"~{sha256(source.encode()).hexdigest()[:8]}"
    kept = "".join(letter for letter in name if letter.isprintable()).lstrip(" .-")
    return f"{kept[: LONGEST - len(mark)].rstrip()}{mark}"


def _too_large(model: FoundModel) -> str | None:
    """Why a model does not fit into a node; None if it does."""
    digests = sum(len(name.encode()) + DIGEST_BYTES for name in model.digests)
    node = len(canonical_json([each.model_dump() for each in (*model.files, *model.edges)]))
    node += sum(map(len, model.datasets))
    if digests > MAX_DIGESTS_BYTES or node > MAX_NODE_BYTES * 3 // 4:
        return "it has too many tensors, files or parents for a node of the record."
    return None


def _cycles(parents: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Why models on a cycle of parents, or between two cycles, are refused."""
    left = _without_ends(parents)
    heirs: dict[str, tuple[str, ...]] = dict.fromkeys(left, ())
    for source in left:
        for parent in parents[source]:
            if parent in left:
                heirs[parent] = (*heirs[parent], source)
    left = _without_ends(heirs)
    reasons = {}
    for source in sorted(left):
        path = [source]
        while len(path) < 4 and (above := [each for each in parents[path[-1]] if each in left]):
            path.append(above[0])
        reasons[source] = f"its parents form a cycle ({' of '.join(path)}): correct the cards."
    return reasons


def _without_ends(edges: Mapping[str, Collection[str]]) -> set[str]:
    """The models from which edges lead on without end (Kahn, 1962)."""
    into: dict[str, list[str]] = {}
    waiting = {source: len([each for each in there if each in edges]) for source, there in edges.items()}
    for source, there in edges.items():
        for each in there:
            into.setdefault(each, []).append(source)
    ready = [source for source, left in waiting.items() if not left]
    for source in ready:
        for each in into.get(source, ()):
            waiting[each] -= 1
            if not waiting[each]:
                ready.append(each)
    return waiting.keys() - set(ready)


def require_some(plan: AdoptionPlan) -> None:
    """Checks that a source had models.  Raises FormatError if it had none."""
    if not (plan.models or plan.unchanged or plan.refused):
        raise FormatError("no model was found there: name a folder of models, a CSV file, or mlflow:URI.")
