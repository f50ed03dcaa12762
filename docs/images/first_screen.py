# SPDX-License-Identifier: Apache-2.0
"""Draws demo.svg, a terminal, and explorer.png, a graph before and after a request.

    python docs/images/first_screen.py

Runs the demo and a federation in a folder of their own; needs Chromium.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent
EXAMPLE = IMAGES.parents[1] / "examples" / "paper14.toml"
COLUMNS = 84
SHOWN = ("method", "            enters", "checked", "verified", "report")
SIZE = {"width": 860, "height": 780}
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def blockful(folder: Path, *words: str | Path) -> str:
    """The output of a command, with its colours."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "blockful_py.cli.main", *map(str, words)]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def shortened(printed: Text) -> Iterator[Text]:
    """The table, and the lines after it on method and checks."""
    told = False
    for line in printed.split("\n"):
        told |= line.plain.startswith("parallel  ")
        if not told or line.plain.startswith(SHOWN):
            yield line


def terminal(typed: str, printed: str) -> str:
    """An SVG of a terminal, which fetches no font."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(f"$ {typed}", highlight=False)
    for line in shortened(Text.from_ansi(printed)):
        console.print(line)
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title=typed, code_format=form, unique_id="demo")


@contextmanager
def explored(folder: Path, run: str) -> Iterator[str]:
    """The address of an explorer of a run."""
    command = [sys.executable, "-m", "blockful_py.cli.main", "explorer", "--run", run, "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            (address,) = re.findall(r"http://[\w.:]+", process.stdout.readline() if process.stdout else "")[
                :1
            ]
            yield address
        finally:
            process.terminate()


def shot(folder: Path, run: str) -> Image.Image:
    """The graph as the explorer shows it."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with explored(folder, run) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*SOFTWARE])
        page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
        page.goto(address)
        page.locator("#main[data-ready]").wait_for()
        page.wait_for_timeout(2000)  # until the graph stands still
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    return picture


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        (IMAGES / "demo.svg").write_text(terminal("make demo", blockful(folder, "demo")), encoding="utf-8")
        blockful(folder, "train", EXAMPLE, "--run", "run")
        before = shot(folder, "run")
        blockful(folder, "unlearn", "--run", "run")
        after = shot(folder, "run")
        both = Image.new("RGB", (before.width + after.width, before.height))
        both.paste(before, (0, 0))
        both.paste(after, (before.width, 0))
        both.quantize(64).save(IMAGES / "explorer.png", optimize=True)


if __name__ == "__main__":
    main()
