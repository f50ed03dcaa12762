# SPDX-License-Identifier: Apache-2.0
"""What settings must have to do with each other, beyond what each may be by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.pipeline.settings import (
        CommitteeSettings,
        FederationSettings,
        LearningSettings,
        Settings,
        StorageSettings,
    )


def check(settings: Settings) -> None:
    """Raises SettingsError, saying what to change, for the first rule that is broken."""
    _check_committee(settings.committee)
    _check_storage(settings.storage)
    _check_learning(settings.learning)
    _check_federation(settings.federation)


def _check_committee(committee: CommitteeSettings) -> None:
    if committee.shares > committee.size:
        raise SettingsError(
            f"committee.threshold is {committee.shares}, more than its {committee.size} members: "
            "lower the threshold or raise committee.size."
        )
    listed = len(committee.members)
    expected = committee.size if committee.roster != "appointed" else 0
    enough = listed >= expected if committee.roster == "elected" else listed == expected
    if len(set(committee.members)) != listed or not enough:
        raise SettingsError(
            f"committee.members lists {listed} URLs, {expected} different are expected: roster "
            "'services' has one for each of committee.size members, roster 'elected' may have more to "
            "choose from, roster 'appointed' has none."
        )
    if committee.roster == "elected":
        _check_election(committee)


def _check_election(committee: CommitteeSettings) -> None:
    """What Committee's constructor and its `confirmKey` ask for."""
    rules, size = committee.election, committee.size
    if committee.unanimous:
        raise SettingsError("an elected committee decides by quorum: leave committee.unanimous out.")
    least, most = (size - 1) // 3 + 1, committee.quorum
    if not least <= committee.shares <= most:
        raise SettingsError(
            f"committee.threshold is {committee.shares}; for an elected committee of {size} it is from "
            f"{least}, more than may be faulty, to {most}, the quorum."
        )
    if (
        (rules.minimum or 1) > size
        or size > min(100, rules.max_candidates)
        or rules.forfeit > rules.min_stake
    ):
        raise SettingsError(
            f"committee.election does not fit a committee of {size}: committee.size is at least `minimum` "
            "and at most `max_candidates` and 100, and `forfeit` is at most `min_stake`."
        )


def _check_storage(storage: StorageSettings) -> None:
    apis = (storage.api, storage.archive_api)
    if apis != (None, None) and (None in apis or apis[0] == apis[1]):
        raise SettingsError(
            "give storage.api and storage.archive_api, of two different nodes, or neither: deleting a "
            "live model must not touch the archive's."
        )


def _check_learning(learning: LearningSettings) -> None:
    if learning.increments and learning.privacy is not None:
        raise SettingsError(
            "learning.increments would spend the privacy of the samples once more for every increment: "
            "leave it out where learning.privacy is set."
        )
    if learning.clean_references and not learning.increments:
        raise SettingsError(
            "learning.clean_references says what learning.increments start from: name classes there too."
        )


def _check_federation(federation: FederationSettings) -> None:
    if (federation.scenario == "scripted") != (federation.graph is not None):
        raise SettingsError(
            "federation.graph belongs to scenario 'scripted' and to no other: give both or neither."
        )
    if federation.scenario == "paper14" and federation.users != 14:
        raise SettingsError(
            f"scenario 'paper14' has 14 users, not {federation.users}: "
            "leave federation.users at 14, or choose scenario 'organic'."
        )
