# SPDX-License-Identifier: Apache-2.0
"""The data keys of a federation's weights: creation, delivery to members and auditors, withdrawal."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.keys.sealing import CommitteeKeyring, NewKey, SealedFile, seal_weights
from blockful_py.learning.weights import Weights
from blockful_py.types import Uri


@dataclass(frozen=True, slots=True, eq=False)
class WeightKeys:
    """The source of data keys, and the members and auditors that keep them.

    Attributes:
        new_key: makes a data key for weights.
        keyring: the committee's members.
        auditors: the archive's auditors.
    """

    new_key: NewKey
    keyring: CommitteeKeyring
    auditors: AuditorKeys

    def seal(self, weights: Weights) -> SealedFile:
        """Seals weights under a new data key, which no member has yet."""
        return seal_weights(weights, self.new_key)

    def give(self, keys: Mapping[Uri, bytes]) -> None:
        """Gives the data keys of sealed files to the members and to the archive's auditors.

        Raises QuorumError if too few members accept them, StorageError if the auditors' files cannot be
        written.
        """
        self.keyring.deliver(keys)
        self.auditors.wrap(keys)

    def withdraw(self, uris: Collection[Uri]) -> None:
        """Withdraws the keys of unpublished versions.  Raises as the members and stores do."""
        self.keyring.withdraw(uris)
        self.auditors.destroy_all(uris)
