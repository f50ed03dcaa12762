# SPDX-License-Identifier: Apache-2.0
"""Peak memory of each step of a large model's life, with measuring, which holds a network, set apart.

    python -m benchmarks.streaming [--width 4000] [--depth 16] [--members 4]       # 1 GB a model, the default

Three models, each from a file: r; s, which refers to r; and y, which refers to s.  The owner of s has all its
data forgotten, so s becomes the mean of its references, and y gets the change of s.  Each step is a process
of its own, with all members in it.  The peak is the kernel's (VmHWM), above the memory of the process before
it opens the run, which is torch and this package; it is set back before and after measuring.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import Tensor

from benchmarks.growth import resident, settings
from benchmarks.stored import keep
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.forget import Forget
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.form import WeightsForm, form_of
from blockful_py.learning.model_folder import FileRanges
from blockful_py.learning.tensor_parts import StreamedWeights
from blockful_py.learning.weights import pieces_of
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import redaction
from blockful_py.pipeline.reader import LeaderDecryptor
from blockful_py.pipeline.review import content
from blockful_py.settings import Settings

STEPS = ("create", "publish", "request", "verify", "audit")
REFERENCES = {"r": (), "s": ("r",), "y": ("s",)}
RANGE = 0.01
"""Largest magnitude of a drawn weight."""


@dataclass(slots=True)
class Peaks:
    """Most MB of a process, above its memory before it opened the run.

    Attributes:
        before: MB before it opened the run.
        rest, measuring: while no model is measured, and while one is.
        calls: measurements.
    """

    before: float
    rest: float = 0.0
    measuring: float = 0.0
    calls: int = field(default=0)

    def note(self, name: str) -> None:
        """Takes the peak since the last call, and sets the kernel's back."""
        setattr(self, name, max(getattr(self, name), resident("VmHWM") - self.before))
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")

    def apart(self, measure: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose peak counts as `measuring`."""

        def measured(*arguments: Any) -> Any:
            self.note("rest")
            self.calls += 1
            try:
                return measure(*arguments)
            finally:
                self.note("measuring")

        return measured


def drawn(form: WeightsForm, seed: int) -> StreamedWeights:
    """Weights of a form, the same whenever they are read."""

    def parts(name: str, count: int) -> Iterator[Tensor]:
        stream = torch.Generator().manual_seed(seed)
        for first in range(0, form.tensors[name].count, count):
            part = torch.rand(min(count, form.tensors[name].count - first), generator=stream)
            yield part.mul_(2 * RANGE).sub_(RANGE)

    return StreamedWeights(form.tensors, parts)


def publish(federation: Federation, folder: Path) -> None:
    setup, models = federation.setup, {}
    form = form_of(setup.architecture)
    for number, (name, references) in enumerate(REFERENCES.items(), start=1):
        path = folder / f"{name}.safetensors"
        with path.open("wb") as file:
            file.writelines(pieces_of(drawn(form, number)))
        models[name] = TrainedModel(
            name,
            number,
            1,
            tuple(ScoredModel(each, 0.1) for each in references),
            form.read(FileRanges(path), name),
            0.1,
            setup.federation.training,
        )
    federation.adopt(models)


def asked(urls: Sequence[str], size: Mapping[str, int], members: int) -> Settings:
    given = settings(urls, size)
    return replace(given, committee=replace(given.committee, size=members))


def carry_out(step: str, folder: Path, given: Settings) -> Peaks:
    """A step in this process."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    peaks = Peaks(resident("VmRSS"))
    for module, name in ((redaction, "measure"), (redaction, "accuracy"), (content, "measure")):
        vars(module)[name] = peaks.apart(vars(module)[name])
    run = folder / "run"
    with Federation.create(given, run) if step == "create" else Federation.open(run) as federation:
        if step == "publish":
            publish(federation, folder)
        elif step == "request":
            forget = Forget.of_clients([2])
            done = federation.unlearn(["s"], method="gradient_ascent", forget=forget)
            assert set(done.nodes) == {"s", "y"}
        elif step == "verify":
            assert federation.verify(decryptor=LeaderDecryptor(federation.weights)).passed
        elif step == "audit":
            assert federation.audit().passed
        peaks.note("rest")
    return peaks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--width", type=int, default=4000, help="hidden units (default 4000)")
    parser.add_argument("--depth", type=int, default=16, help="more layers of as many units (default 16)")
    parser.add_argument("--members", type=int, default=4, help="committee members (default 4)")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--urls", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = {"width": options.width, "depth": options.depth}
    if options.step:
        given = asked(options.urls.split(","), size, options.members)
        print(json.dumps(asdict(carry_out(options.step, options.folder, given))))
        return
    print(f"{'step':9}{'MB before':>11}{'more':>8}{'more, measuring':>17}", flush=True)
    rows, folder = {}, Path(tempfile.mkdtemp())
    live, archive = start_together(NodeOptions(1337, kind="anvil"), NodeOptions(1338, kind="anvil"))
    with live, archive:
        try:
            for step in STEPS:
                told = [f"--{name}={each}" for name, each in {**size, "members": options.members}.items()]
                told += [f"--step={step}", f"--folder={folder}", f"--urls={live.url},{archive.url}"]
                command = [sys.executable, "-m", "benchmarks.streaming", *told]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                rows[step] = row = json.loads(done.stdout.splitlines()[-1])
                print(
                    f"{step:9}{row['before']:>11.0f}{row['rest']:>8.0f}{row['measuring']:>17.0f}", flush=True
                )
        finally:
            shutil.rmtree(folder)
    if options.output:
        keep(options.output, "streaming", {**size, "members": options.members, "steps": rows})


if __name__ == "__main__":
    main()
