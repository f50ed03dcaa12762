# SPDX-License-Identifier: Apache-2.0
"""The model card of an exported model: README.md with front matter for the Hugging Face hub.

huggingface_hub writes and parses the front matter (extra `hf`).
"""

from __future__ import annotations

from blockful_py.export.exported import ExportedModel
from blockful_py.extras import needed_by
from blockful_py.record.model_node import ModelNode
from blockful_py.storage.cid import cid_string

TAGS = ("blockful", "federated-learning", "machine-unlearning")
HELD_OUT, OWN = "held-out data of the federation", "test data of the model's owner"


def model_card(model: ExportedModel, licence: str, namespace: str | None) -> str:
    """The card, with its front matter between lines of three hyphens.

    `licence` is an identifier of the hub.  `namespace` is the hub account that has the referenced models;
    without it, they are listed by plain names.
    """
    with needed_by("`blockful export`"):
        from huggingface_hub import EvalResult, ModelCard, ModelCardData
    node, task = model.placed.node, _task(model)
    bases = [each.name if namespace is None else f"{namespace}/{each.name}" for each in node.statement.in_use]
    results = [
        EvalResult(
            task_type=task,
            dataset_type=model.hub_dataset or model.dataset,
            dataset_name=f"{model.dataset}, {where}",
            metric_type="accuracy",
            metric_name=name,
            metric_value=round(value, 6),
        )
        for name, where, value in _figures(node)
    ]
    data = ModelCardData(
        base_model=bases or None,
        datasets=model.hub_dataset,
        eval_results=results,
        library_name="blockful",
        license=licence,
        metrics=["accuracy"],
        model_name=node.name,
        pipeline_tag=task,
        tags=list(TAGS),
    )
    return str(ModelCard(f"---\n{data.to_yaml()}\n---\n\n{_body(model)}"))


def _task(model: ExportedModel) -> str:
    if model.architecture.vocabulary is not None:
        return "text-classification"
    images = len(model.architecture.input_shape) == 3
    return "image-classification" if images else "tabular-classification"


def _figures(node: ModelNode) -> list[tuple[str, str, float]]:
    """Name, data and value of each recorded accuracy of this version, in [0, 1]."""
    if node.redaction is None or node.redaction.claims is None:
        return [("Accuracy, as the owner states it", OWN, node.statement.accuracy)]
    claims = node.redaction.claims
    figures = [("AD_r: accuracy on the rest", HELD_OUT, claims.ad_r)]
    if claims.ad_f is not None:
        figures.append(("AD_f: accuracy on what was to be forgotten", HELD_OUT, claims.ad_f))
    return figures


def _body(model: ExportedModel) -> str:
    placed, node, shape = model.placed, model.placed.node, model.architecture.input_shape
    references = ", ".join(each.name for each in node.statement.in_use)
    origin = f"the models {references}" if references else "the shared initialisation"
    paragraphs = [
        f"# {node.name}",
        f"A `{model.architecture.name}` for inputs of shape {shape} and {model.architecture.class_count} "
        f"classes, trained in a BlockFUL federation on `{model.dataset}`, from {origin}.",
        f"Version {placed.version} of the model at position {placed.position} of the federation's live "
        f"chain. Its sealed weights have the CID `{cid_string(node.weights)}`.",
    ]
    if node.redaction is not None:
        request = node.redaction.request
        paragraphs.append(
            f"This version was made to forget {request.forget} (method `{request.method}`, "
            f"{request.paradigm}); `erasure.json` is the committee's certificate. AD_f and AD_r do not prove "
            "that a model has forgotten."
        )
    rows = [f"| {name} | {where} | {value:.4f} |" for name, where, value in _figures(node)]
    table = "\n".join(["| figure | on | accuracy |", "|---|---|---|", *rows])
    return "\n\n".join([*paragraphs, table, READ, CHECK])


READ = """## Read it

```python
from blockful_py.export.network_folder import read_network

network = read_network(".")  # a torch.nn.Module
```"""

CHECK = """## Check it

`proof.json` shows that these weights are on the federation's record; `weights.key` is the key under
which they are sealed there. Take the hash of a block and the ids of the group keys from a source that you
trust.

```
blockful verify-proof proof.json --weights model.safetensors --data-key weights.key \\
    --block-hash HASH --key-id ID
```

`model.sig`, if there is one, signs all other files. With the exporter's public key:

```
model_signing verify key . --signature model.sig --public_key key.pub.pem
```
"""
