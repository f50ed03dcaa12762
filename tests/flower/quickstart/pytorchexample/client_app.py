# SPDX-License-Identifier: Apache-2.0
"""The ClientApp."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from pytorchexample.task import Net, load_data
from pytorchexample.task import test as test_net
from pytorchexample.task import train as train_net

app = ClientApp()


def given(message: Message, context: Context) -> tuple:
    """The network with the arrays of the message, and the client's two loaders."""
    net = Net()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    place, settings = context.node_config, context.run_config
    return net, *load_data(place["partition-id"], place["num-partitions"], settings["batch-size"])


@app.train()
def train(message: Message, context: Context) -> Message:
    net, batches, _ = given(message, context)
    loss = train_net(net, batches, context.run_config["local-epochs"], message.content["config"]["lr"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(batches.dataset)})
    return Message(
        RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message
    )


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    net, _, batches = given(message, context)
    metrics = MetricRecord({"eval_acc": test_net(net, batches), "num-examples": len(batches.dataset)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
