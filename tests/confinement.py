# SPDX-License-Identifier: Apache-2.0
"""The network namespace and the user id of a test's process, as if on a separate machine.

Needs root: `require_root` and `require_namespaces` skip a test elsewhere, with the reason.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.forks import FORKS

NAMESPACES = Path("/run/netns")
TUN = Path("/dev/net/tun")
NEW_MOUNTS, NEW_NETWORK = 0x20000, 0x40000000  # CLONE_NEWNS, CLONE_NEWNET
BIND, RECURSIVE, PRIVATE = 1 << 12, 1 << 14, 1 << 18  # MS_BIND, MS_REC, MS_PRIVATE
VIEW = Path("/mnt")
"""A place to assemble the folder that replaces a closed one."""

_libc = ctypes.CDLL(None, use_errno=True)


def require_root() -> None:
    """Skips the test unless processes can have separate users."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("processes with users of their own need Linux and root: run the tests as root")


def require_namespaces() -> None:
    """Skips the test unless network namespaces with devices are available."""
    require_root()
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need the program `ip` (package iproute2)")
    name = f"blockful-{os.getpid()}-probe"
    made = ip("netns", "add", name, check=False)
    if made:
        pytest.skip(f"no network namespace can be made here: {made}")
    ip("netns", "delete", name)
    if not TUN.exists():
        pytest.skip(f"network namespaces are joined by TUN devices, and there is no {TUN}")


def ip(*arguments: str, check: bool = True) -> str:
    """Calls `ip`; returns its error, which is empty on success."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    reason = done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""
    assert not (check and reason), f"ip {' '.join(arguments)}: {reason}"
    return reason


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """A network namespace with a loopback interface and nothing else."""
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        ip("netns", "delete", name)


@contextmanager
def within(name: str | None) -> Iterator[None]:
    """Puts this thread's sockets, and the threads and processes it starts, into a namespace meanwhile."""
    if name is None:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        _join(NAMESPACES / name)
        try:
            yield
        finally:
            _checked(_libc.setns(before.fileno(), NEW_NETWORK))


@dataclass(frozen=True)
class Confinement:
    """A process's namespace and user; None means its parent's."""

    namespace: str | None = None
    user: int | None = None

    def enter(self) -> None:
        """Confines this process, for good."""
        if self.namespace is not None:
            _join(NAMESPACES / self.namespace)
        if self.user is not None:
            _open_interpreter()
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)
            os.umask(0o077)

    def own(self, path: Path) -> None:
        """Gives a file, or a folder with its content, to the user."""
        if self.user is not None:
            for each in (path, *path.rglob("*")):
                os.chown(each, self.user, self.user)


def confined(confinement: Confinement, what: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Calls `what` in a separate confined process; fails if it fails."""
    process = begin_confined(confinement, what, arguments)
    process.join()
    assert process.exitcode == 0, f"{what.__name__}{arguments}: exit status {process.exitcode}"


def begin_confined(
    confinement: Confinement, what: Callable[..., None], arguments: tuple[Any, ...]
) -> BaseProcess:
    """Starts a call like `confined`, without waiting for it."""
    process = FORKS.Process(target=_confined, args=(confinement, what, arguments))
    process.start()
    return process


def _confined(confinement: Confinement, what: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    confinement.enter()
    what(*arguments)


def _open_interpreter() -> None:
    """Lets every user read this interpreter, even in a folder that only its owner may enter.

    This process and its children see a replacement of that folder, for example root's home, which contains
    only the interpreter.
    """
    base = Path(sys.base_prefix).resolve()
    closed = next((each for each in reversed(base.parents) if not each.stat().st_mode & 0o001), None)
    if closed is None:
        return
    os.umask(0o022)
    _checked(_libc.unshare(NEW_MOUNTS))
    _mount("none", Path("/"), PRIVATE | RECURSIVE)
    _mount("tmpfs", VIEW, 0, b"mode=755")
    inner = VIEW / base.relative_to(closed)
    inner.mkdir(parents=True)
    _mount(str(base), inner, BIND)
    _mount(str(VIEW), closed, BIND | RECURSIVE)


def _mount(source: str, target: Path, flags: int, options: bytes = b"") -> None:
    kind = source.encode() if source == "tmpfs" else None
    _checked(_libc.mount(source.encode(), bytes(target), kind, ctypes.c_ulong(flags), options))


def _join(path: Path) -> None:
    with path.open("rb") as there:
        _checked(_libc.setns(there.fileno(), NEW_NETWORK))


def _checked(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
