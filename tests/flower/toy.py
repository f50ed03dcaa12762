# SPDX-License-Identifier: Apache-2.0
"""A Flower app without chance, so that two federations of the same clients agree, and what breaks one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from flwr.app import ArrayRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import Tensor, nn

from blockful_py.learning.data import Dataset, Samples
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.settings import DataOptions, Settings

CLASSES, FEATURES = 3, 4


class Toy(nn.Module):
    """One layer, and a counter, which strategies average as a floating-point number."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, CLASSES)
        self.register_buffer("batches", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(1))


def samples(client: int) -> tuple[Tensor, Tensor]:
    """12 samples of a client; the samples of client -1 are public."""
    stream = torch.Generator().manual_seed(100 + client)
    y = torch.arange(12) % CLASSES
    return torch.randn(12, 1, 2, 2, generator=stream) + y[:, None, None, None], y


def load(seed: int, options: DataOptions) -> Dataset:
    x, y = samples(-1)
    public, none = Samples(x, y), Samples(x[:0], y[:0])
    return Dataset("toy", CLASSES, none, public, none)


def start() -> ArrayRecord:
    """Initial arrays that do not depend on torch's global generator."""
    weight = torch.linspace(-1, 1, CLASSES * FEATURES).reshape(CLASSES, FEATURES)
    return ArrayRecord(
        {"batches": torch.tensor(0), "layer.weight": weight, "layer.bias": torch.zeros(CLASSES)}
    )


def trained(message: Message, context: Context) -> dict[str, Tensor]:
    """One step of gradient descent on all samples of the client."""
    net = Toy()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    x, y = samples(int(context.node_config["partition-id"]))
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= message.content["config"]["lr"] * parameter.grad
        net.batches += 1
    return net.state_dict()


def reply(message: Message, weights: dict[str, Tensor], examples: int = 12) -> Message:
    metrics = MetricRecord({"num-examples": examples})
    return Message(RecordDict({"arrays": ArrayRecord(weights), "metrics": metrics}), reply_to=message)


def app_of(train: Callable[[Message, Context], Message]) -> ClientApp:
    app = ClientApp()
    app.train()(train)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": 1})}), reply_to=message)

    return app


def honest() -> ClientApp:
    """Clients weigh 13, 14, ..., so that the aggregate is no plain mean."""
    return app_of(
        lambda message, context: reply(
            message, trained(message, context), 13 + int(context.node_config["partition-id"])
        )
    )


def changing(change: Callable[[Tensor], Tensor]) -> ClientApp:
    """Clients that change the weights that they trained."""
    return app_of(
        lambda message, context: reply(
            message, {name: change(w) for name, w in trained(message, context).items()}
        )
    )


def poisoned() -> ClientApp:
    return changing(lambda weights: weights * torch.nan if weights.is_floating_point() else weights)


def raising() -> ClientApp:
    def train(message: Message, context: Context) -> Message:
        raise RuntimeError("out of memory")

    return app_of(train)


def refusing() -> ClientApp:
    return app_of(lambda message, context: Message(Error(0, "no data today"), reply_to=message))


def empty() -> ClientApp:
    return app_of(lambda message, context: Message(RecordDict(), reply_to=message))


def settings(chains: Nodes, users: int, **sections: dict[str, object]) -> Settings:
    """Settings of a record of toys on these chains."""
    document = {
        "federation": {"scenario": "organic", "users": users},
        "learning": {
            "model": "blockful_py.flower.network:network",
            "options": {"of": "tests.flower.toy:Toy"},
            "dataset": "tests.flower.toy:load",
        },
        "unlearning": {"starts": ["r1"], "classes": [0]},
        "committee": {"attested": True},
        "chain": {"packaging_interval": 0, **urls(chains)},
    }
    for name, changes in sections.items():
        document[name] = {**document[name], **changes}
    return Settings.parse(document)


def urls(chains: Nodes) -> dict[str, str]:
    """Settings of the section `chain` that use these chains."""
    return {"live_url": chains.live.url, "archive_url": chains.archive.url}
