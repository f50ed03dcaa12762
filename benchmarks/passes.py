# SPDX-License-Identifier: Apache-2.0
"""Processor seconds of a sample pass, forward and backward, of each network on its input; parameters counted.

    python -m benchmarks.passes [--repeats 5] [--output FILE]

One thread.  The networks and inputs are those of the scalability section: AlexNet, ResNet18 and MobileNetV2
for CIFAR-100 (3x32x32) and TinyImageNet (3x64x64, 200 classes), beside the small network.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from time import process_time

import torch
from torch.nn import functional

from blockful_py.learning.models.registry import MODELS

CPU = torch.device("cpu")
CASES = {
    "cnn-blobs": ("cnn", (1, 4, 4), 10, 64),
    "cnn-digits": ("cnn", (1, 8, 8), 10, 64),
    "alexnet-cifar100": ("alexnet", (3, 32, 32), 100, 8),
    "mobilenet_v2-cifar100": ("mobilenet_v2", (3, 32, 32), 100, 4),
    "resnet18-cifar100": ("resnet18", (3, 32, 32), 100, 4),
    "alexnet-tinyimagenet": ("alexnet", (3, 64, 64), 200, 8),
    "resnet18-tinyimagenet": ("resnet18", (3, 64, 64), 200, 2),
}
"""Network, input, classes, samples of a batch."""


def measure(case: str, repeats: int) -> dict[str, object]:
    name, shape, classes, batch = CASES[case]
    torch.manual_seed(1)
    module = MODELS[name](shape, classes, CPU).train()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.01)
    x, y = torch.randn(batch, *shape), torch.randint(0, classes, (batch,))
    seconds = []
    for _ in range(repeats + 1):
        begun = process_time()
        module.zero_grad()
        functional.cross_entropy(module(x), y).backward()  # type: ignore[no-untyped-call]
        seconds.append((process_time() - begun) / batch)
    parameters = sum(each.numel() for each in module.parameters())
    return {"parameters": parameters, "median": median(seconds[1:]), "all": seconds[1:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="batches of each network (default 5)")
    parser.add_argument("--case", action="append", choices=CASES, help="default: all")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = {}
    for case in options.case or CASES:
        found[case] = measure(case, options.repeats)
        row = found[case]
        print(f"{case:24}{row['parameters']:>12,} parameters{row['median']:12.3g} s a pass", flush=True)
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
