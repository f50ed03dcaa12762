# SPDX-License-Identifier: Apache-2.0
"""A gated convolutional network for text (after Dauphin et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from blockful_py.learning.models.layers import Classifier

PADDING = 0
"""Token id of padding."""


class Gcnn(Classifier):
    """Embedding, two gated convolutions, the maximum of each map over the text, two dense layers.

    A gated convolution is `(X W + b) * sigmoid(X V + c)`.
    Inputs are token ids, int64 (B, length), below `vocabulary`; 0 is padding.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        class_count: int,
        device: torch.device,
        *,
        vocabulary: int,
        embedding: int = 128,
        maps: int = 128,
        width: int = 3,
    ) -> None:
        super().__init__()
        if width % 2 != 1:
            raise ValueError(f"width must be odd, not {width}")
        # Without initial values, because drawing them on meta would spend a second on imports.
        rows = torch.empty(vocabulary, embedding, device=device)
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=PADDING, _weight=rows)
        self.conv1 = nn.Conv1d(embedding, 2 * maps, width, padding=width // 2, device=device)
        self.conv2 = nn.Conv1d(maps, 2 * maps, width, padding=width // 2, device=device)
        self.dense = nn.Linear(maps, maps, device=device)
        self.head = nn.Linear(maps, class_count, device=device)

    def features(self, x: Tensor) -> Tensor:
        """Penultimate activations, float32 (B, maps), of token ids, int64 (B, length)."""
        is_word = (x != PADDING).unsqueeze(1)  # (B, 1, length)
        h = self.embedding(x).transpose(1, 2)  # (B, embedding, length)
        h = functional.glu(self.conv1(h), 1) * is_word  # (B, maps, length)
        h = functional.glu(self.conv2(h), 1) * is_word
        return functional.relu(self.dense(h.amax(2)))
