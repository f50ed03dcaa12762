# SPDX-License-Identifier: Apache-2.0
"""Computes withdrawn merges and quantised models again, from the parts that are left, into new folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from safetensors.torch import save_file

from blockful_py.adopt.adopted_sources import AdoptedSources
from blockful_py.adopt.cards import MAX_TEXT_BYTES, adapter_scale
from blockful_py.adopt.folders import ADAPTER, CARD, CONFIG, RECIPES, read_folder
from blockful_py.adopt.found import Found
from blockful_py.adopt.hub_cache import folder_of
from blockful_py.adopt.merge_recipe import TYPES, MergeRecipe, RecipePart, read_merge_recipe, recipe_text
from blockful_py.adopt.plan import AdoptionPlan, plan_adoption
from blockful_py.adopt.tensor_files import adopted_file, parsed_json
from blockful_py.errors import BlockfulError, FormatError
from blockful_py.graph.kinds import COMPUTED, EdgeKind
from blockful_py.learning.stored_tensors import StoredTensors, opened_tensors
from blockful_py.pipeline.review.computed import computed
from blockful_py.record.adopted import (
    SAFETENSORS,
    Adopted,
    AdoptedEdge,
    AdoptedFile,
    Computation,
    MergedPart,
)
from blockful_py.record.catalogue import Catalogue
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.interface import FileStore

WEIGHTS = "model.safetensors"
COPIED = (
    *(CONFIG, "generation_config.json", "tokenizer.json", "tokenizer.model", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "chat_template.jinja"),
)
"""Files without weights that a model takes over from its earlier version."""


@dataclass(frozen=True, slots=True)
class Recomputation:
    """Models that were computed again.

    Attributes:
        plan: their adoption, which states the computations.
        files: their files and their parents', by CID, for members to read.
        left: by withdrawn model, why it was not computed.
    """

    plan: AdoptionPlan
    files: Mapping[str, Path]
    left: Mapping[str, str]


def recompute(record: Catalogue, root: Path, into: Path) -> Recomputation:
    """Computes again the withdrawn models for which nobody's data is needed.

    `root`: the folder that was adopted; it is only read.  `into`: gets a folder for each model.
    Raises FormatError if `into` is below `root`, or `root` is no folder.
    """
    if not root.is_dir():
        raise FormatError(f"{root} is no folder: name the folder that has the models.")
    if into.resolve().is_relative_to(root.resolve()):
        raise FormatError(f"{into} is below {root}, whose files stay as they are: name another folder.")
    work = _Recomputing(record, root, into)
    for name in record.graph.topological_order():
        work.consider(name)
    return work.outcome()


class _Recomputing:
    def __init__(self, record: Catalogue, root: Path, into: Path) -> None:
        self._record, self._root, self._into = record, root, into
        self._current = AdoptedSources(record).current
        self._made: dict[str, Computation] = {}
        self._files: dict[str, Path] = {}
        self._left: dict[str, str] = {}

    def consider(self, name: str) -> None:
        """Computes a model if it is its source's newest version, withdrawn, and below a withdrawn one."""
        placed = self._record[name]
        adopted = placed.node.statement.adopted
        if adopted is None or not placed.node.is_withdrawn or self._current[adopted.source] != name:
            return
        parents = [self._record[each] for each in self._record.graph.references(name)]
        if not set(adopted.kinds) <= COMPUTED or not any(each.node.is_withdrawn for each in parents):
            return
        try:
            self._made[adopted.source] = self._compute(adopted)
        except BlockfulError as error:
            self._left[name] = str(error)

    def outcome(self) -> Recomputation:
        if not self._made:
            return Recomputation(AdoptionPlan(()), {}, self._left)
        found = read_folder(self._into)
        mine = tuple(each for each in found.models if each.source in self._made)
        plan = plan_adoption(Found(mine, found.refused, found.notes), self._record)
        stated = tuple(replace(each, computed=self._made.get(each.found.source)) for each in plan.models)
        return Recomputation(replace(plan, models=stated), self._files, self._left)

    def _compute(self, before: Adopted) -> Computation:
        """Writes the folder of a model; `before` is the withdrawn version's statement."""
        if not (self._into / before.source).resolve().is_relative_to(self._into.resolve()):
            raise FormatError(f"its name {before.source[:80]!r} leads out of {self._into}: make it by hand.")
        if before.kinds == (EdgeKind.QUANTISE,):
            return self._quantise(before)
        old = folder_of(self._root, before.source)
        recipe = next((p for each in RECIPES if (p := old / each).is_file()), None)
        if recipe is None:
            raise FormatError(f"{old} has no {RECIPES[0]}: make it again by hand.")
        read = read_merge_recipe(recipe)
        if [*read.weights.values()] != [each.weight for each in before.edges]:
            raise FormatError(f"{recipe} has changed since it was adopted: put the adopted one back.")
        sources = dict(zip(read.weights, (each.parent for each in before.edges), strict=True))
        return self._merge(before, read, sources)

    def _merge(self, before: Adopted, recipe: MergeRecipe, sources: Mapping[str, str]) -> Computation:
        """Merges the parts that are left; `sources`: the models by their names in the recipe."""
        named = [
            replace(each, model=sources[each.model], adapter=each.adapter and sources[each.adapter])
            for each in recipe.parts
        ]
        parts = tuple(each for each in named if all(map(self._stands, each.names)))
        left = replace(recipe, parts=parts)
        if recipe.base is not None and left.base is None:
            raise FormatError(
                f"its base {sources[recipe.base]}, from which its parts differ, was withdrawn: make it by "
                "mergekit from another."
            )
        if all(each.weight is None for each in parts):
            raise FormatError("no part of it is left.")
        edges = tuple(
            AdoptedEdge(parent=name, kind=EdgeKind.MERGE.value, weight=weight)
            for name, weight in left.weights.items()
        )
        with self._tensors_of(edges) as parents:
            dtype, adapted = recipe.dtype or _one_type(parents), any(each.adapter for each in parts)
            how = Computation(
                dtype=dtype,
                normalise=left.normalise,
                factor=left.factor,
                parts=tuple(map(self._stated, parts)) if adapted else (),
            )
            text = {RECIPES[0]: recipe_text(replace(left, dtype=dtype))}
            after = before.model_copy(update={"edges": edges, "computed": how})
            self._write(after, parents, dict.fromkeys(parents[0], dtype), text)
        return how

    def _stated(self, part: RecipePart) -> MergedPart:
        """A part with its adapter's scale, which no file of weights has."""
        if part.adapter is None:
            return MergedPart(model=part.model, weight=part.weight or 0.0)
        scale = adapter_scale(folder_of(self._root, part.adapter) / ADAPTER)
        return MergedPart(model=part.model, adapter=part.adapter, scale=scale, weight=part.weight or 0.0)

    def _quantise(self, before: Adopted) -> Computation:
        (edge,) = before.edges
        if not self._stands(edge.parent):
            raise FormatError(f"{edge.parent} was withdrawn, and there is no later version of it.")
        folder = folder_of(self._root, before.source)
        config = parsed_json(folder / CONFIG, MAX_TEXT_BYTES)
        how = Computation(dtype=_quantised_type(config))
        with self._tensors_of((edge,)) as parents, opened_tensors(_weights_in(folder)) as form:
            after = before.model_copy(update={"computed": how})
            self._write(after, parents, form.types, {})
        return how

    def _stands(self, source: str) -> bool:
        """Whether a source has a current version, or was made again here."""
        return source in self._made or self._current.get(source, "") in self._record.with_weights

    @contextmanager
    def _tensors_of(self, edges: tuple[AdoptedEdge, ...]) -> Iterator[list[StoredTensors]]:
        """The tensors of each parent, whose files are those on the record.  Raises FormatError."""
        with ExitStack() as opened:
            yield [opened.enter_context(opened_tensors(self._paths(each.parent))) for each in edges]

    def _paths(self, source: str) -> list[Path]:
        """The files of a source's current version, which are kept for the members."""
        if source in self._made:
            return _weights_in(self._into / source)
        adopted = self._record[self._current[source]].node.statement.adopted
        stated = () if adopted is None else adopted.files
        if not stated or any(not each.path.endswith(SAFETENSORS) for each in stated):
            raise FormatError(f"{source} has no safetensors files on the record.")
        places = (folder_of(at, source) for at in (self._root, self._into))
        paths = next((found for at in places if (found := _same_files(at, stated))), None)
        if paths is None:
            raise FormatError(f"{self._root / source} has other files than were adopted: bring those back.")
        self._files |= {each.cid: path for each, path in zip(stated, paths, strict=True)}
        return paths

    def _write(
        self, after: Adopted, parents: list[StoredTensors], form: Mapping[str, str], text: Mapping[str, str]
    ) -> None:
        """Writes weights, card and recipe; a folder of an interrupted run is taken as it is."""
        folder, old = self._into / after.source, folder_of(self._root, after.source)
        card = _card(after)
        if not folder.exists():
            tensor = computed(after, parents, form)
            partial = folder.with_name(f".{folder.name}.part")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            save_file({name: tensor(name) for name in form}, partial / WEIGHTS, metadata={"format": "pt"})
            for name in COPIED:
                if (old / name).is_file():
                    shutil.copyfile(old / name, partial / name)
            for name, content in {CARD: card, **text}.items():
                (partial / name).write_text(content, encoding="utf-8")
            partial.rename(folder)
        elif (folder / CARD).read_text(encoding="utf-8") != card:
            raise FormatError(f"{folder} is there already, with other parts: name another folder.")
        self._files[adopted_file(folder / WEIGHTS).cid] = folder / WEIGHTS


