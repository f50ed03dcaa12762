# SPDX-License-Identifier: Apache-2.0
"""Scenarios: the user, the round and the possible references of every model.

`paper14` is scripted: 14 users with one model each, with starts r5 and r7, and r5 -> r6 -> r8 at growing
depth. The paper states this much, but its published source lacks the figure: the rest of the graph is our
reconstruction.  In `organic`, accuracy selects references (eq. 1) among the newest models.  A start that no
model has referenced is forced on the third model after it; otherwise the models that know the forgotten class
best would have no descendants.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from blockful_py.errors import SettingsError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.settings import FederationSettings, Settings
from blockful_py.settings.rules import broken_scenario
from blockful_py.settings.text import listed

PAPER14: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "r1": (),
        "r2": (),
        "r3": ("r1", "r2"),
        "r4": ("r1", "r2"),
        "r5": ("r1", "r3"),
        "r6": ("r5", "r7"),
        "r7": ("r2", "r4"),
        "r8": ("r6", "r9"),
        "r9": ("r5", "r7"),
        "r10": ("r5", "r6", "r9"),
        "r11": ("r8", "r10"),
        "r12": ("r7", "r9"),
        "r13": ("r3", "r4"),
        "r14": ("r11", "r13"),
    }
)
"""References by model.  Affected by r5 and r7: r6, r8 to r12, r14.  Untouched: r1 to r4, r13."""

FORCED_WITHIN = 3
"""Number of later models one of which must reference a start."""


@dataclass(frozen=True, slots=True)
class LastChance:
    """A start that a model must reference if none of the earlier models `others` has."""

    start: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A planned model.

    Attributes:
        user, round: counted from 1.
        references: scripted ones; None if eq. 1 selects them; empty for a root.
        pool: models that eq. 1 may draw from, oldest first.
        last_chances: starts that this model must reference unless an earlier one did.
    """

    name: str
    user: int
    round: int
    references: tuple[str, ...] | None
    pool: tuple[str, ...] = ()
    last_chances: tuple[LastChance, ...] = ()

    @property
    def is_root(self) -> bool:
        return self.references == ()

    @property
    def needs(self) -> frozenset[str]:
        """Models that must be published before this one can be trained."""
        names = self.pool if self.references is None else self.references
        chances = (name for chance in self.last_chances for name in (chance.start, *chance.others))
        return frozenset({*names, *chances})


Plan = tuple[tuple[ModelSpec, ...], ...]
"""Waves of models; each wave is published before the next is trained."""


def plan(settings: FederationSettings, starting_users: Collection[int] = ()) -> Plan:
    """The models of a federation in waves; `starting_users` own the starts.

    Raises SettingsError for numbers that do not fit the scenario, and CycleError, UnknownModelError or
    GraphError for an invalid graph.
    """
    broken = list(broken_scenario(settings))
    if broken:
        raise SettingsError(listed(broken))
    if settings.is_adopted:
        return ()
    if settings.scenario == "organic":
        return organic(settings, starting_users)
    return scripted(PAPER14 if settings.graph is None else settings.graph)


def without_users(waves: Plan, users: Collection[int], published: Collection[str]) -> Plan:
    """The plan without the unpublished models of the leaving `users`."""
    gone = {spec.name for wave in waves for spec in wave if spec.user in users} - set(published)

    return tuple(
        tuple(_among(spec, lambda name: name not in gone) for spec in wave if spec.name not in gone)
        for wave in waves
    )


def next_of(user: int, waves: Plan, published: Collection[str]) -> ModelSpec | None:
    """The user's first unpublished model; None if all are published."""
    specs = (spec for wave in waves for spec in wave if spec.user == user)
    return next((spec for spec in specs if spec.name not in published), None)


def from_those_there(spec: ModelSpec, published: Collection[str]) -> ModelSpec:
    """The spec restricted to published models: references, pool and forced starts."""
    references = spec.references
    there = None if references is None else tuple(name for name in references if name in published)
    return replace(_among(spec, published.__contains__), references=there)


def _among(spec: ModelSpec, stays: Callable[[str], bool]) -> ModelSpec:
    """The spec with pool and forced starts restricted to the models that stay."""
    return replace(
        spec,
        pool=tuple(filter(stays, spec.pool)),
        last_chances=tuple(
            LastChance(chance.start, tuple(filter(stays, chance.others)))
            for chance in spec.last_chances
            if stays(chance.start)
        ),
    )


def holders_of(settings: Settings) -> tuple[int, ...]:
    """Indices of the users that publish the starts of the settings' request, ascending; none if adopted.

    Raises SettingsError for a start that is not planned.
    """
    if settings.federation.is_adopted:
        return ()
    return tuple(sorted({starting_user(settings, name) for name in settings.unlearning.starts}))


def starting_user(settings: Settings, name: str) -> int:
    """Index of the user that publishes the model `name`.  Raises SettingsError for an unplanned name."""
    names = settings.federation.names
    if name not in names:
        raise SettingsError(
            f"there is no model {name!r} to start from: this federation publishes {names[0]} to {names[-1]}."
        )
    return names.index(name) % settings.federation.users + 1


def scripted(references: Mapping[str, tuple[str, ...]]) -> Plan:
    """Plan of a scripted graph, model i by user i.  Raises CycleError, UnknownModelError, GraphError."""
    graph = InheritanceGraph.from_references(references)
    user = {name: i for i, name in enumerate(references, start=1)}
    return tuple(
        tuple(ModelSpec(name, user[name], 1, tuple(references[name])) for name in wave)
        for wave in graph.waves()
    )


def organic(settings: FederationSettings, starting_users: Collection[int]) -> Plan:
    """Plan with selection by eq. 1: model i by user (i - 1) mod users + 1; the first wave holds the roots."""
    total = settings.users * settings.rounds
    owner = {f"r{i}": (i - 1) % settings.users + 1 for i in range(1, total + 1)}
    names = list(owner)
    chances = _last_chances(names, owner, settings.wave, starting_users)
    waves = []
    for first in range(0, total, settings.wave):
        window = names[max(0, first - settings.candidate_window) : first]
        waves.append(
            tuple(
                ModelSpec(
                    name=name,
                    user=owner[name],
                    round=(first + k) // settings.users + 1,
                    references=None if window else (),
                    pool=tuple(other for other in window if owner[other] != owner[name]),
                    last_chances=tuple(chances.get(name, ())),
                )
                for k, name in enumerate(names[first : first + settings.wave])
            )
        )
    return tuple(waves)


def _last_chances(
    names: list[str], owner: Mapping[str, int], wave: int, starting_users: Collection[int]
) -> dict[str, list[LastChance]]:
    """Last chances by model: the model is the last of the next three that can reference the start."""
    chances: dict[str, list[LastChance]] = {}
    for i, start in enumerate(names):
        if owner[start] in starting_users:
            first = (i // wave + 1) * wave
            able = [j for j in range(first, len(names)) if owner[names[j]] != owner[start]][:FORCED_WITHIN]
            if able:
                own_wave = able[-1] // wave * wave
                chance = LastChance(start, tuple(names[first:own_wave]))
                chances.setdefault(names[able[-1]], []).append(chance)
    return chances
