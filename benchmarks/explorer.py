# SPDX-License-Identifier: Apache-2.0
"""The explorer with generated federations: index, graph file, and rendering in Chromium.

    python -m benchmarks.explorer --models 20000

Indexes events and nodes from memory, without the time of nodes and disks; a model is one event of each chain
and one node.  Chromium draws in software, with no processor for graphics.  Processor time is of all of its
processes, and compares on a busy machine too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from playwright.sync_api import sync_playwright

from blockful_lab.energy.processor_time import descendants_seconds
from blockful_py.explorer.app import ExplorerApp
from blockful_py.explorer.connections import BrowserServer
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.graph_file import GraphFiles
from blockful_py.explorer.guard import Guard
from blockful_py.explorer.index import RecordIndex
from blockful_py.settings.sections import FederationSettings
from tests.browser.conftest import SCREENSHOTS, SOFTWARE
from tests.explorer.generated import GeneratedFederation

READY = """() => {
    const main = document.getElementById('main');
    new MutationObserver(() => {
        if (main.dataset.ready && window.painted === undefined)
            requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
    }).observe(main, {attributes: true});
}"""
ROUNDS = 7
HOVER = """async () => {
    const canvas = document.querySelector('.canvas'), box = canvas.getBoundingClientRect();
    const move = (x, y) =>
        canvas.dispatchEvent(new PointerEvent('pointermove', {clientX: x, clientY: y, bubbles: true}));
    const frame = () => new Promise((done) => requestAnimationFrame(() => {
        const at = performance.now();
        setTimeout(() => done([at, performance.now()]));
    }));
    const took = [], script = [];
    for (let round = 0; round < ROUNDS; round++) {
        move(box.left + 3, box.top + box.height - 3);
        await frame(); await frame();
        const before = frame(), began = performance.now();
        move(box.left + box.width / 2, box.top + box.height / 2);
        const moved = performance.now(), after = frame();
        const [[from], [until, shown]] = await Promise.all([before, after]);
        script.push(moved - began + until - from);
        took.push(shown - began);
        if (!canvas.classList.contains('pointing')) throw new Error('no model is where the pointer is');
    }
    const middle = (times) => times.sort((a, b) => a - b)[ROUNDS >> 1];
    return [middle(took), middle(script), document.querySelector('.reach').textContent];
}""".replace("ROUNDS", str(ROUNDS))
"""Milliseconds of the median hover: until the frame is handed over, and of script in that."""


def measure(models: int, users: int, folder: Path) -> None:
    federation = GeneratedFederation(users)
    federation.publish(models)
    began = time.perf_counter()
    with RecordIndex(folder / "index", federation.sources()) as index:
        index.follow()
        took = time.perf_counter() - began
        federation.publish(1)
        began = time.perf_counter()
        index.follow()
        more = time.perf_counter() - began
    reader = IndexReader(folder / "index")
    began = time.perf_counter()
    file = GraphFiles(reader, FederationSettings()).current()
    drawn = time.perf_counter() - began
    size = (folder / "index").stat().st_size
    print(f"{models:,} models, {users} users")
    print(f"  index       {models / took:,.0f} models a second, {size / 2**20:.0f} MiB")
    print(f"  one more    {more * 1e3:.0f} ms")
    print(f"  graph file  {drawn:.2f} s, {len(file.data) / 2**20:.2f} MiB")
    opened(reader, models)
    print(f"  load        {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def opened(reader: IndexReader, models: int) -> None:
    """First paint and hover in Chromium."""
    contract = SimpleNamespace(chain_id=1, address=bytes(20))
    contracts = SimpleNamespace(live=contract, followers=None)
    run = SimpleNamespace(settings=SimpleNamespace(federation=FederationSettings()))
    watched = SimpleNamespace(name="generated", demo_clock=False, contracts=contracts, jobs=(), run=run)
    app = Guard(ExplorerApp(cast(Any, watched), reader, "benchmark").routes())
    server = BrowserServer(app, "127.0.0.1", 0)
    app.allow([f"127.0.0.1:{server.port}"])
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    program = shutil.which("chromium") or "chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*SOFTWARE])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.on("pageerror", lambda error: print("  error", error))
        page.add_init_script("document.addEventListener('DOMContentLoaded', " + READY + ")")
        for label in ("first", "again"):
            before = descendants_seconds()
            page.goto(f"http://127.0.0.1:{server.port}/")
            painted = page.wait_for_function("() => window.painted", timeout=600_000).json_value()
            spent = descendants_seconds() - before
            print(f"  {label} paint {painted / 1e3:.2f} s, {spent:.2f} s of processors")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for name, place in chosen(reader).items():
            page.evaluate("place => dispatchEvent(new CustomEvent('blockful:find', {detail: place}))", place)
            page.keyboard.press("Escape")
            page.wait_for_timeout(1000)
            before = descendants_seconds()
            took, script, sentence = page.evaluate(HOVER)
            spent = (descendants_seconds() - before) / ROUNDS
            print(f"  hover       {took:.0f} ms, {script:.0f} ms of it script, {name} ({sentence})")
            print(f"              {spent * 1e3:.0f} ms of processors for one on and off")
            page.screenshot(path=SCREENSHOTS / f"generated-{models}-{name}.png")
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        page.wait_for_timeout(2000)
        page.screenshot(path=SCREENSHOTS / f"generated-{models}.png")
        browser.close()
    server.stop()
    thread.join()


def chosen(reader: IndexReader) -> dict[str, str]:
    """Positions of a model with many heirs among the oldest, which reaches most, and from the middle."""
    count = reader.rows("SELECT count(*) AS models FROM model")[0]["models"]
    found = {}
    for name, low in (("oldest", 0), ("middle", count // 2)):
        (row,) = reader.rows(
            "SELECT position FROM model JOIN reference ON reference = position WHERE row BETWEEN ? AND ?"
            " GROUP BY position ORDER BY count(*) DESC LIMIT 1",
            (low, low + 20),
        )
        found[name] = f"{row['position'] >> 32}:{row['position'] & 0xFFFFFFFF}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[1_000, 20_000, 100_000])
    for models in parser.parse_args().models:
        with tempfile.TemporaryDirectory() as folder:
            measure(models, max(models // 200, 20), Path(folder))


if __name__ == "__main__":
    main()
