# SPDX-License-Identifier: Apache-2.0
"""A procedural data set of images: 5 shapes in 4 textures, 20 classes, no download."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.datasets.options import refuse_files
from blockful_py.learning.streams import generator
from blockful_py.settings import DataOptions

SHAPES = ("disc", "square", "triangle", "cross", "ring")
TEXTURES = ("plain", "across", "along", "checks")
TRAIN, TEST, PROXY, SPARE = 7000, 900, 700, 10_000
SIDE = 16  # pixels
RADIUS = (4.8, 6.4)  # pixels
ROTATION = 0.35  # radians, either way
PERIOD = (3.2, 4.2)  # pixels of a stripe with the gap beside it
CONTRAST = (0.8, 1.2)
NOISE = 0.1
GROUND = 0.3
"""Value subtracted from every pixel, as in the digits."""


def load_shapes(seed: int, options: DataOptions) -> Dataset:
    """Draws 16x16 grey images: 7,000 train, 900 test, 700 proxy and 10,000 spare, in balanced classes.

    The label is shape * 4 + texture.  Position, radius, rotation, the stripes' period and phase, contrast and
    noise are drawn by seed.  Inputs are float32 (n, 1, 16, 16), labels int64 (n,), on the CPU.

    Raises SettingsError: data files are configured, but this data set needs none.
    """
    refuse_files("shapes", options)
    total = TRAIN + TEST + PROXY
    stream = generator(seed, "shapes")
    classes = len(SHAPES) * len(TEXTURES)
    labels = torch.cat(
        [torch.arange(count)[torch.randperm(count, generator=stream)] for count in (TRAIN, TEST, PROXY)]
    )
    everything = Samples(draw(labels % classes, stream), labels % classes)
    parts = torch.split(torch.arange(total), [TRAIN, TEST, PROXY])
    train, test, proxy = (everything.at(rows) for rows in parts)
    more = torch.arange(SPARE) % classes
    spare = Samples(draw(more, generator(seed, "shapes", "spare")), more)
    return Dataset("shapes", classes, train, test, proxy, spare=spare)


def draw(labels: Tensor, stream: torch.Generator) -> Tensor:
    """Draws an image for each label, int64 (n,) below 20: float32 (n, 1, 16, 16)."""

    def uniform(low: float, high: float) -> Tensor:
        return torch.rand(len(labels), 1, 1, generator=stream) * (high - low) + low

    radius = uniform(*RADIUS)
    room = (SIDE - 1) / 2 - radius
    x0, y0 = ((SIDE - 1) / 2 + room * uniform(-1, 1) for _ in range(2))
    angle = uniform(-ROTATION, ROTATION)
    axis = torch.arange(SIDE, dtype=torch.float32)
    dx, dy = axis.view(1, 1, SIDE) - x0, axis.view(1, SIDE, 1) - y0
    u = (dx * torch.cos(angle) + dy * torch.sin(angle)) / radius  # (n, 16, 16), 1 at the radius
    v = (dy * torch.cos(angle) - dx * torch.sin(angle)) / radius
    inside = torch.stack(_inside(u, v))  # (5, n, 16, 16)
    period, phase = uniform(*PERIOD) / radius, uniform(0, 1)
    across, along = (torch.remainder(w / period + phase, 1) < 0.5 for w in (v, u))
    textured = torch.stack((torch.ones_like(across), across, along, across ^ along))  # (4, n, 16, 16)
    rows = torch.arange(len(labels))
    shape, texture = inside[labels // len(TEXTURES), rows], textured[labels % len(TEXTURES), rows]
    ink = (shape & texture).to(torch.float32) * uniform(*CONTRAST)
    noise = torch.randn(ink.shape, generator=stream) * NOISE
    return (ink + noise - GROUND).unsqueeze(1)


def _inside(u: Tensor, v: Tensor) -> tuple[Tensor, ...]:
    """Masks of the points inside each shape of radius 1, bool (n, 16, 16) each, in the order of SHAPES."""
    distance = torch.sqrt(u * u + v * v)
    return (
        distance < 1,
        torch.maximum(u.abs(), v.abs()) < math.sqrt(0.5) * 1.15,
        (v < 0.6) & (math.sqrt(3) * u.abs() - v < 1),
        ((u.abs() < 0.32) & (v.abs() < 1)) | ((v.abs() < 0.32) & (u.abs() < 1)),
        (distance < 1) & (distance > 0.5),
    )
