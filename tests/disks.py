# SPDX-License-Identifier: Apache-2.0
"""A disk of a few megabytes, to be filled."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A separate file system at a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fills the disk completely."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 9, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError as error:
                    assert error.errno == errno.ENOSPC
        try:
            yield
        finally:
            filler.unlink()


@contextmanager
def small_disk(folder: Path, mebibytes: int = 16) -> Iterator[SmallDisk]:
    """Puts the content of `folder` on a separate disk for a while; needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder.with_name(f"{folder.name}.beside")
    shutil.copytree(folder, beside, symlinks=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        shutil.rmtree(beside)
        pytest.skip("only root can mount a disk")
    try:
        shutil.copytree(beside, folder, symlinks=True, dirs_exist_ok=True)
        yield SmallDisk(folder)
    finally:
        shutil.rmtree(beside)
        shutil.copytree(folder, beside, symlinks=True)
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        shutil.copytree(beside, folder, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(beside)
