# SPDX-License-Identifier: Apache-2.0
"""Training of one network on the device "auto": images a second, and share of the card's bfloat16 rate.

Torch is set up as runs set it up.  The operations are counted by torch for a forward
and a backward pass (not for depthwise convolutions, whose backward pass it counts as if they were dense); the
card's rate is measured by one large product in the same run, and compared with a known data sheet.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.stored import keep
from blockful_py.learning.data import Samples
from blockful_py.learning.device import resolve_device, use_repeatable_kernels
from blockful_py.learning.models import Architecture
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.settings import TrainingSettings

DATA_SHEET = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L4": 121e12}
"""Dense bfloat16 operations a second (NVIDIA's data sheets, SXM where there are several forms)."""


def operations(architecture: Architecture) -> float:
    """Floating-point operations of training on one sample."""
    module = architecture.module(architecture.initial(generator(0)), torch.device("cpu")).train()
    with FlopCounterMode(display=False) as counter:
        logits = module(torch.randn(2, *architecture.input_shape, generator=generator(1)))
        functional.cross_entropy(logits, torch.zeros(2, dtype=torch.int64)).backward()  # type: ignore[no-untyped-call]
    counted: int = counter.get_total_flops()
    return counted / 2


def measured_rate(device: torch.device, size: int, repeat: int) -> float:
    """Operations a second of a square bfloat16 product."""
    a = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    seconds = []
    for _ in range(repeat + 1):
        began = perf_counter()
        product = a @ a
        float(product[0, 0])  # waits for the device
        seconds.append(perf_counter() - began)
    return 2 * size**3 / median(seconds[1:])


def images_a_second(
    architecture: Architecture, samples: Samples, settings: TrainingSettings, repeat: int
) -> list[float]:
    """Of each repetition."""
    weights = architecture.initial(generator(0))
    train(architecture, weights, samples, replace(settings, epochs=1), generator(0))
    seconds = []
    for _ in range(repeat):
        began = perf_counter()
        train(architecture, weights, samples, settings, generator(0))
        seconds.append(perf_counter() - began)
    return [settings.epochs * len(samples) / each for each in seconds]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--side", type=int, default=32, help="pixels of an image's side")
    parser.add_argument("--samples", type=int, default=8192)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--product", type=int, default=8192, help="rows of the product that gives the rate")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    options = parser.parse_args(arguments)
    device = resolve_device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "cpu"
    architecture = Architecture(options.model, (3, options.side, options.side), 10)
    drawn = generator(0, "bench")
    x = torch.randn((options.samples, *architecture.input_shape), generator=drawn)
    samples = Samples(x, torch.randint(0, 10, (options.samples,), generator=drawn)).to(device)
    each = operations(architecture)
    rate = measured_rate(device, options.product, options.repeat)
    sheet = next((value for card, value in DATA_SHEET.items() if card in name), None)
    plain = TrainingSettings(epochs=options.epochs, batch_size=options.batch, learning_rate=0.01)
    ways = {
        "float32": plain,
        "float32, channels last": replace(plain, channels_last=True),
        "TF32": replace(plain, precision="tf32"),
        "TF32, channels last": replace(plain, precision="tf32", channels_last=True),
        "bfloat16": replace(plain, precision="bfloat16"),
        "bfloat16, channels last": replace(plain, precision="bfloat16", channels_last=True),
        "bfloat16, channels last, compiled": replace(
            plain, precision="bfloat16", channels_last=True, compiled=True
        ),
    }
    print(f"{name}: {each / 1e9:.2f} GFLOP a sample, product {rate / 1e12:.2f} TFLOP/s")
    rows: list[dict[str, Any]] = []
    for way, settings in ways.items():
        if settings.compiled and device.type != "cuda":
            continue
        use_repeatable_kernels(device)
        speeds = images_a_second(architecture, samples, settings, options.repeat)
        speed = median(speeds)
        done = speed * each
        row = {
            "way": way,
            "images_a_second": [round(one) for one in speeds],
            "tflops": done / 1e12,
            "share_of_product": done / rate,
            "share_of_data_sheet": done / sheet if sheet else None,
        }
        rows.append(row)
        shares = f"{100 * done / rate:.1f} % of the product's rate"
        shares += f", {100 * done / sheet:.1f} % of the data sheet's" if sheet else ""
        print(f"{way:<36}{speed:>10,.0f} images/s  {done / 1e12:>7.2f} TFLOP/s  {shares}", flush=True)
    if options.output:
        result = {
            "device": name,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "model": options.model,
            "side": options.side,
            "samples": options.samples,
            "batch": options.batch,
            "product_tflops": rate / 1e12,
            "rows": rows,
        }
        keep(options.output, "learning_device", result)


if __name__ == "__main__":
    main()
