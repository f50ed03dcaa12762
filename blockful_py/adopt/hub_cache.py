# SPDX-License-Identifier: Apache-2.0
"""The layout of the Hugging Face hub's cache: a folder for each repository, with files as links to blobs.

    models--ORG--NAME/refs/main             the revision that "main" was at
    models--ORG--NAME/snapshots/REVISION/   its files, links to ../../blobs

Source: https://huggingface.co/docs/huggingface_hub/guides/manage-cache.
"""

from __future__ import annotations

from pathlib import Path

MODELS, OTHERS, SNAPSHOTS = "models--", ("datasets--", "spaces--"), "snapshots"
MAX_REVISION_BYTES = 256


def repository_of(folder: Path) -> Path | None:
    """The repository's folder that a snapshot is in; None for a folder that is no snapshot."""
    repository = folder.parent.parent
    is_snapshot = folder.parent.name == SNAPSHOTS and repository.name.startswith(MODELS)
    return repository if is_snapshot else None


def name_of(repository: Path) -> str:
    """The hub's name of a repository, such as "org/name"."""
    return repository.name.removeprefix(MODELS).replace("--", "/")


def is_other(folder: Path) -> bool:
    """Whether a folder is the repository of a data set or a space."""
    return folder.name.startswith(OTHERS) and (folder / SNAPSHOTS).is_dir()


def is_snapshots(folder: Path) -> bool:
    """Whether a folder has the snapshots of a model's repository."""
    return folder.name == SNAPSHOTS and folder.parent.name.startswith(MODELS)


def current(snapshots: Path, revisions: list[str]) -> str | None:
    """The snapshot of "main", or the only one; None if it cannot be told."""
    if len(revisions) == 1:
        return revisions[0]
    try:
        with (snapshots.parent / "refs" / "main").open("rb") as stream:
            main = stream.read(MAX_REVISION_BYTES).decode(errors="replace").strip()
    except OSError:
        return None
    return main if main in revisions else None


def folder_of(root: Path, source: str) -> Path:
    """The folder of a model below `root`: by its path, or by its name in the hub's cache."""
    repository = root / f"{MODELS}{source.replace('/', '--')}"
    snapshots = repository / SNAPSHOTS
    if (root / source).is_dir() or not snapshots.is_dir():
        return root / source
    return snapshots / (current(snapshots, sorted(each.name for each in snapshots.iterdir())) or "")
