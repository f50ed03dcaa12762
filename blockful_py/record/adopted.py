# SPDX-License-Identifier: Apache-2.0
"""Part of a statement on a model that was made elsewhere: its edges, its data sets, its files."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from blockful_py.graph.kinds import EdgeKind
from blockful_py.record.fields import Cid, Part

LONGEST = 256
"""Maximum characters of the name of a data set, a model or a file elsewhere."""
SAFETENSORS = ".safetensors"
MAX_EDGES = 1024
MAX_DATASETS = 1024
MAX_FILES = 4096
LINEAR = "linear"
"""The merge method that sums its parts by weight, in mergekit's word."""
TASK_ARITHMETIC = "task_arithmetic"
"""The merge method that adds its parts' differences from a base to it (Ilharco et al., 2023)."""
SLERP = "slerp"
"""The merge method that takes a point on the arc between two models."""

Elsewhere = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class AdoptedEdge(Part):
    """The parent of an adopted model, in the order of the statement's references.

    `parent`: its name where it was made.  `weight`: its weight in a merge, if the merge has one number.
    """

    parent: Elsewhere
    kind: str
    weight: float | None = Field(default=None, allow_inf_nan=False)

    @field_validator("kind")
    @classmethod
    def _is_a_kind(cls, kind: str) -> str:
        if kind not in set(EdgeKind):
            raise ValueError(f"an edge is one of {', '.join(EdgeKind)}, not {kind!r}")
        return kind

    @model_serializer(mode="wrap")
    def _leave_out_no_weight(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        return {name: each for name, each in document.items() if each is not None}


class AdoptedFile(Part):
    """A file of weights that stays where it is; `path` is relative to its model, `size` in bytes."""

    path: Elsewhere
    size: int = Field(ge=0, lt=1 << 63)
    cid: Cid


class MergedPart(Part):
    """A part of a linear merge, whose names are edges' parents.

    `model`: its tensors.  `adapter`: applied to them first, times `scale` (`learning.adapters`), if any.
    """

    model: Elsewhere
    adapter: Elsewhere | None = None
    scale: float = Field(default=1.0, allow_inf_nan=False)
    weight: float = Field(allow_inf_nan=False)


class Computation(Part):
    """How the weights follow from the references' files, which each member repeated before it signed.

    Attributes:
        dtype: the floating-point type to which all tensors are rounded first, by safetensors' name.
        normalise: of a merge: whether its sum is divided by the sum of its parts' weights.
        factor: of task arithmetic: times the sum of the differences from the base (mergekit's lambda).
        parts: of a merge in which a part has an adapter; of other merges each edge is a part.
    """

    dtype: str = Field(pattern=r"^(F64|F32|BF16|F16)$")
    normalise: bool = True
    factor: float = Field(default=1.0, allow_inf_nan=False)
    parts: tuple[MergedPart, ...] = Field(default=(), max_length=MAX_EDGES)

    @model_serializer(mode="wrap")
    def _leave_out_what_is_usual(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        usual = {
            name for name, is_usual in (("factor", self.factor == 1), ("parts", not self.parts)) if is_usual
        }
        return {name: each for name, each in document.items() if name not in usual}


class Adopted(Part):
    """The adopter's statement on a model that was made elsewhere.

    Attributes:
        source: its name there, such as "org/name".
        speaks_for: the party for which the adopter speaks, such as the hub's "org"; None for itself.
        edges: one for each reference.
        merge_method: such as "linear" or "ties", of a merge.
        quantisation: such as "gptq, 4 bits" or "GGUF Q4_K_M", of weights in fewer bits.
        datasets: names of the data sets that it was made with, in ascending order.
        files: its weights; empty for a model that is known by name alone.
        licence: as its card says.
        description: SHA-256 of all that the adopter read of it, files included, in hexadecimal.
        supersedes: the model on the record that it is a later version of.
        computed: of a merge or a quantised model that was computed again (`learning.computed`).
    """

    source: Elsewhere
    speaks_for: Elsewhere | None = None
    edges: tuple[AdoptedEdge, ...] = Field(default=(), max_length=MAX_EDGES)
    merge_method: Elsewhere | None = None
    quantisation: Elsewhere | None = None
    datasets: tuple[Elsewhere, ...] = Field(default=(), max_length=MAX_DATASETS)
    files: tuple[AdoptedFile, ...] = Field(default=(), max_length=MAX_FILES)
    licence: Elsewhere | None = None
    description: str = Field(pattern=r"^[0-9a-f]{64}$")
    supersedes: Elsewhere | None = None
    computed: Computation | None = None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        return {name: each for name, each in document.items() if each}

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if list(self.datasets) != sorted({*self.datasets}):
            raise ValueError("data sets are named once each, in ascending order")
        if self.computed is not None and not (
            self.is_linear_merge or self.is_task_arithmetic or self.is_quantised
        ):
            raise ValueError("what is computed is a merge with weights, or quantised from one model")
        if self.computed is not None and self.computed.factor != 1 and not self.is_task_arithmetic:
            raise ValueError("only task arithmetic has a factor")
        if self.computed is not None and self.computed.parts:
            named = {name for each in self.computed.parts for name in (each.model, each.adapter) if name}
            if not self.is_linear_merge or named != {each.parent for each in self.edges}:
                raise ValueError("the parts of what is computed are of its edges, and all of them")
        return self

    @property
    def parts(self) -> tuple[MergedPart, ...]:
        """The parts of a merge: the computation's, or a part for each edge with a weight."""
        stated = () if self.computed is None else self.computed.parts
        weighed = [(each.parent, each.weight) for each in self.edges if each.weight is not None]
        return stated or tuple(MergedPart(model=parent, weight=weight) for parent, weight in weighed)

    @property
    def is_linear_merge(self) -> bool:
        """Whether it is a linear merge, in which each part has a weight."""
        merged = set(self.kinds) == {EdgeKind.MERGE} and self.merge_method == LINEAR
        return merged and all(each.weight is not None for each in self.edges)

    @property
    def is_task_arithmetic(self) -> bool:
        """Whether it is task arithmetic: the edge without a weight is to the base."""
        merged = set(self.kinds) == {EdgeKind.MERGE} and self.merge_method == TASK_ARITHMETIC
        return merged and len(self.edges) > 1 and [each.weight for each in self.edges].count(None) == 1

    @property
    def needs(self) -> tuple[bool, ...]:
        """Of each edge, whether its parent is one without which the merge says nothing."""
        task = self.is_task_arithmetic
        return tuple(self.merge_method == SLERP or (task and each.weight is None) for each in self.edges)

    @property
    def is_quantised(self) -> bool:
        """Whether it is one model in fewer bits."""
        return self.kinds == (EdgeKind.QUANTISE,)

    @property
    def kinds(self) -> tuple[EdgeKind, ...]:
        """The kinds of its edges, in their order."""
        return tuple(EdgeKind(each.kind) for each in self.edges)
