# SPDX-License-Identifier: Apache-2.0
"""Computes again, from the files of its references, an adopted model that states to be computed from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory

from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.adapters import AdaptedTensors
from blockful_py.learning.computed import (
    TensorOf,
    linear_merge,
    origin,
    quantised,
    task_arithmetic,
    tensor_digest,
)
from blockful_py.learning.stored_tensors import StoredTensors, opened_tensors
from blockful_py.learning.weights import Weights
from blockful_py.ledger.protocols import Store
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.record.adopted import Adopted, AdoptedFile, MergedPart
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri


class ComputedModels:
    """Repeats computations tensor by tensor; fetches files by their CIDs into a temporary folder."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._repeated: set[Uri] = set()

    def review(self, node: ModelNode, digests: Weights, catalogue: Catalogue) -> None:
        """Requires the model's files and digests to follow from its references' files, bit for bit.

        `digests`: by tensor, as the model's sealed file has them (`learning.digests`).  Raises RefusedError.
        """
        adopted = node.statement.adopted
        if adopted is None or adopted.computed is None or node.weights in self._repeated:
            return
        with refusing(f"model {node.name}"), TemporaryDirectory() as folder, ExitStack() as files:
            parents = [self._adopted(each.name, catalogue) for each in node.statement.references]
            size = sum(file.size for each in (adopted, *parents) for file in each.files)
            free = disk_usage(folder).free
            require(size < free, f"it and its parents have {size:,} bytes, and {free:,} are free here")
            sources = [
                files.enter_context(self._fetched(each.files, Path(folder, str(number))))
                for number, each in enumerate(parents)
            ]
            own = files.enter_context(self._fetched(adopted.files, Path(folder, "own")))
            require(own.keys() == digests.keys(), f"model {node.name} has other tensors than digests")
            tensor = computed(adopted, sources, own.types)
            for name, digest in digests.items():
                expected, stored = tensor_digest(tensor(name)), tensor_digest(own[name])
                same = expected == stored == bytes(digest.tolist())
                require(same, f"model {node.name} has another {name} than its parents' files give")
        self._repeated.add(node.weights)

    @staticmethod
    def _adopted(name: str, catalogue: Catalogue) -> Adopted:
        placed = catalogue[name]
        adopted = placed.node.statement.adopted
        if adopted is None or not adopted.files or placed.node.is_withdrawn:
            raise FormatError(f"its reference {name} has no files to compute from.")
        return adopted

    @contextmanager
    def _fetched(self, files: tuple[AdoptedFile, ...], folder: Path) -> Iterator[StoredTensors]:
        """The tensors in files of the store, read one by one.  Raises as `stream`, or FormatError."""
        folder.mkdir()
        paths = [folder / str(number) for number in range(len(files))]
        for path, each in zip(paths, files, strict=True):
            with path.open("wb") as stream:
                for piece in self._store.stream(parse_cid(each.cid), each.size):
                    stream.write(piece)
        with opened_tensors(paths) as tensors:
            yield tensors


def computed(adopted: Adopted, sources: Sequence[Weights], form: Mapping[str, str]) -> TensorOf:
    """Gives the tensors of a model by name, as its statement and the references' tensors give them.

    `form`: types by name.  Raises LearningError, here or when a tensor is computed.
    """
    how = adopted.computed
    if how is None:
        raise LearningError("it states no computation.")
    if adopted.is_quantised:
        _require_names({*map(origin, form)}, sources)
        return lambda name: quantised(name, form, sources[0], how.dtype)
    named = {edge.parent: source for edge, source in zip(adopted.edges, sources, strict=True)}
    parts = [_part(each, named) for each in adopted.parts]
    weights = [each.weight for each in adopted.parts]
    if adopted.is_task_arithmetic:
        base = next(named[each.parent] for each in adopted.edges if each.weight is None)
        _require_names({*form}, [base, *parts])
        return lambda name: task_arithmetic(
            base[name], [each[name] for each in parts], weights, how.normalise, how.factor, how.dtype
        )
    _require_names({*form}, parts)
    return lambda name: linear_merge([each[name] for each in parts], weights, how.normalise, how.dtype)


def _part(part: MergedPart, named: Mapping[str, Weights]) -> Weights:
    base = named[part.model]
    return base if part.adapter is None else AdaptedTensors(base, named[part.adapter], part.scale)


def _require_names(names: set[str], sources: Sequence[Weights]) -> None:
    odd = sorted(name for each in sources for name in {*each} ^ names)
    if odd:
        raise LearningError(f"tensor {odd[0][:80]!r} is not in it and all of its parents.")
