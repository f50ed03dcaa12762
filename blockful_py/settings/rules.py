# SPDX-License-Identifier: Apache-2.0
"""Rules that relate several settings to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from blockful_py.names import name_fault
from blockful_py.settings.committee import CommitteeSettings
from blockful_py.settings.learning import LearningSettings, TrainingSettings
from blockful_py.settings.sections import (
    EngineSettings,
    FederationSettings,
    StorageSettings,
    UnlearningSettings,
)

PAPER14_USERS = 14
RETRAINING = ("retrain", "retrain_ahead", "clean_line")
"""Methods with a setting `references`."""
ANALYTIC = "analytic"
"""The model of sums over samples."""
SHARED = "shared"
"""Its option, which `learning.shares_sums` sets."""
LEAST_SHARING = 4
"""Members of whom 2 share sums, and one may lie: `3t - 2`."""
MERGED = "merged"
"""The model of sums of separately trained parts."""
SUMS = (ANALYTIC, MERGED)
NOT_SUMMED = ("root_factor", "increments", "clean_references")
NOT_MERGED = ("trainer", "increments", "clean_references")
SUMMED = ("auto", "subtract")
"""Methods for models of sums."""
_ACCOUNT = re.compile("0x[0-9a-f]{40}")


def broken_rules(
    federation: FederationSettings,
    learning: LearningSettings,
    unlearning: UnlearningSettings,
    committee: CommitteeSettings,
    storage: StorageSettings,
    engine: EngineSettings,
) -> Iterator[str]:
    """Yields a sentence for every broken rule, with the change to make."""
    yield from broken_scenario(federation)
    yield from _learning(learning)
    yield from _sums(learning, unlearning, committee)
    yield from _unlearning(unlearning)
    yield from _references(unlearning, federation, learning)
    yield from _adopted(federation, committee)
    yield from _committee(committee)
    yield from _storage(storage)
    yield from broken_engine(engine)


def broken_scenario(federation: FederationSettings) -> Iterator[str]:
    """The rules of the scenario, which learning checks too."""
    users, rounds, graph = federation.users, federation.rounds, federation.graph
    if (federation.scenario == "scripted") != (graph is not None):
        yield "federation.graph belongs to scenario 'scripted' and to no other: give both or neither."
    elif graph is not None and (users != len(graph) or rounds != 1):
        yield (
            f"scenario 'scripted' needs a graph with one model for each of the {users} users, and 1 round; "
            f"it has {len(graph)} models and {rounds} rounds."
        )
    yield from (f"federation.graph: {fault}." for name in graph or () if (fault := name_fault(name)))
    yield from (
        f"federation.parties: {fault}."
        for name in federation.parties.values()
        if (fault := name_fault(name, "party"))
    )
    if federation.scenario == "paper14" and (users != PAPER14_USERS or rounds != 1):
        yield (
            f"scenario 'paper14' has 14 users and 1 round, not {users} and {rounds}: leave federation.users "
            "and federation.rounds out, or choose scenario 'organic'."
        )


def _learning(learning: LearningSettings) -> Iterator[str]:
    if learning.increments and learning.privacy is not None:
        yield (
            "learning.increments would spend the privacy of the samples once more for every increment: "
            "leave it out where learning.privacy is set."
        )
    if learning.trainer is not None and (learning.increments or learning.privacy is not None):
        yield (
            "learning.trainer trains on data that is not here, so neither learning.increments nor "
            "learning.privacy can be applied: leave them out."
        )
    if learning.clean_references and not learning.increments:
        yield "learning.clean_references only changes the start of learning.increments: name classes there."


def _adopted(federation: FederationSettings, committee: CommitteeSettings) -> Iterator[str]:
    if federation.is_adopted and committee.roster == "elected":
        yield (
            "federation.scenario 'adopted' has one adopter, and committee.roster 'elected' many "
            "participants: take roster 'appointed' or 'services'."
        )


def _sums(
    learning: LearningSettings, unlearning: UnlearningSettings, committee: CommitteeSettings
) -> Iterator[str]:
    """The settings that mean nothing to models of sums, or are not built for them."""
    analytic = learning.model == ANALYTIC
    named = [each for each in ("shares_sums", "reveals_samples") if getattr(learning, each)]
    if named and not analytic:
        yield (
            f"learning.{named[0]} is about the sums of learning.model 'analytic', and other models "
            "have none: leave it out."
        )
    if learning.model not in SUMS:
        return
    if analytic:
        yield from _sums_of_machines(learning, committee)
    usual = LearningSettings()
    unused = (*(phi.name for phi in fields(TrainingSettings)), *NOT_SUMMED) if analytic else NOT_MERGED
    changed = [f"learning.{name}" for name in unused if getattr(learning, name) != getattr(usual, name)]
    changed += [
        f"unlearning.{name}"
        for name in ("alpha", "epsilon", "references")
        if getattr(unlearning, name) != getattr(UnlearningSettings(), name)
    ]
    if changed:
        yield (
            f"{', '.join(changed)} mean nothing to learning.model {learning.model!r}, which adds "
            f"{'samples up and does not train' if analytic else 'up what owners train'}: leave them out."
        )
    for key in ("parallel", "sequential"):
        method = getattr(unlearning, key)
        if method not in SUMMED and ":" not in method:
            yield (
                f"unlearning.{key} {method!r} changes the weights of networks, and learning.model "
                f"{learning.model!r} has sums: choose subtract, or leave it 'auto'."
            )


def _sums_of_machines(learning: LearningSettings, committee: CommitteeSettings) -> Iterator[str]:
    """The settings that say who sees the sums."""
    if SHARED in learning.options:
        yield f"learning.options has {SHARED!r}: say learning.shares_sums = true instead."
    if learning.shares_sums and (learning.reveals_samples or committee.roster != "elected"):
        yield (
            "learning.shares_sums has the members of a federation of machines (committee.roster 'elected') "
            "open heads of sums that nobody sees: leave it out of a laboratory, and beside "
            "learning.reveals_samples."
        )
    if learning.shares_sums and committee.size < LEAST_SHARING:
        yield (
            f"learning.shares_sums needs {LEAST_SHARING} members, so that liars are found, and "
            f"committee.size is {committee.size}: name more."
        )
    if committee.roster == "elected" and not (learning.reveals_samples or learning.shares_sums):
        yield (
            "learning.model 'analytic' shows its sums, and with them its samples, to members and readers: "
            "share them among the members (learning.shares_sums = true), choose a network, or say that the "
            "owners agree to that (learning.reveals_samples = true)."
        )


def _unlearning(unlearning: UnlearningSettings) -> Iterator[str]:
    for key, values in (("starts", unlearning.starts), ("classes", unlearning.classes)):
        if not values:
            yield f"unlearning.{key} is empty: name at least one."


def _references(
    unlearning: UnlearningSettings, federation: FederationSettings, learning: LearningSettings
) -> Iterator[str]:
    if unlearning.references == "kept":
        return
    if federation.scenario != "organic" or learning.trainer is not None:
        yield (
            "unlearning.references = 'chosen again' repeats eq. 1 on test data that are here: it needs "
            "federation.scenario 'organic' and no learning.trainer. Otherwise leave it 'kept'."
        )
    for key in ("parallel", "sequential"):
        method = getattr(unlearning, key)
        if method not in RETRAINING and method != "auto" and ":" not in method:
            yield (
                f"unlearning.{key} {method!r} does not train models from their references, so it cannot "
                f"choose them again: take {', '.join(RETRAINING)}, or leave unlearning.references 'kept'."
            )


def _committee(committee: CommitteeSettings) -> Iterator[str]:
    if committee.shares > committee.size:
        yield (
            f"committee.threshold is {committee.shares}, more than its {committee.size} members: "
            "lower the threshold or raise committee.size."
        )
    listed = len(committee.members)
    expected = committee.size if committee.roster != "appointed" else 0
    enough = listed >= expected if committee.roster == "elected" else listed == expected
    if len(set(committee.members)) != listed or not enough:
        yield (
            f"committee.members lists {listed} URLs, {expected} different are expected: roster "
            "'services' has one for each of committee.size members, roster 'elected' may have more to "
            "choose from, roster 'appointed' has none."
        )
    if committee.roster == "elected":
        yield from _election(committee)


def _election(committee: CommitteeSettings) -> Iterator[str]:
    """Requirements of Committee's constructor and its `confirmKey`."""
    rules, size = committee.election, committee.size
    if committee.unanimous:
        yield "an elected committee decides by quorum: leave committee.unanimous out."
    least, most = (size - 1) // 3 + 1, committee.quorum
    if not least <= committee.shares <= most:
        yield (
            f"committee.threshold is {committee.shares}; for an elected committee of {size} it is from "
            f"{least}, more than may be faulty, to {most}, the quorum."
        )
    founders = {each.lower() for each in rules.founders}
    if any(not _ACCOUNT.fullmatch(each) for each in founders):
        yield "committee.election.founders lists accounts, each 0x and 40 hexadecimal digits."
    elif len(founders) != len(rules.founders) or 0 < len(founders) < (rules.minimum or min(4, size)):
        yield (
            f"committee.election.founders lists {len(founders)} accounts: at least `minimum` different ones "
            "are needed to elect the first committee, or none to leave it to everybody."
        )
    if (
        (rules.minimum or 1) > size
        or size > min(100, rules.max_candidates)
        or rules.forfeit > rules.min_stake
    ):
        yield (
            f"committee.election does not fit a committee of {size}: committee.size is at least `minimum` "
            "and at most `max_candidates` and 100, and `forfeit` is at most `min_stake`."
        )


def _storage(storage: StorageSettings) -> Iterator[str]:
    apis = (storage.api, storage.archive_api)
    if apis != (None, None) and (None in apis or apis[0] == apis[1]):
        yield (
            "give storage.api and storage.archive_api, of two different nodes, or neither: deleting a "
            "live model must not touch the archive's."
        )


def broken_engine(engine: EngineSettings) -> Iterator[str]:
    """The rules of the engine, which experiments check too."""
    if (engine.kind == "ray") != (engine.address is not None):
        yield (
            "engine.address is host:port of the head of a Ray cluster and belongs to engine.kind 'ray': give "
            "both or neither."
        )
    if engine.workers is not None and engine.kind != "processes":
        yield "engine.workers counts local processes: leave it out unless engine.kind is 'processes'."
