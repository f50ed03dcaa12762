# SPDX-License-Identifier: Apache-2.0
"""Every code block of the documentation is checked or run, and so are the names in its sentences."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.code_blocks import blocks, problems, program, prose_problems
from tests.documents import pages

ROOT = Path(__file__).resolve().parents[1]
QUOTES = ROOT / "docs" / "reference" / "paper-to-code.md"
"""Its blocks are single lines of the sources; `test_paper_to_code` checks that they are there."""
LONG = {
    "README.md",
    "docs/explanation/attacks.md",
    "docs/how-to/audit-language-models.md",
    "docs/how-to/audit-your-own-models.md",
    "docs/reference/unlearning.md",
}
"""Pages whose programs train a federation of the paper's size, or 16 to 64 models."""
ELSEWHERE = {
    "docs/how-to/train-language-models.md": "learning/test_language_page.py",
    "docs/how-to/export-to-hugging-face.md": "export/test_commands.py",
    "docs/how-to/hand-a-certificate-on.md": "export/test_commands.py",
    "docs/how-to/recall-a-model.md": "recall/test_loading.py",
    "docs/how-to/track-with-mlflow.md": "callbacks/test_mlflow.py",
    "docs/how-to/use-flower.md": "flower/test_documented.py",
    "docs/tutorial/your-own.md": "cli/test_wheel.py",
}
"""Pages whose programs need earlier files or commands, and the tests that run them so."""


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


PAGES = pages(ROOT)
PROGRAMS = [
    pytest.param(page, id=named(page), marks=[pytest.mark.slow] if named(page) in LONG else [])
    for page in PAGES
    if page != QUOTES and named(page) not in ELSEWHERE and program(page)
]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_blocks_and_sentences_name_what_is_there(page: Path) -> None:
    assert [problem for block in blocks(page) for problem in problems(block, ROOT)] == []
    assert prose_problems(page.read_text(encoding="utf-8"), ROOT) == []


@pytest.mark.parametrize(
    ("language", "text", "problem"),
    [
        ("", "make test", "name the block's language"),
        ("jsn", "{}", "name the block's language"),
        ("json", '{"a": }', "Expecting value"),
        ("sh", "make tset", "make has no target tset"),
        ("sh", "cd x && make tset", "make has no target tset"),
        ("sh", ".venv/bin/blockful verify --rnu x", "No such option"),
        ("sh", "NAME=x blockful dmeo", "no command 'dmeo'"),
        ("sh", "for i in 1 2; do blockful dmeo; done", "no command 'dmeo'"),
        ("sh", "blockful demo --set learning.epoch=5", "learning.epoch"),
        ("sh", "blockful demo --set learning.epochs=none", "learning.epochs"),
        ("sh", "blockful train examples/none.toml --run runs/x", "there is no examples/none.toml"),
        ("sh", "pip install 'blockful[dmeo]'", "there is no extra dmeo"),
        ("sh", "python -m benchmarks.none", "there is no module benchmarks.none"),
        ("sh", "python scripts/none.py >log", "there is no script scripts/none.py"),
        ("sh", "crul http://127.0.0.1:9101/healthz", "'crul' is no program"),
        ("sh", "blockful verify 'runs/mine", "cannot be read"),
        ("toml", "[learning]\nepochs = ", "Invalid value"),
        ("toml", "[learning]\nepoch = 5", "epoch"),
        ("toml", "models_per_day = 2", "models_per_day"),
    ],
)
def test_a_mistake_in_a_block_is_found(tmp_path: Path, language: str, text: str, problem: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n1. Do this:\n\n   ```{language}\n   {text}\n   ```\n", encoding="utf-8")
    (block,) = blocks(page)
    (found,) = problems(block, ROOT)
    assert found.startswith("page.md:6: ") and problem in found


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("json", '{"a": 1}'),
        ("sh", "make test   # all"),
        ("sh", "NAME=x .venv/bin/blockful demo \\\n    --set learning.epochs=5 >log"),
        ("sh", "pip install 'blockful[demo,plots]'"),
        ("sh", "python -m benchmarks.gas | head -1"),
        ("text", "H(m) = 1"),
        ("toml", "[learning.privacy]\nnoise = 1.0"),
        ("toml", "models_a_day = 2"),
    ],
)
def test_a_block_without_mistake_passes(tmp_path: Path, language: str, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{language}\n{text}\n```\n", encoding="utf-8")
    (block,) = blocks(page)
    assert problems(block, ROOT) == []


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("Set `learning.epoch`.", "there is no setting learning.epoch"),
        ("Set `committee.attested = true`, `[learning.privat]`.", "there is no setting learning.privat"),
        ("Give `--jsno`.", "no command has the option --jsno"),
        ("Say `make tset`.", "make has no target tset"),
        ("`unlearning.options.clean_increments.heal_steps`, `--set a.b=1` and `make test` are there.", None),
        ("`learning.federation.train_wave` is a function, `federation.toml` a file.", None),
    ],
)
def test_a_mistake_in_a_sentence_is_found(sentence: str, problem: str | None) -> None:
    assert prose_problems(sentence, ROOT) == ([] if problem is None else [problem])


def run(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The page's program, in an empty folder that has the examples."""
    (folder / "examples").symlink_to(ROOT / "examples")
    script = folder / f"{page.stem}.py"
    script.write_text(program(page), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items())
def test_a_page_that_runs_elsewhere_is_read_there(page: str, test: str) -> None:
    assert program(ROOT / page)
    assert Path(page).name in (ROOT / "tests" / test).read_text(encoding="utf-8")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", PROGRAMS)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    done = run(page, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_mistake_in_python_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\nThen:\n\n```python\nprint(x, y)\n```\n", encoding="utf-8")
    done = run(page, tmp_path)
    assert done.returncode == 1
    assert 'page.py", line 8' in done.stderr and "'y' is not defined" in done.stderr
