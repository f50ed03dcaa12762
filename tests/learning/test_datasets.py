# SPDX-License-Identifier: Apache-2.0
"""The data sets by name, from tiny files of the schemas that the hub has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.datasets.images import CIFAR10
from blockful_py.learning.datasets.shapes import PROXY, SPARE, TEST, TRAIN
from blockful_py.learning.datasets.tables import from_hub
from blockful_py.learning.datasets.texts import BUCKETS, word_ids
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.settings import DataOptions, TrainingSettings
from tests.learning import files

pa = files.pa
CPU = torch.device("cpu")
SHAPES = {
    "cifar10": (3, 32, 32),
    "cifar100": (3, 32, 32),
    "fashion_mnist": (1, 28, 28),
    "cifar10_small": (3, 16, 16),
    "fashion_mnist_small": (1, 14, 14),
    "tiny_imagenet": (3, 64, 64),
    "yahoo_answers": (64,),
}


def load(name: str, folder: Path, **options: Any) -> Dataset:
    return load_dataset(name, 0, CPU, DataOptions(str(folder), **options))


@pytest.mark.parametrize("name", SHAPES)
def test_local_files_are_read_by_name(tmp_path: Path, name: str) -> None:
    dataset = load(name, files.write(tmp_path, name))
    assert dataset.input_shape == SHAPES[name]
    assert dataset.class_count == files.TABLES[name][0]
    assert [len(part) for part in (dataset.train, dataset.proxy, dataset.test)] == [30, 10, 20]
    assert dataset.proxy.classes() == tuple(range(10))
    assert dataset.test.y.tolist() == files.each_class(10, 20)
    assert dataset.vocabulary == (BUCKETS if name == "yahoo_answers" else None)


def test_pixels_are_normalised_by_channel(tmp_path: Path) -> None:
    x = load("cifar10", files.write(tmp_path, "cifar10")).test.x
    assert x.dtype == torch.float32 and x.is_contiguous()
    mean, spread = torch.tensor(CIFAR10.mean), torch.tensor(CIFAR10.spread)
    values = (x[7] * spread.view(3, 1, 1) + mean.view(3, 1, 1)) * 255
    assert torch.allclose(values, values.round(), atol=1e-3)
    assert values.min() >= 140 and values.max() < 200.1  # label 7: 140 to 199


def test_grey_images_of_a_coloured_set_are_read(tmp_path: Path) -> None:
    files.write(tmp_path, "tiny_imagenet")
    grey = files.image_table("image", "label", 64, "L", [3, 4], "JPEG")
    files.parquet.write_table(grey, tmp_path / "data" / "valid-00000-of-00001.parquet")
    x = load("tiny_imagenet", tmp_path).test.x
    assert x.shape == (2, 3, 64, 64)


def test_images_of_16_bits_keep_them(tmp_path: Path) -> None:
    folder, out = files.write(tmp_path, "fashion_mnist"), files.io.BytesIO()
    values = files.np.arange(28 * 28, dtype=files.np.uint16).reshape(28, 28) * 83
    files.Image.fromarray(values).save(out, "PNG")
    table = pa.table({"image": [out.getvalue()], "label": [0]})
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")
    x = load("fashion_mnist", folder).test.x
    expected = torch.from_numpy(values.astype("float32")) / 65535
    assert torch.allclose(x[0, 0], (expected - 0.2860) / 0.3530, atol=1e-5)


def test_csv_and_parquet_give_the_same_texts(tmp_path: Path) -> None:
    written = load("yahoo_answers", files.write_csv(tmp_path / "csv", 20, 20))
    parquet = load("yahoo_answers", files.write(tmp_path / "parquet", "yahoo_answers", 20, 20))
    assert torch.equal(written.test.x, parquet.test.x)


def test_words_have_ids_whatever_their_case() -> None:
    ids = word_ids(["Why, why? WHY!", "", "a b c d e f"], 4)
    assert ids[0].tolist() == [ids[0, 0].item()] * 3 + [0]
    assert ids[1].tolist() == [0, 0, 0, 0]
    assert (ids[2] > 0).all() and ids.max() < BUCKETS


def test_a_tokenizer_of_transformers_is_used(tmp_path: Path) -> None:
    folder = files.write(tmp_path / "data", "yahoo_answers")
    tokenizer = str(files.tokenizer(tmp_path / "tokenizer"))
    dataset = load("yahoo_answers", folder, tokenizer=tokenizer, text_length=12)
    assert dataset.vocabulary == 6 + len(files.WORDS) + 10
    assert dataset.input_shape == (12,)
    assert set(dataset.test.x[:, 0].tolist()) == {2}  # [CLS]


@pytest.mark.parametrize("limit", [5, 12])
def test_a_limit_draws_by_seed(tmp_path: Path, limit: int) -> None:
    folder = str(files.write(tmp_path, "cifar10"))
    first, again, other = (
        load_dataset("cifar10", seed, CPU, DataOptions(folder, data_limit=limit)) for seed in (0, 0, 1)
    )
    assert len(first.train) + len(first.proxy) == len(first.test) == limit
    assert torch.equal(first.test.x, again.test.x)
    assert not torch.equal(first.test.x, other.test.x)
    assert len(load_dataset("digits", 0, CPU, DataOptions(data_limit=limit)).train) == limit
    few = load_dataset("shapes", 0, CPU, DataOptions(data_limit=limit))
    assert {which: len(part) for which, part in few.parts.items()} == dict.fromkeys(few.parts, limit)
    assert "spare" in few.parts


def test_digits_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.datasets import load_digits  # takes much memory

    expected = load_digits()
    found = load_dataset("digits", 3, CPU)
    parts = (found.train, found.test, found.proxy)
    images = torch.cat([part.x for part in parts])
    labels = torch.cat([part.y for part in parts])
    order = torch.randperm(len(expected.target), generator=generator(3, "digits"))
    assert torch.equal(images[:, 0], torch.from_numpy(expected.images)[order].float() / 16 - 0.3)
    assert torch.equal(labels, torch.from_numpy(expected.target)[order].long())
    monkeypatch.setattr("blockful_py.learning.datasets.digits.find_spec", lambda name: None)
    with pytest.raises(LearningError, match="install scikit-learn again"):
        load_dataset("digits", 3, CPU)


def test_a_data_set_comes_from_the_hub_as_from_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library `datasets` reads a folder like the hub, so a folder stands in for the network here."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    folder = files.write(tmp_path / "cifar10", "cifar10")
    tables = from_hub(CIFAR10, str(folder))
    local = files.parquet.read_table(folder / "data" / "test-00000-of-00001.parquet")
    assert tables["test"][1]["img"].to_pylist() == [each["bytes"] for each in local["img"].to_pylist()]
    assert tables["train"][1].num_rows == 40


def test_without_a_network_the_error_says_how_to_give_files(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets
    import huggingface_hub as hub

    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    for options in (DataOptions(), DataOptions("nobody/nothing")):
        with pytest.raises(SettingsError, match=r"put them in a folder and set learning.data_files"):
            load_dataset("cifar10", 0, CPU, options)


def _wrong_label(folder: Path) -> None:
    table = files.image_table("img", "label", 32, "RGB", [0, 10])
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")


def _empty_label(folder: Path) -> None:
    table = files.image_table("img", "label", 32, "RGB", [0, 1]).drop_columns("label")
    table = table.append_column("label", pa.array([0, None], pa.int64()))
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")


def _damaged_image(folder: Path) -> None:
    image = {"bytes": files.picture(files.np.random.default_rng(0), 32, "RGB", 0, "PNG")["bytes"][:90]}
    table = pa.table({"img": pa.array([image], files.IMAGE), "label": pa.array([0], pa.int64())})
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")


def _paths_only(folder: Path) -> None:
    table = pa.table({"img": pa.array(["0.png"]), "label": pa.array([0], pa.int64())})
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")


def _truncated_file(folder: Path) -> None:
    path = folder / "data" / "test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-100])


def _other_sizes(folder: Path) -> None:
    table = files.image_table("img", "label", 28, "RGB", [0])
    files.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet")


def _no_test_split(folder: Path) -> None:
    (folder / "data" / "test-00000-of-00001.parquet").unlink()


def _mixed_schemas(folder: Path) -> None:
    files.parquet.write_table(files.text_table([0]), folder / "data" / "train-00002.parquet")


DAMAGE = {
    "labels out of range": (
        _wrong_label,
        LearningError,
        r"labels from 0 to 10; those of 'cifar10' are from 0 to 9",
    ),
    "an empty label": (_empty_label, LearningError, "must hold an integer in every row"),
    "a damaged image": (_damaged_image, LearningError, "image 0 is damaged"),
    "paths without images": (_paths_only, LearningError, "image 0 has no bytes"),
    "a truncated file": (_truncated_file, LearningError, "cannot be read as parquet"),
    "images of another size": (_other_sizes, LearningError, "image 0 has 28x28 pixels, not 32x32"),
    "no test split": (_no_test_split, SettingsError, r"has no file test\*.parquet or test\*.csv"),
    "files of two sets": (
        _mixed_schemas,
        LearningError,
        r"train-00002.parquet has no column img, label; it has id",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_files_that_are_not_right_give_one_clear_error(tmp_path: Path, what: str) -> None:
    damage, kind, reason = DAMAGE[what]
    files.write(tmp_path, "cifar10")
    damage(tmp_path)
    with pytest.raises(kind, match=reason):
        load("cifar10", tmp_path)


def test_files_of_another_data_set_are_refused_with_their_columns(tmp_path: Path) -> None:
    folder = files.write(tmp_path, "cifar100")
    with pytest.raises(LearningError, match=r"has no column label; it has img, fine_label"):
        load("cifar10", folder)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("cifar10", {"data_files": "/nowhere"}, "there is no folder '/nowhere'"),
        ("digits", {"data_files": "x"}, "comes with the package"),
        ("shapes", {"data_files": "x"}, "comes with the package"),
        (
            "mnist",
            {},
            "Known: cifar10, cifar100, cifar10_small, digits, fashion_mnist, fashion_mnist_small, parties, "
            "shapes, tiny_imagenet",
        ),
    ],
)
def test_what_is_not_there_is_refused(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        load_dataset(name, 0, CPU, DataOptions(**options))


@pytest.mark.parametrize("wrong", [{"data_limit": 0}, {"text_length": 0}])
def test_options_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        DataOptions(**wrong)  # type: ignore[arg-type]


def test_labels_and_shapes_of_a_data_set_are_checked() -> None:
    good = Samples(torch.zeros(3, 1, 2, 2), torch.tensor([0, 1, 2]))
    with pytest.raises(LearningError, match="labels from 0 to 2; they must be from 0 to 1"):
        Dataset("mine", 2, good, good, good)
    with pytest.raises(LearningError, match="give all parts one shape"):
        Dataset("mine", 3, good, Samples(torch.zeros(1, 1, 3, 3), torch.tensor([0])), good)
    ids = Samples(torch.tensor([[1, 9]]), torch.tensor([0]))
    with pytest.raises(LearningError, match="token ids from 1 to 9"):
        Dataset("mine", 1, ids, ids, ids, vocabulary=9)


@pytest.fixture(scope="module")
def shapes() -> Dataset:
    return load_dataset("shapes", 0, CPU)


def test_shapes_are_balanced_and_follow_from_the_seed(shapes: Dataset) -> None:
    assert shapes.spare is not None
    sizes = (TRAIN, TEST, PROXY, SPARE)
    for part, size in zip(shapes.parts.values(), sizes, strict=True):
        assert part.y.bincount().tolist() == [size // 20] * 20
        assert part.x.shape == (size, 1, 16, 16)
    assert torch.equal(load_dataset("shapes", 0, CPU).train.x, shapes.train.x)
    assert not torch.equal(load_dataset("shapes", 1, CPU).train.x, shapes.train.x)
    of_tests = {row.numpy().tobytes() for row in shapes.test.x}
    assert of_tests.isdisjoint(row.numpy().tobytes() for row in shapes.spare.x)


def test_shapes_can_be_learned(shapes: Dataset) -> None:
    from blockful_py.learning.evaluation import accuracy

    cnn = Architecture.of("cnn", shapes)
    assert cnn.parameter_count == 38_932
    few = shapes.train.at(torch.arange(2000))
    phi = TrainingSettings(epochs=5, learning_rate=0.05)
    weights = train(cnn, cnn.initial(generator(0)), few, phi, generator(0))
    assert accuracy(cnn, weights, shapes.test) > 0.75
