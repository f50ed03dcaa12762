# SPDX-License-Identifier: Apache-2.0
"""The audit of a folder of models that somebody trained with torch alone."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.errors import BlockfulError, FormatError, LearningError, UnlearningError
from blockful_py.learning.data import Dataset, Samples, pooled
from blockful_py.learning.form import form_of
from blockful_py.learning.model_folder import read_models
from blockful_py.learning.models import Architecture
from blockful_py.unlearning.audit import FolderAudit, audit_folder, klom, margins, u_lira
from tests.code_blocks import blocks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "audit-your-own-models.md"
SEEDS = 4
FORGET = 3


class Net(nn.Module):
    """Not made for this package."""

    def __init__(
        self, shape: tuple[int, ...] = (1, 8, 8), classes: int = 10, device: torch.device | None = None
    ) -> None:
        super().__init__()
        self.hidden = nn.Linear(64, 32, device=device)
        self.out = nn.Linear(32, classes, device=device)

    def forward(self, x: Tensor) -> Tensor:
        said: Tensor = self.out(torch.relu(self.hidden(x.flatten(1))))
        return said


NETWORK = Architecture(f"{__name__}:Net", (1, 8, 8), 10)


def trained(samples: Samples, seed: int) -> Mapping[str, Tensor]:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        net = Net()
        optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        for _ in range(200):
            rows = torch.randint(len(samples), (32,))
            optimiser.zero_grad()
            functional.cross_entropy(net(samples.x[rows]), samples.y[rows]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return net.state_dict()


def save(weights: Mapping[str, Tensor], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(dict(weights), path, metadata={"format": "pt"})


class Place:
    """A folder of all four kinds, whose unlearned models have a masked output, and its samples."""

    def __init__(self, folder: Path, data: Dataset) -> None:
        self.folder = folder
        self.forget, self.retain = data.train.only([FORGET]), data.train.without([FORGET])
        self.held_out = data.test
        whole = pooled([self.forget, self.retain])
        for seed in range(SEEDS):
            original = trained(whole, seed)
            masked = {name: tensor.clone() for name, tensor in original.items()}
            masked["out.weight"][FORGET], masked["out.bias"][FORGET] = 0, -5
            kinds = {"original": original, "unlearned": masked}
            kinds |= {"gold": trained(self.retain, 10 + seed), "gold2": trained(self.retain, 20 + seed)}
            for kind, weights in kinds.items():
                save(weights, folder / kind / f"seed-{seed}.safetensors")

    def audited(self, folder: Path | None = None, **changed: Any) -> FolderAudit:
        samples = {"forget": self.forget, "retain": self.retain, "held_out": self.held_out, **changed}
        return audit_folder(folder or self.folder, NETWORK, **samples)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, dataset: Dataset) -> Place:
    return Place(tmp_path_factory.mktemp("models"), dataset)


@pytest.fixture(scope="module")
def found(place: Place) -> FolderAudit:
    return place.audited()


@pytest.fixture
def copy(place: Place, tmp_path: Path) -> Path:
    shutil.copytree(place.folder, tmp_path / "models")
    return tmp_path / "models"


def test_a_masked_output_is_found_out(found: FolderAudit) -> None:
    assert found.outcome is not None
    (masked,) = (row for row in found.rows if row.method == "unlearned")
    assert all(model.ad_f_train == model.ad_f_test == 0 for model in masked.models)
    verdict = found.outcome.verdict()
    assert not verdict.forgotten and any(reason.startswith("relearn") for reason in verdict.reasons)
    assert found.u_lira["unlearned"].auc.value > 0.8 > found.u_lira["gold2"].auc.value
    assert [row.method for row in found.rows] == ["original", "unlearned", "gold", "gold2"]
    assert "Verdict: not forgotten" in str(found) and "unlearned" in str(found)


def test_the_figures_are_those_of_the_margins(place: Place, found: FolderAudit) -> None:
    def said(kind: str) -> list[Any]:
        net, read = Net(), []
        for seed in range(SEEDS):
            net.load_state_dict(load_file(place.folder / kind / f"seed-{seed}.safetensors"))
            with torch.no_grad():
                read.append(margins(net(place.forget.x).numpy(), place.forget.y.numpy()))
        return read

    own, gold = said("unlearned"), said("gold")
    assert found.klom["unlearned"]["forget"].mean == pytest.approx(klom(own, gold).mean, abs=0.02)
    assert found.u_lira["unlearned"].auc.value == pytest.approx(u_lira(own, gold).auc.value, abs=0.01)


def test_lessons_are_drawn_from_the_weights(place: Place, found: FolderAudit, copy: Path) -> None:
    assert found.outcome is not None and found.outcome.draw is not None
    assert found.outcome.seed == found.outcome.draw.seed
    beacon = place.audited(beacon=b"by the auditor").outcome
    assert beacon is not None and beacon.seed != found.outcome.seed
    assert beacon.draw is not None and beacon.draw.committed == found.outcome.draw.committed
    save(trained(place.retain, 99), copy / "unlearned" / "seed-0.safetensors")
    other = place.audited(copy).outcome
    assert other is not None and other.seed != found.outcome.seed


def test_fewer_folders_and_models_give_fewer_figures(place: Place, copy: Path) -> None:
    shutil.rmtree(copy / "gold2")
    without = place.audited(copy)
    assert without.outcome is None and without.klom and "No verdict: it needs" in str(without)
    for kind in ("original", "unlearned", "gold"):
        (copy / kind / "seed-3.safetensors").unlink()
    few = place.audited(copy)
    assert few.models == 3 and not few.klom and not few.u_lira
    for kind in ("original", "gold"):
        shutil.rmtree(copy / kind)
    (alone,) = place.audited(copy).rows
    assert [model.relearn for model in alone.models] == [None] * 3
    assert "nan" not in str(place.audited(copy))


def test_samples_among_others_are_audited_too(place: Place, copy: Path) -> None:
    """The network knows the class from other samples, so nothing is masked."""
    whole = pooled([place.forget, place.retain])
    some = torch.arange(len(whole)) % 12 == 0
    forget, retain = whole.at(some), whole.at(~some)
    for kind, first in (("gold", 30), ("gold2", 40), ("unlearned", 50)):
        for seed in range(SEEDS):
            save(trained(retain, first + seed), copy / kind / f"seed-{seed}.safetensors")
    found = place.audited(copy, forget=forget, retain=retain)
    assert found.outcome is not None and len(found.outcome.references) == 3
    original, unlearned, *_ = found.rows
    for before, after in zip(original.models, unlearned.models, strict=True):
        assert before.relearn is not None and after.relearn is not None and before.relearn < after.relearn
    assert abs(found.u_lira["unlearned"].auc.value - 0.5) < 0.15


def put(kind: str, change: Callable[[dict[str, Tensor]], object]) -> Callable[[Path], None]:
    """Changes the tensors of one model of a kind."""

    def changed(folder: Path) -> None:
        path = folder / kind / "seed-1.safetensors"
        tensors = load_file(path)
        change(tensors)
        save(tensors, path)

    return changed


def written(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "unlearned" / name).write_bytes(data)


def header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("defect", "kind", "message"),
    [
        (put("gold", lambda w: w.pop("out.bias")), LearningError, r"'out.bias' is missing, expected F32"),
        (put("gold", lambda w: w.update(extra=torch.zeros(2))), LearningError, "'extra' is F32"),
        (put("gold", lambda w: w.update({"out.bias": torch.zeros(9)})), LearningError, r"is F32 \[9\]"),
        (put("gold", lambda w: w.update({"out.bias": torch.zeros(10).half()})), LearningError, "is F16"),
        (put("gold", lambda w: w["out.bias"].fill_(torch.nan)), LearningError, "NaN or infinite"),
        (written("seed-0.safetensors", pickle.dumps({"a": 1})), LearningError, "store them as safetensors"),
        (written("seed-0.safetensors", b""), LearningError, "has 0 bytes"),
        (written("seed-0.safetensors", header(b"[" * 3000)), LearningError, "nested more than"),
        (
            written("seed-0.safetensors", header(b'{"__metadata__": {}, "\\ud800": 1}')),
            LearningError,
            "not a safetensors file",
        ),
        (written("seed-0.safetensors", header(b'{"__metadata__": {}}')), LearningError, "is missing"),
        (written("seed-0.safetensors", header(b"[1]")), LearningError, "not a safetensors file"),
        (written("seed-0.safetensors", bytes(1 << 20)), FormatError, "has more than the"),
        (written("seed-9.PT", b"x"), FormatError, r"seed-9.PT, perhaps a pickle"),
        (written("seed-9.safetensors", b"x"), LearningError, "header"),
        (lambda f: shutil.rmtree(f / "unlearned"), FormatError, "cannot be read: No such file"),
        (lambda f: os.mkfifo(f / "unlearned" / "a.safetensors"), FormatError, "is no file"),
        (lambda f: (f / "unlearned" / "a.safetensors").symlink_to("/dev/zero"), FormatError, "is no file"),
        (
            lambda f: (f / "gold" / "seed-1.safetensors").unlink(),
            UnlearningError,
            "no model 'seed-1' in gold",
        ),
        (
            lambda f: shutil.copy(f / "gold" / "seed-1.safetensors", f / "gold" / "seed-2.safetensors"),
            UnlearningError,
            "gold/seed-1 and gold/seed-2 are the same model",
        ),
        (
            lambda f: shutil.copy(f / "unlearned" / "seed-1.safetensors", f / "gold" / "seed-2.safetensors"),
            UnlearningError,
            "unlearned/seed-1 and gold/seed-2 are the same model",
        ),
    ],
)
def test_a_folder_that_cannot_be_trusted_is_refused(
    place: Place, copy: Path, defect: Callable[[Path], object], kind: type[BlockfulError], message: str
) -> None:
    defect(copy)
    with pytest.raises(kind, match=message):
        place.audited(copy)


def test_gold_that_knows_the_class_is_refused(place: Place, copy: Path) -> None:
    save(trained(pooled([place.forget, place.retain]), 60), copy / "gold2" / "seed-2.safetensors")
    with pytest.raises(UnlearningError, match=r"gold2/seed-2 recognises \d+% of held-out samples of class 3"):
        place.audited(copy)


def test_models_that_nobody_changed_are_audited(place: Place, copy: Path) -> None:
    for path in (copy / "original").iterdir():
        shutil.copy(path, copy / "unlearned" / path.name)
    outcome = place.audited(copy).outcome
    assert outcome is not None and not outcome.verdict().forgotten


def test_the_metadata_of_other_programs_and_other_files_are_ignored(place: Place, copy: Path) -> None:
    (copy / "gold" / "README.md").write_text("Trained on Tuesday.")
    assert read_models(copy / "gold", NETWORK).keys() == {f"seed-{seed}" for seed in range(SEEDS)}
    assert (copy / "gold" / "seed-0.safetensors").stat().st_size <= form_of(NETWORK).most_bytes


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (lambda p: {"held_out": p.retain}, UnlearningError, "1024 of 1024 samples in held_out are also in"),
        (lambda p: {"held_out": p.held_out.without([3])}, UnlearningError, "held_out has samples of"),
        (
            lambda p: {"held_out": pooled([p.held_out, p.forget])},
            UnlearningError,
            "are also in forget or retain",
        ),
        (lambda p: {"forget": p.forget.at(p.forget.y < 0)}, UnlearningError, "needs samples in forget"),
        (
            lambda p: {"retain": Samples(p.retain.x.flatten(1), p.retain.y)},
            UnlearningError,
            r"in retain have shape \(64,\); .*takes \(1, 8, 8\)",
        ),
        (lambda p: {"retain": Samples(p.retain.x, p.retain.y + 20)}, LearningError, "must be from 0 to 9"),
        (lambda p: {"forget": Samples(p.forget.x, p.forget.y + 20)}, LearningError, "must be from 0 to 9"),
        (
            lambda p: {"held_out": Samples(p.held_out.x, p.held_out.y * 5)},
            LearningError,
            "must be from 0 to 9",
        ),
        (
            lambda p: {"held_out": Samples((255 * p.held_out.x).byte(), p.held_out.y)},
            LearningError,
            "give images as float32",
        ),
        (lambda p: {"retain": Samples(p.retain.x / 0, p.retain.y)}, LearningError, "NaN or infinite inputs"),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    place: Place,
    change: Callable[[Place], dict[str, Samples]],
    kind: type[BlockfulError],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        place.audited(**change(place))


def test_the_page_does_it_in_ten_lines() -> None:
    (call,) = (block for block in blocks(PAGE) if "audit_folder(" in block.text)
    assert len([line for line in call.text.splitlines() if line.strip()]) <= 10
