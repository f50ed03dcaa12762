# SPDX-License-Identifier: Apache-2.0
"""Canaries: samples planted in a user's data that a model can only memorise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples, UserData, pooled
from blockful_py.learning.streams import generator
from blockful_py.unlearning.audit.samples import SHOWN

CANARIES = 8
"""Number of planted samples of each kind."""

MISLABELLED, UNUSUAL = "mislabelled", "unusual"

Pair = tuple[Samples, Samples]
"""Planted samples, and as many similar ones that no user gets."""


def plant(
    users: Sequence[UserData], owner: int, data: Dataset, seed: int
) -> tuple[tuple[UserData, ...], Forget, Mapping[str, Pair]]:
    """Adds canaries to the training data of the user with the index `owner`.

    Mislabelled canaries have a wrong label, drawn from all others.  Unusual canaries keep their label but
    have their pixels shuffled, each in an order of its own.  Both are made from proxy samples that methods do
    not get.

    Args:
        data: the data set, of images, that the users share.

    Returns all users, the request to forget the canaries, and each kind's planted and similar samples.

    Raises LearningError: fewer than 4 x 8 spare proxy samples.
    """
    stream = generator(seed, "canaries")
    spare = _spare(data.proxy)
    if len(spare) < 4 * CANARIES:
        raise LearningError(
            f"canaries are made of {4 * CANARIES} proxy samples after the first {SHOWN} of each class; "
            f"there are {len(spare)}: keep more data out of training."
        )
    parts = torch.split(torch.randperm(len(spare), generator=stream)[: 4 * CANARIES], CANARIES)
    of_labels = [mislabelled(spare.at(rows), data.class_count, stream) for rows in parts[:2]]
    of_pixels = [unusual(spare.at(rows), stream) for rows in parts[2:]]
    own = users[owner - 1].train
    train = pooled([own, of_labels[0], of_pixels[0]])
    changed = tuple(replace(each, train=train) if each.index == owner else each for each in users)
    forget = Forget.of_samples((owner, row) for row in range(len(own), len(train)))
    kinds = {MISLABELLED: (of_labels[0], of_labels[1]), UNUSUAL: (of_pixels[0], of_pixels[1])}
    return changed, forget, kinds


def mislabelled(samples: Samples, classes: int, stream: torch.Generator) -> Samples:
    """Replaces each sample's label by another one, drawn uniformly."""
    shift = torch.randint(1, classes, (len(samples),), generator=stream).to(samples.y.device)
    return Samples(samples.x, (samples.y + shift) % classes)


def unusual(samples: Samples, stream: torch.Generator) -> Samples:
    """Shuffles the pixels of each image in a random order of its own, the same in all channels."""
    flat = samples.x.flatten(2)  # (n, channels, pixels)
    orders = torch.stack([torch.randperm(flat.shape[2], generator=stream) for _ in range(len(samples))])
    shuffled = flat.gather(2, orders.to(flat.device).unsqueeze(1).expand_as(flat))
    return Samples(shuffled.view_as(samples.x), samples.y)


def _spare(proxy: Samples) -> Samples:
    """All except the first samples of each class, which methods get."""
    taken = torch.zeros(len(proxy), dtype=torch.bool)
    for label in proxy.classes():
        taken[torch.nonzero(proxy.y == label).flatten()[:SHOWN].cpu()] = True
    return proxy.at(~taken)
