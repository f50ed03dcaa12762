# SPDX-License-Identifier: Apache-2.0
"""The workflows have few permissions, run no exchangeable code, and publish a release's files."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".github" / "workflows"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
VERSIONED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
FROM_OUTSIDE = re.compile(r"\$\{\{")
EXTRA = {
    "attest": {"attestations", "id-token"},
    "images": {"attestations", "id-token", "packages"},
    "pypi": {"id-token"},
    "notes": {"contents"},
}
"""Write permissions of a job; all other jobs may only read."""
WITHOUT_CODE = {"attest", "pypi", "notes"}
"""Jobs without a checkout, so that no code of the project runs with their write permissions."""


def load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    document["on"] = document.pop(True)  # YAML 1.1 reads the key as a truth value
    return document


def steps(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step, with the name of its job."""
    for name, job in workflow["jobs"].items():
        yield from ((name, step) for step in job.get("steps", ()))


def problems(workflow: dict[str, Any]) -> list[str]:
    """Forbidden actions of a workflow."""
    found = [] if workflow.get("permissions") == {"contents": "read"} else ["permissions at the top"]
    for name, job in workflow["jobs"].items():
        writes = {each for each, level in job.get("permissions", {}).items() if level == "write"}
        found += [f"{name} may write {each}" for each in sorted(writes - EXTRA.get(name, set()))]
    for name, step in steps(workflow):
        action = step.get("uses", "")
        if action and not PINNED.fullmatch(action):
            found.append(f"{name}: {action} is not named by its commit")
        if action.startswith("actions/checkout@"):
            if step.get("with", {}).get("persist-credentials") is not False:
                found.append(f"{name} leaves its token in the checkout")
            if name in WITHOUT_CODE:
                found.append(f"{name} checks code out")
        if FROM_OUTSIDE.search(step.get("run", "")):
            found.append(f"{name} puts an expression into a shell command")
        for tool in re.findall(r"pipx run (?:--spec )?(\S+)", step.get("run", "")):
            if "==" not in tool:
                found.append(f"{name}: {tool} has no version")
    return found


@pytest.fixture(scope="module")
def release() -> dict[str, Any]:
    return load("release.yml")


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_may_do_little(name: str) -> None:
    assert problems(load(name)) == []


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_the_version_of_each_commit_is_told(path: Path) -> None:
    lines = [line.strip(" -") for line in path.read_text(encoding="utf-8").split("\n") if "uses: " in line]
    assert [line for line in lines if "@" in line and not VERSIONED.match(line)] == []


@pytest.mark.parametrize(
    ("job", "change", "found"),
    [
        ("build", {"permissions": {"contents": "write"}}, "build may write contents"),
        ("build", {"uses": "actions/checkout@v7"}, "build: actions/checkout@v7 is not named by its commit"),
        ("build", {"with": {}}, "build leaves its token in the checkout"),
        ("build", {"run": "echo ${{ github.ref }}"}, "build puts an expression into a shell command"),
        ("build", {"run": "pipx run build"}, "build: build has no version"),
        ("pypi", {"uses": f"actions/checkout@{'0' * 40}"}, "pypi checks code out"),
    ],
)
def test_too_much_is_found(release: dict[str, Any], job: str, change: dict[str, Any], found: str) -> None:
    changed = copy.deepcopy(release)
    (changed["jobs"][job] if "permissions" in change else changed["jobs"][job]["steps"][0]).update(change)
    assert found in problems(changed)


def test_ci_runs_what_must_pass_and_starts_every_image() -> None:
    workflow = load("ci.yml")
    assert {"pull_request", "workflow_call", "push"} == workflow["on"].keys()
    assert {"run": ".ci/run"} in workflow["jobs"]["tests"]["steps"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    (build,) = (step["run"] for _, step in steps(workflow) if "buildx build" in step.get("run", ""))
    assert set(re.findall(r"for target in (.*);", build)[0].split()) == stages() - {"base", "party"}


def test_a_tag_releases_what_ci_passed_and_nothing_before(release: dict[str, Any]) -> None:
    assert release["on"] == {"push": {"tags": ["v*"]}}
    jobs = release["jobs"]
    assert jobs["ci"] == {"uses": "./.github/workflows/ci.yml"}
    needs = {name: job.get("needs") for name, job in jobs.items()}
    assert needs == {
        "ci": None,
        "build": "ci",
        "attest": "build",
        "images": "build",
        "pypi": "attest",
        "notes": ["images", "pypi"],
    }
    assert jobs["pypi"]["environment"] == "pypi"
    assert "password" not in str(jobs["pypi"])


def test_images_are_those_of_the_dockerfile_and_carry_their_origin(release: dict[str, Any]) -> None:
    job = release["jobs"]["images"]
    assert set(job["strategy"]["matrix"]["target"]) == stages() - {"base", "party", "chain"}
    (push,) = (step["with"] for step in job["steps"] if step.get("id") == "push")
    assert push["provenance"] == "mode=max"
    assert push["sbom"] is True


def stages() -> set[str]:
    """Stages of the Dockerfile, without the building ones."""
    text = (ROOT / "deploy" / "compose" / "Dockerfile").read_text(encoding="utf-8")
    named = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE))
    return {name for name in named if not name.startswith("build-")}
