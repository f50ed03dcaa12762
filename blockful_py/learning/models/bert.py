# SPDX-License-Identifier: Apache-2.0
"""BERT (Devlin et al. 2019) through `transformers`, with a dense classification layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from blockful_py.errors import SettingsError
from blockful_py.extras import needed_by
from blockful_py.learning.models.layers import Classifier

PADDING = 0
"""Token id of padding, in BERT's vocabularies and in ours."""

SPREAD = 0.02
"""Standard deviation of BERT's initial weights."""


class Bert(Classifier):
    """bert-base-cased by default: 108,310,272 parameters below the dense layer.

    Inputs are token ids, int64 (B, length), below `vocabulary`; 0 is padding.  There is no dropout, because
    it would draw from torch's global generator.

    Args:
        pretrained: hub id or folder of a BERT model that gives the sizes and initial weights.
        hidden, layers, heads, intermediate, positions: sizes, used without `pretrained`.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        class_count: int,
        device: torch.device,
        *,
        vocabulary: int,
        hidden: int = 768,
        layers: int = 12,
        heads: int = 12,
        intermediate: int = 3072,
        positions: int = 512,
        pretrained: str = "",
    ) -> None:
        super().__init__()
        transformers = _transformers()
        self.pretrained = pretrained
        if pretrained:
            config = _fetched(transformers.BertConfig, pretrained)
        else:
            config = transformers.BertConfig(
                vocab_size=vocabulary,
                hidden_size=hidden,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                intermediate_size=intermediate,
                max_position_embeddings=positions,
            )
        if config.vocab_size != vocabulary or config.max_position_embeddings < input_shape[0]:
            raise ValueError(
                f"it reads {config.vocab_size} different tokens and texts of at most "
                f"{config.max_position_embeddings}; the data has {vocabulary} and {input_shape[0]}: "
                "choose its own tokenizer and a text_length that fits"
            )
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        with torch.device(device):
            self.bert = transformers.BertModel(config)
        # These buffers are in no state dict; forward passes their values instead.
        del self.bert.embeddings.position_ids, self.bert.embeddings.token_type_ids
        self.head = nn.Linear(config.hidden_size, class_count, device=device)

    def initialise(self, generator: torch.Generator) -> None:
        """Draws N(0, 0.02) weights and zero biases, or loads the pretrained weights below the head."""
        for part in self.modules():
            if isinstance(part, nn.Linear | nn.Embedding):
                part.weight.normal_(std=SPREAD, generator=generator)
                if isinstance(part, nn.Linear) and part.bias is not None:
                    part.bias.zero_()
                if isinstance(part, nn.Embedding) and part.padding_idx is not None:
                    part.weight[part.padding_idx].zero_()
        if self.pretrained:
            source = _fetched(_transformers().BertModel, self.pretrained)
            self.bert.load_state_dict(source.state_dict())

    def features(self, x: Tensor) -> Tensor:
        """Pooled output at the first token, float32 (B, hidden), of token ids, int64 (B, length)."""
        positions = torch.arange(x.shape[1], device=x.device).expand(x.shape)
        output = self.bert(
            input_ids=x,
            attention_mask=(x != PADDING).long(),
            token_type_ids=torch.zeros_like(x),
            position_ids=positions,
        )
        pooled: Tensor = output.pooler_output
        return pooled


def _transformers() -> Any:
    with needed_by("model 'bert'"):
        import transformers
    return transformers


def _fetched(kind: Any, source: str) -> Any:
    try:
        return kind.from_pretrained(source)
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"the pretrained model {source!r} is neither a folder with a model nor available on the hub: "
            f"{str(error).splitlines()[0]} Download it elsewhere and give its folder."
        ) from None
