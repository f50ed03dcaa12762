# SPDX-License-Identifier: Apache-2.0
"""The 1,797 handwritten digits that come with scikit-learn (UCI, Alpaydin and Kaynak 1998)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch

from blockful_py.errors import LearningError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.options import refuse_files
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

TRAIN, TEST = 1150, 400
SIDE = 8
BRIGHTEST = 16.0
"""Maximum pixel value; pixels are counts from 0."""
FILE = Path("datasets", "data", "digits.csv.gz")
"""Path in scikit-learn's folder: one row per digit, with 64 pixels and the label."""


def load_digits(seed: int, options: DataOptions) -> Dataset:
    """Loads 8x8 images, scaled to [0, 1] minus 0.3, shuffled by seed: 1,150 train, 400 test, 247 proxy.

    Inputs are float32 (n, 1, 8, 8), labels int64 (n,), on the CPU.

    Raises:
        SettingsError: data files are configured, but this data set needs none.
        LearningError: scikit-learn's data are not installed.
    """
    refuse_files("digits", options)
    rows = torch.from_numpy(np.loadtxt(digits_file(), delimiter=",", dtype=np.float32))
    images = rows[:, :-1].reshape(-1, 1, SIDE, SIDE)
    everything = Samples(images / BRIGHTEST - 0.3, rows[:, -1].to(torch.int64))
    order = torch.randperm(len(everything), generator=generator(seed, "digits"))
    return Dataset(
        name="digits",
        class_count=10,
        train=everything.at(order[:TRAIN]),
        test=everything.at(order[TRAIN : TRAIN + TEST]),
        proxy=everything.at(order[TRAIN + TEST :]),
    )


def digits_file() -> Path:
    """Path of the digits, found without importing scikit-learn, which takes seconds.

    Raises LearningError: scikit-learn is not installed, or lacks its data.
    """
    package = find_spec("sklearn")
    for folder in (package and package.submodule_search_locations) or ():
        if (path := Path(folder) / FILE).is_file():
            return path
    raise LearningError(f"scikit-learn's digits ({FILE}) are not installed: install scikit-learn again.")