@contextmanager
def lent(store: FileStore, files: Mapping[str, Path]) -> Iterator[None]:
    """Has the store keep files while members read them; it keeps those longer that it had before."""
    missing = {cid: path for cid, path in files.items() if not store.has(parse_cid(cid))}
    try:
        for path in missing.values():
            with path.open("rb") as stream:
                store.add_stream(stream)
        yield
    finally:
        store.delete(*map(parse_cid, missing))


def _card(after: Adopted) -> str:
    """The card of a model that was computed: parents, kind, licence."""
    kind = "quantized" if after.is_quantised else "merge"
    said: dict[str, object] = {
        "base_model": [each.parent for each in after.edges],
        "base_model_relation": kind,
    }
    if after.licence:
        said["license"] = after.licence
    if after.merge_method is not None:
        said["tags"] = ["mergekit", "merge"]
    return "".join(["---\n", *(f"{key}: {json.dumps(value)}\n" for key, value in said.items()), "---\n"])


def _one_type(parents: list[StoredTensors]) -> str:
    types = {each for parent in parents for each in parent.types.values()}
    if len(types) != 1 or not types <= {*TYPES.values()}:
        raise FormatError(f"its parts have numbers of {', '.join(sorted(types))}, and its recipe no dtype.")
    return types.pop()


def _quantised_type(config: Mapping[str, object]) -> str:
    """The type to which a quantised model's tensors were rounded.  Raises FormatError for other forms."""
    form, dtype = config.get("quantization_config"), config.get("dtype") or config.get("torch_dtype")
    if isinstance(form, dict) and (form.get("quant_method"), form.get("load_in_8bit")) != (
        "bitsandbytes",
        True,
    ):
        raise FormatError(
            f"its quantisation ({str(form.get('quant_method'))[:20]}) is repeated by its tool, and not here."
        )
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise FormatError(f"its {CONFIG} has the dtype {str(dtype)[:20]}, which is not repeated here.")
    return TYPES[dtype]


def _weights_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{SAFETENSORS}"))


def _same_files(folder: Path, stated: tuple[AdoptedFile, ...]) -> list[Path] | None:
    """The files in a folder if they are the stated ones."""
    paths = [folder / each.path for each in stated]
    if all(path.is_file() for path in paths) and tuple(map(adopted_file, paths)) == stated:
        return paths
    return None
