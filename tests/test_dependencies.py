# SPDX-License-Identifier: Apache-2.0
"""Each `pyproject.toml` declares exactly the imports of its package, and a missing extra is one error."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from blockful_py.errors import MissingExtraError, SettingsError
from blockful_py.extras import EXTRA_OF, EXTRAS, needed_by

PROJECT = Path(__file__).parents[1]
OWN = {"blockful_py", "blockful_lab"}
NOT_RUN_TIME = {"all", "contracts", "demo", "dev", "docs"}
INDIRECT = {"multiaddr", "pyopenssl", "scikit-learn"}
"""Pinned for a package that imports it; left out by the package that imports it; read for a data file."""


@cache
def distributions() -> dict[str, str]:
    return {name: found[0] for name, found in packages_distributions().items()} | {"sha3": "safe-pysha3"}


def normal(requirement: str) -> str:
    """The name of a requirement's distribution, as PEP 503 compares it."""
    (name,) = re.findall(r"^[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(project: Mapping[str, Any]) -> dict[str, str]:
    """Extra of each distribution that is declared for run time; "" for the base install."""
    extras = project["optional-dependencies"]
    found = {normal(each): name for name in extras.keys() - NOT_RUN_TIME for each in extras[name]}
    return found | {normal(each): "" for each in project["dependencies"]}


def imported(folder: Path) -> Iterator[str]:
    """First word of every import that is neither the standard library's nor of this project."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            else:
                continue
            for name in (each.partition(".")[0] for each in names):
                if name not in sys.stdlib_module_names and name not in OWN:
                    yield name


def problems(project: Mapping[str, Any], names: set[str]) -> list[str]:
    """Undeclared imports, and declared packages that are not imported."""
    known = declared(project)
    used = {normal(distributions().get(name, name)): name for name in names}
    unused = known.keys() - used.keys() - INDIRECT
    return [
        *(f"{used[each]} is imported, {each} is not declared" for each in sorted(used.keys() - known.keys())),
        *(f"{each} is declared, nothing imports it" for each in sorted(unused)),
    ]


def _pinned(name: str) -> Iterator[str]:
    """Each requirement of a lock file, its hashes on the same line."""
    text = (PROJECT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        if line and not line.startswith("#"):
            yield line


def load(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    return document["project"]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return load(PROJECT)


@pytest.fixture(scope="module")
def lab() -> dict[str, Any]:
    return load(PROJECT / "lab")


def test_what_is_imported_is_declared_and_the_other_way_round(project: dict[str, Any]) -> None:
    assert problems(project, set(imported(PROJECT / "blockful_py"))) == []


def test_the_lab_imports_packages_that_it_or_its_extras_of_blockful_declare(
    project: dict[str, Any], lab: dict[str, Any]
) -> None:
    (product,) = (Requirement(each) for each in lab["dependencies"] if normal(each) == "blockful")
    extras = [each for extra in lab["optional-dependencies"].values() for each in extra]
    own = {normal(each) for each in (*lab["dependencies"], *extras)} - {"blockful"}
    brought = {name for name, extra in declared(project).items() if extra in {"", *product.extras}}
    used = {normal(distributions().get(name, name)) for name in imported(PROJECT / "lab" / "blockful_lab")}
    assert used - own - brought == set()
    assert own - used == set()
    assert own & brought == set()


def test_the_lab_needs_blockful_of_its_own_version_with_extras_that_exist(
    project: dict[str, Any], lab: dict[str, Any]
) -> None:
    lines = [
        *lab["dependencies"],
        *(each for extra in lab["optional-dependencies"].values() for each in extra),
    ]
    product = [Requirement(each) for each in lines if normal(each) == "blockful"]
    assert len(product) == 3
    for each in product:
        assert str(each.specifier) == f"=={project['version']}" == f"=={lab['version']}"
        assert each.extras <= project["optional-dependencies"].keys()


def test_an_import_without_declaration_and_a_declaration_without_import_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import json, blockful_py.types\nfrom . import b\n\ndef f():\n    from Crypto.Hash import keccak\n"
    )
    project = {
        "dependencies": ["rich>=13,<16"],
        "optional-dependencies": {"x": ["web3>=7"], "dev": ["pytest"], "all": ["blockful[x]"]},
    }
    assert problems(project, set(imported(tmp_path))) == [
        "Crypto is imported, pycryptodome is not declared",
        "rich is declared, nothing imports it",
        "web3 is declared, nothing imports it",
    ]


def test_extras_are_those_that_are_declared(project: dict[str, Any]) -> None:
    known = declared(project)
    assert {name: known[normal(distributions()[name])] for name in EXTRA_OF} == EXTRA_OF
    optional = {each for each, extra in known.items() if extra} - {"safe-pysha3"}
    assert {normal(distributions()[name]) for name in EXTRA_OF} == optional


def test_all_brings_every_extra(project: dict[str, Any]) -> None:
    ((whole,), extras) = project["optional-dependencies"]["all"], project["optional-dependencies"].keys()
    (named,) = re.findall(r"^blockful\[(.*)\]$", whole)
    assert set(named.split(",")) == extras - NOT_RUN_TIME


def test_the_lock_files_have_every_dependency(project: dict[str, Any], lab: dict[str, Any]) -> None:
    locked = {normal(line) for name in ("demo.lock", "lock", "torch") for line in _pinned(name)}
    assert declared(project).keys() - locked == set()
    assert declared(lab).keys() - {"blockful"} - locked == set()


def needed(project: Mapping[str, Any], extra: str) -> set[str]:
    """The distributions that an extra installs, according to the installed metadata."""
    found: set[tuple[str, str]] = set()
    waiting = [("blockful", extra)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        if name == "blockful":
            lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
        else:
            lines = requires(name) or []
        for each in map(Requirement, lines):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                waiting += [(normal(each.name), more) for more in ("", *each.extras)]
    return {name for name, _ in found} - {"blockful"}


def test_what_the_demo_needs_is_locked_apart_from_the_rest(project: dict[str, Any]) -> None:
    demo, rest, torch = ([normal(line) for line in _pinned(name)] for name in ("demo.lock", "lock", "torch"))
    assert needed(project, "demo") - {"torch"} == set(demo)
    assert torch == ["torch"]
    assert len({*demo, *rest, *torch}) == len(demo) + len(rest) + 1


@pytest.mark.parametrize("name", ["demo.lock", "lock", "brownie.lock", "symbolic.lock", "uv.lock"])
def test_each_line_of_a_lock_file_has_a_version_and_hashes(name: str) -> None:
    lines = list(_pinned(name))
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==[\w.]+( --hash=sha256:[0-9a-f]{64})+", line), line[:80]


def test_npm_packages_are_locked_by_their_hashes_and_run_no_scripts() -> None:
    packages = json.loads((PROJECT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    unhashed = [name for name, each in packages.items() if name and not each.get("inBundle")]
    assert [name for name in unhashed if "integrity" not in packages[name]] == []
    for path in ("Makefile", "deploy/compose/Dockerfile", ".github/workflows/release.yml"):
        calls = re.findall(r"npm (?:ci|i|install)\b.*", (PROJECT / path).read_text(encoding="utf-8"))
        assert calls
        assert [each for each in calls if not re.match(r"npm ci .*--ignore-scripts", each)] == []


@pytest.mark.parametrize(("extra", "names"), EXTRAS.items())
def test_a_package_that_is_not_there_is_named_with_its_extra(extra: str, names: tuple[str, ...]) -> None:
    for name in names:
        with pytest.raises(MissingExtraError) as caught, needed_by("x"):
            raise ModuleNotFoundError(name=f"{name}.part")
        assert str(caught.value) == f"x needs the package {name}: pip install 'blockful[{extra}]'."
        assert isinstance(caught.value, SettingsError)


@pytest.mark.parametrize("name", [None, "json", "blockful_py.nothing"])
def test_any_other_import_error_is_left_as_it_is(name: str | None) -> None:
    with pytest.raises(ModuleNotFoundError), needed_by("x"):
        raise ModuleNotFoundError(name=name)


WITHOUT = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {sorted(EXTRA_OF)}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
"""


def without_extras(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.parametrize("command", ["train", "evaluate", "verify", "committee status", "unlearn"])
def test_a_command_without_its_extra_ends_with_one_error(tmp_path: Path, command: str) -> None:
    (tmp_path / "run.json").write_text("{}")
    words = [*command.split(), "--run", str(tmp_path if command != "train" else tmp_path / "made")]
    done = without_extras(f"from blockful_py.cli.main import main\nmain({words})")
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(
        r"error: `blockful [a-z ]+` needs the package \w+: pip install 'blockful\[(train|nodes)\]'\.\n",
        done.stderr,
    )


def test_help_and_version_need_no_extra() -> None:
    for words in (["--help"], ["--version"], ["train", "--help"], ["verify-proof", "--help"]):
        done = without_extras(f"from blockful_py.cli.main import main\nmain({words})")
        assert (done.returncode, done.stderr) == (0, "")


def test_a_name_of_the_package_that_needs_an_extra_says_so() -> None:
    done = without_extras("from blockful_py import Federation")
    assert "MissingExtraError: blockful_py.Federation needs the package" in done.stderr
    assert "pip install 'blockful[" in done.stderr.splitlines()[-1]
