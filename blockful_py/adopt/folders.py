# SPDX-License-Identifier: Apache-2.0
"""Reads folders of models as the Hugging Face hub, PEFT and mergekit write them; loads no weights."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from blockful_py.adopt import hub_cache
from blockful_py.adopt.cards import (
    adapter_base,
    front_matter,
    merge_recipe,
    names_in,
    quantisation_in,
    relation_in,
)
from blockful_py.adopt.found import Found, FoundModel, datasets_of, edges_of, last_part, require_short
from blockful_py.adopt.gguf import gguf_type
from blockful_py.adopt.tensor_files import (
    GGUF,
    INDEX,
    OPAQUE,
    PICKLED,
    adopted_file,
    shards_of,
    tensor_digests,
    whole_digest,
)
from blockful_py.errors import BlockfulError, FormatError
from blockful_py.graph.kinds import EdgeKind
from blockful_py.record.adopted import LONGEST, MAX_FILES, SAFETENSORS
from blockful_py.types import Bytes32

CARD, CONFIG, ADAPTER = "README.md", "config.json", "adapter_config.json"
RECIPES = ("mergekit_config.yml", "mergekit_config.yaml")
MARKERS = frozenset({CONFIG, ADAPTER, *RECIPES})
MAX_FOLDERS = 1_000_000


def read_folder(root: Path, each: Callable[[int], object] = lambda done: None) -> Found:
    """The models in a folder and its subfolders, by the relative path of each; `each` counts them.

    A folder is a model if it has a card with front matter, a configuration, or weights; folders below it are
    not searched.  Of the hub's cache, each repository's snapshot of "main" is a model.

    Raises FormatError if `root` is no folder.
    """
    if not root.is_dir():
        raise FormatError(f"{root} is no folder: name the folder that has the models.")
    root = root.resolve()
    models, refused, notes = list[FoundModel](), dict[str, str](), list[str]()
    for folder, files in _model_folders(root, notes):
        repository = hub_cache.repository_of(folder)
        source = folder.relative_to(root).as_posix() if folder != root else root.name
        if repository is not None:
            source = hub_cache.name_of(repository)
        try:
            name, inside = require_short(source, "model"), repository or root
            models.append(_ModelFolder(inside, folder, files, name, notes).read())
        except BlockfulError as error:
            refused[source] = str(error)
        except (OSError, ValueError) as error:
            refused[source] = f"it cannot be read ({str(error)[:120]})."
        each(1)
    return Found(tuple(models), refused, tuple(notes))


def _model_folders(root: Path, notes: list[str]) -> Iterator[tuple[Path, list[str]]]:
    """Folders of models with the names of their files, in order of their paths."""
    for visited, (at, folders, files) in enumerate(os.walk(root), start=1):
        if visited > MAX_FOLDERS:
            raise FormatError(f"{root} has more than {MAX_FOLDERS} folders: name one with fewer.")
        folder = Path(at)
        for name in sorted(folders):
            if (folder / name).is_symlink():
                notes.append(f"{folder.relative_to(root) / name} is a link to a folder, and is left out")
        folders[:] = sorted(
            name for name in folders if not (name.startswith(".") or hub_cache.is_other(folder / name))
        )
        if hub_cache.is_snapshots(folder):
            chosen = hub_cache.current(folder, folders)
            if chosen is None:
                notes.append(f"{folder.relative_to(root)} has several snapshots and no main: name one")
            folders[:] = [] if chosen is None else [chosen]
            continue
        if _is_model(folder, files):
            inner = [name for name in folders if _has_weights(folder / name)]
            if inner and folder != root:
                notes.append(f"{folder.relative_to(root)} has weights below it, not read: {', '.join(inner)}")
            if folder != root or not inner:
                folders.clear()
            yield folder, sorted(files)


def _is_model(folder: Path, files: list[str]) -> bool:
    if MARKERS.intersection(files) or any(_is_weights(name) for name in files):
        return True
    if CARD not in files:
        return False
    with (folder / CARD).open("rb") as card:
        return card.read(8).removeprefix(b"\xef\xbb\xbf").startswith(b"---")


def _is_weights(name: str) -> bool:
    return Path(name).suffix in {SAFETENSORS, *OPAQUE, *PICKLED}


def _has_weights(folder: Path) -> bool:
    return folder.is_dir() and any(_is_weights(path.name) for path in folder.iterdir())


class _ModelFolder:
    """One model's folder."""

    def __init__(self, root: Path, folder: Path, files: list[str], source: str, notes: list[str]) -> None:
        self._root, self._folder, self._source, self._notes = root, folder, source, notes
        self._files = [name for name in files if self._is_inside(name)]

    def read(self) -> FoundModel:
        """The model.  Raises FormatError for files that cannot be adopted."""
        card: dict[str, Any] = front_matter(self._folder / CARD) if CARD in self._files else {}
        method, parents = self._parents(card)
        weights = self._weights()
        digests = self._digests(weights)
        licence = card.get("license")
        return FoundModel(
            source=self._source,
            edges=edges_of(parents),
            datasets=datasets_of(names_in(card, "datasets")),
            merge_method=method,
            quantisation=self._quantisation(),
            files=tuple(adopted_file(self._folder / name) for name in weights),
            digests=digests,
            licence=require_short(licence, "licence") if isinstance(licence, str) else None,
        )

    def _is_inside(self, name: str) -> bool:
        """Whether a file is a file, and a link leads to one below the root.  Raises FormatError if not."""
        path = self._folder / name
        if path.is_symlink() and not path.resolve().is_relative_to(self._root):
            raise FormatError(f"{name} is a link that leads out of the folder: copy the file.")
        return path.is_file()

    def _parents(self, card: dict[str, Any]) -> tuple[str | None, list[tuple[str, EdgeKind, float | None]]]:
        """Merge method and parents; an adapter's configuration and a merge's recipe precede the card."""
        stated, bases = relation_in(card), names_in(card, "base_model")
        recipe = next((name for name in RECIPES if name in self._files), None)
        if recipe is not None:
            method, parents = merge_recipe(self._folder / recipe)
            return method, [(self._named(name), kind, weight) for name, kind, weight in parents]
        if ADAPTER in self._files:
            base = self._named(adapter_base(self._folder / ADAPTER))
            if bases and last_part(base) not in map(last_part, bases):
                raise FormatError(
                    f"its card names {', '.join(bases)} and its {ADAPTER} {base}: an adapter has one base; "
                    "correct one of them."
                )
            return None, [(bases[0] if bases and "/" not in base else base, EdgeKind.ADAPTER, None)]
        kind = stated or self._kind(bases)
        return None, [(self._named(base), kind, None) for base in bases]

    def _kind(self, bases: tuple[str, ...]) -> EdgeKind:
        """The kind of a card's parents that it does not state, by the hub's rule."""
        if len(bases) > 1:
            return EdgeKind.MERGE
        return EdgeKind.FINE_TUNE if self._quantisation() is None else EdgeKind.QUANTISE

    def _quantisation(self) -> str | None:
        """How its weights were quantised, by its configuration, else by the headers of its GGUF files."""
        stated = quantisation_in(self._folder / CONFIG) if CONFIG in self._files else None
        types = {gguf_type(self._folder / name) for name in self._files if name.endswith(GGUF)}
        return stated or ", ".join(sorted(types))[:LONGEST] or None

    def _named(self, parent: str) -> str:
        """The parent's source; a path to a folder below the root becomes the path from the root."""
        for start in (self._folder, self._root):
            place = (start / parent).resolve()
            if place.is_dir() and (repository := hub_cache.repository_of(place)) is not None:
                return hub_cache.name_of(repository)
            if place.is_dir() and place.is_relative_to(self._root) and place != self._folder:
                return place.relative_to(self._root).as_posix()
        return last_part(parent) if parent.startswith((".", "/")) else parent

    def _weights(self) -> list[str]:
        """Names of the files of weights, all shards there.  Raises FormatError."""
        tensors = [name for name in self._files if name.endswith(SAFETENSORS)]
        opaque = [name for name in self._files if Path(name).suffix in OPAQUE]
        pickled = [name for name in self._files if Path(name).suffix in PICKLED]
        if pickled and not (tensors or opaque):
            raise FormatError(
                f"its weights are pickled ({', '.join(pickled[:3])}), and loading them may run code of "
                "theirs: convert them to safetensors."
            )
        if pickled:
            self._notes.append(f"{self._source}: {', '.join(pickled[:3])} is left out, it may run code")
        for index in (name for name in self._files if name.endswith(INDEX)):
            missing = sorted(set(shards_of(self._folder / index).values()) - set(tensors))
            if missing:
                raise FormatError(f"shards are missing: {', '.join(missing[:3])}. Fetch the model again.")
        if len(tensors) + len(opaque) > MAX_FILES:
            raise FormatError(f"it has more than {MAX_FILES} files of weights.")
        return sorted([*tensors, *opaque])

    def _digests(self, weights: list[str]) -> dict[str, Bytes32]:
        """Digests by tensor, all where the index says.  Raises FormatError."""
        found: dict[str, Bytes32] = {}
        for name in weights:
            if not name.endswith(SAFETENSORS):
                found[name] = whole_digest(self._folder / name)
                continue
            digests = tensor_digests(self._folder / name)
            twice = sorted(found.keys() & digests)
            if twice and not self._has_index():
                digests = {f"{name}/{tensor}": digest for tensor, digest in digests.items()}
            elif twice:
                raise FormatError(f"tensor {twice[0][:80]!r} is in two shards: fetch the model again.")
            found |= digests
        for index in (name for name in self._files if name.endswith(INDEX)):
            lost = sorted(shards_of(self._folder / index).keys() - found)
            if lost:
                raise FormatError(f"no shard has tensor {lost[0][:80]!r}, which {index} names.")
        return found

    def _has_index(self) -> bool:
        return any(name.endswith(INDEX) for name in self._files)
