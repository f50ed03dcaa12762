# SPDX-License-Identifier: Apache-2.0
"""The models that a folder, a registry or a list has, before they are compared with the record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath

from blockful_py.errors import FormatError
from blockful_py.graph.kinds import EdgeKind
from blockful_py.record.adopted import LONGEST, MAX_DATASETS, MAX_EDGES, AdoptedEdge, AdoptedFile
from blockful_py.record.fields import canonical_json
from blockful_py.types import Bytes32


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model as it was found; fields as `record.adopted.Adopted`.

    Attributes:
        digests: SHA-256 by tensor's name, or by file's name for a file whose tensors are not read.
    """

    source: str
    edges: tuple[AdoptedEdge, ...] = ()
    datasets: tuple[str, ...] = ()
    merge_method: str | None = None
    quantisation: str | None = None
    files: tuple[AdoptedFile, ...] = ()
    digests: Mapping[str, Bytes32] = field(default_factory=dict)
    licence: str | None = None

    @property
    def description(self) -> str:
        """SHA-256 of all that was read of the model, in hexadecimal."""
        document = {
            "source": self.source,
            "edges": [each.model_dump(mode="json") for each in self.edges],
            "datasets": self.datasets,
            "merge_method": self.merge_method,
            "files": [each.model_dump(mode="json") for each in self.files],
            "digests": {name: digest.hex() for name, digest in self.digests.items()},
            "licence": self.licence,
            **({} if self.quantisation is None else {"quantisation": self.quantisation}),
        }
        return sha256(canonical_json(document)).hexdigest()

    @property
    def speaks_for(self) -> str | None:
        """The hub's account that the model is of, by its name "account/model"."""
        account, slash, _ = self.source.rpartition("/")
        return account if slash and account else None


@dataclass(frozen=True, slots=True)
class Found:
    """The models that were found, and the others.

    Attributes:
        models: in order of their sources' names.
        refused: why a model cannot be adopted, by source.
        notes: warnings about adopted models.
    """

    models: tuple[FoundModel, ...]
    refused: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def edges_of(parents: Iterable[tuple[str, EdgeKind, float | None]]) -> tuple[AdoptedEdge, ...]:
    """One edge for each parent, in the given order; the first naming of a parent counts.

    Raises FormatError for a name that is empty or too long, or for too many parents.
    """
    found: dict[str, AdoptedEdge] = {}
    for parent, kind, weight in parents:
        if parent not in found:
            found[parent] = AdoptedEdge(
                parent=require_short(parent, "parent"), kind=kind.value, weight=weight
            )
    if len(found) > MAX_EDGES:
        raise FormatError(f"it names {len(found)} parents, at most {MAX_EDGES} are adopted.")
    return tuple(found.values())


def datasets_of(names: Iterable[str]) -> tuple[str, ...]:
    """Names of data sets in the order of a statement.  Raises FormatError as `edges_of`."""
    found = tuple(sorted({require_short(name, "data set") for name in names}))
    if len(found) > MAX_DATASETS:
        raise FormatError(f"it names {len(found)} data sets, at most {MAX_DATASETS} are adopted.")
    return found


def require_short(name: str, of: str) -> str:
    """A name without spaces at its ends.  Raises FormatError if it is empty, too long or not printable."""
    name = name.strip()
    if not 1 <= len(name) <= LONGEST or not name.isprintable():
        raise FormatError(f"the name of a {of} has 1 to {LONGEST} printable characters: {name[:40]!r}.")
    return name


def last_part(name: str) -> str:
    """The model's name without the account or the folders before it."""
    return PurePosixPath(name.replace("\\", "/").rstrip("/")).name
