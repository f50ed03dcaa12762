# SPDX-License-Identifier: Apache-2.0
"""The adopted models of a record by their names elsewhere, and the withdrawn ones."""

from __future__ import annotations

from blockful_py.adopt.found import FoundModel
from blockful_py.record.catalogue import Catalogue


class AdoptedSources:
    """A record by sources.

    Attributes:
        current: the newest model of each source.
        by_files: source by the CIDs of a current model's files.
    """

    def __init__(self, record: Catalogue) -> None:
        self._record = record
        self.current: dict[str, str] = {}
        self.by_files: dict[tuple[str, ...], str] = {}
        self._described: dict[tuple[str, str], str] = {}
        self._forgotten: dict[str, str] = {}
        self._withdrawn_files: dict[str, str] = {}
        for name, placed in record.models.items():
            adopted, redaction = placed.node.statement.adopted, placed.node.redaction
            if adopted is None:
                continue
            self.current[adopted.source] = name
            self._described[adopted.source, adopted.description] = name
            cids = tuple(each.cid for each in adopted.files)
            if redaction is None:
                self.by_files.setdefault(cids, adopted.source)
                continue
            self._forgotten |= dict.fromkeys(redaction.request.datasets, name)
            self._withdrawn_files |= dict.fromkeys(cids, name)

    def described(self, model: FoundModel) -> str | None:
        """The version that the record has with the same description; None if it has none.

        A model known by name alone says nothing that a newer version does not.
        """
        return self._described.get((model.source, model.description))

    def is_withdrawn(self, source: str) -> bool:
        """Whether the newest model of a source was withdrawn."""
        name = self.current.get(source)
        return name is not None and name not in self._record.with_weights

    def forgotten(self, model: FoundModel) -> str | None:
        """Why a model may not come back after a request; None if it may come."""
        for each in model.files:
            if each.cid in self._withdrawn_files:
                name = self._withdrawn_files[each.cid]
                return (
                    f"its file {each.path} is of {name}, which was withdrawn: make it again without the data."
                )
        for name in model.datasets:
            if name in self._forgotten:
                return f"it names {name}, which a request made models forget: make it again without it."
        return None
