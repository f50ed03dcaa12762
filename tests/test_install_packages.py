# SPDX-License-Identifier: Apache-2.0
"""Installation of packages by `make`: uv with pip's configuration, pip as a fallback, and torch.

Without an NVIDIA driver, torch comes without CUDA.
"""

from __future__ import annotations

import runpy
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "install_packages.py"))
LISTING = r"""
:env:.find-links='/one /two'
global.cert='/certificates.pem'
global.extra-index-url='\nhttps://a.example/simple\nhttps://b.example/simple'
global.find-links='/three'
install.index-url='https://c.example/simple'
global.index-url='https://d.example/simple'
list.format='columns'
"""


def test_what_pip_is_configured_with_becomes_options_of_uv() -> None:
    settings = SCRIPT["configured"](LISTING)
    assert SCRIPT["as_options"](settings) == [
        *("--default-index", "https://c.example/simple"),
        *("--index", "https://a.example/simple", "--index", "https://b.example/simple"),
        *("--find-links", "/one", "--find-links", "/two"),
    ]
    assert settings["cert"] == "/certificates.pem"
    assert SCRIPT["as_options"](SCRIPT["configured"]("")) == []


class Machine:
    """An environment whose `pip`, and a PATH whose `uv`, record their calls."""

    def __init__(self, folder: Path) -> None:
        self.environment, self.path = folder / "venv", folder / "path"
        self._calls = folder / "calls"
        self.script = ""
        (self.environment / "bin").mkdir(parents=True)
        self.path.mkdir()
        self._calls.touch()
        (folder / "listing").write_text(LISTING)
        self._listing = f'if [ "$1" = config ]; then cat {folder / "listing"}; exit; fi'
        self.program(self.environment / "bin" / "pip", self._listing)

    def program(self, place: Path, script: str) -> None:
        place.write_text(f'#!/bin/sh\n{script}\necho "{place.name} $* $SSL_CERT_FILE" >>{self._calls}\n')
        place.chmod(0o700)

    def pip_brings_uv(self) -> None:
        made = self.environment / "bin" / "uv"
        self.program(made, "")
        made.rename(made.with_suffix(".kept"))
        move = f'case "$*" in *uv.lock.txt*) mv {made}.kept {made};; esac'
        self.program(self.environment / "bin" / "pip", f"{self._listing}\n{move}")

    def calls(self, name: str) -> list[str]:
        """The programs that were called to install a requirement file."""
        SCRIPT["install"](self.environment, Path(name))
        return self._calls.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("PATH", f"{made.path}:/usr/bin:/bin")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    return made


def test_uv_of_the_path_installs_by_hashes_what_a_lock_file_lists(machine: Machine) -> None:
    machine.program(machine.path / "uv", "")
    (call,) = machine.calls("some.lock.txt")
    assert call.startswith("uv pip install --no-deps --require-hashes -r some.lock.txt ")
    assert f"--python={machine.environment}/bin/python " in call
    assert " --find-links /one --find-links /two " in call
    assert call.endswith(" --index-strategy=unsafe-best-match /certificates.pem")


def test_pip_installs_uv_where_there_is_none(machine: Machine) -> None:
    machine.pip_brings_uv()
    first, second = machine.calls("some.lock.txt")
    assert first.startswith("pip install --no-deps --require-hashes -r ") and "uv.lock.txt" in first
    assert second.startswith("uv pip install --no-deps --require-hashes -r some.lock.txt ")


def test_pip_installs_all_where_uv_cannot_be_installed(machine: Machine) -> None:
    assert [call.split(" -qq")[0].split("/")[-1] for call in machine.calls("some.lock.txt")] == [
        "uv.lock.txt",
        "pip install --no-deps --require-hashes -r some.lock.txt",
    ]


def test_pip_goes_on_where_uv_fails(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    machine.program(machine.path / "uv", "exit 2")
    (call,) = machine.calls("some.lock.txt")
    assert call.startswith("pip install --no-deps --require-hashes -r some.lock.txt ")
    assert capfd.readouterr().out == "setup: uv failed, continuing with pip\n"


@pytest.fixture
def index() -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/torch/" else 404)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def of(monkeypatch: pytest.MonkeyPatch, function: Any, **names: Any) -> Any:
    """A function of the script with other values of its globals."""
    for name, value in names.items():
        monkeypatch.setitem(function.__globals__, name, value)
    return function


def test_torch_comes_without_cuda_where_no_driver_is_and_the_index_answers(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, index: str
) -> None:
    cpu_builds = of(monkeypatch, SCRIPT["cpu_builds"], has_nvidia_driver=lambda: False)
    assert cpu_builds(index) == [index]
    assert cpu_builds(f"{index}/nowhere") == []
    monkeypatch.setattr("sys.platform", "darwin")
    assert cpu_builds(index) == []
    monkeypatch.setattr("sys.platform", "linux")
    assert of(monkeypatch, cpu_builds, has_nvidia_driver=lambda: True)(index) == []
    of(monkeypatch, SCRIPT["install"], cpu_builds=lambda: [index])
    machine.program(machine.path / "uv", "")
    (call,) = machine.calls("torch.txt")
    assert f" --index={index} " in call and "--require-hashes" not in call and "--no-deps" not in call


@pytest.mark.parametrize(
    ("build", "driver", "said"),
    [
        (
            {"cuda": None, "__version__": "2.13.0+cpu"},
            False,
            "torch 2.13.0+cpu, without CUDA (no NVIDIA driver was",
        ),
        (
            {"cuda": "13.0", "__version__": "2.13.0"},
            True,
            "torch 2.13.0, with CUDA 13.0 (an NVIDIA driver was found)",
        ),
    ],
)
def test_it_is_said_which_torch_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Mapping[str, Any], driver: bool, said: str
) -> None:
    file = tmp_path / "lib" / "python3.11" / "site-packages" / "torch" / "version.py"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in build.items()))
    assert of(monkeypatch, SCRIPT["torch_build"], has_nvidia_driver=lambda: driver)(tmp_path).startswith(said)
