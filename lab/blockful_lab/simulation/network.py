# SPDX-License-Identifier: Apache-2.0
"""The members' network: each link's latency anew for every message, each member's bandwidth once.

A sender puts copies of a message on its uplink one after the other.  Blocks reach all members through a tree
in which each member passes them on to `FAN_OUT` others; votes go from each member to each other directly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blockful_lab.simulation.distribution import Distribution, Floats

FAN_OUT = 8
BITS = 8 / 1e6
"""Megabits of a byte."""


@dataclass(frozen=True)
class Network:
    """A network of `nodes` members.

    Attributes:
        latency: s, one way, of a message.
        upload: (nodes,) bytes a second of each member, up and down alike.
        rng: draws the latencies.
    """

    latency: Distribution
    upload: Floats
    rng: np.random.Generator

    @classmethod
    def of(
        cls, nodes: int, latency: Distribution, bandwidth: Distribution, seed: np.random.Generator
    ) -> Network:
        """Draws a network; `bandwidth` is in Mbit/s."""
        return cls(latency, bandwidth.draw(seed, nodes) / BITS, seed)

    @property
    def nodes(self) -> int:
        return len(self.upload)

    def relay(self, size: float, root: int) -> Floats:
        """Seconds, (nodes,), until each member has all `size` bytes that `root` sends down the tree.

        The sender's k-th receiver has a block of s bytes after k s / b + latency, b of the sender.
        """
        order = self.order(root)
        arrival = np.zeros(self.nodes)
        first, last = 1, min(1 + FAN_OUT, self.nodes)
        while first < self.nodes:
            places = np.arange(first, last)
            senders = order[(places - 1) // FAN_OUT]
            copies = (places - 1) % FAN_OUT + 1
            sent = copies * size / self.upload[senders]
            arrival[order[places]] = arrival[senders] + sent + self.latency.draw(self.rng, last - first)
            first, last = last, min(last * FAN_OUT + 1, self.nodes)
        return arrival

    def order(self, root: int) -> np.ndarray:
        """Members in their places of a new tree: place p > 0 receives from place (p - 1) // FAN_OUT."""
        others = self.rng.permutation(self.nodes - 1)
        return np.concatenate(([root], others + (others >= root)))
