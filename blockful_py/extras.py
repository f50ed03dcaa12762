# SPDX-License-Identifier: Apache-2.0
"""Optional packages by extra, and the error that names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from blockful_py.errors import MissingExtraError

EXTRAS = {
    "data": ("PIL", "datasets", "pyarrow"),
    "embedded": ("eth",),
    "flower": ("flwr",),
    "hf": ("huggingface_hub", "yaml"),
    "ipfs": ("ipfshttpclient", "multiaddr"),
    "members": ("httpx2", "prometheus_client", "starlette", "uvicorn"),
    "mlflow": ("mlflow",),
    "nodes": ("eth_account", "requests", "rlp", "urllib3", "web3"),
    "plots": ("matplotlib",),
    "privacy": ("opacus",),
    "ray": ("ray",),
    "sign": ("OpenSSL", "in_toto_attestation", "model_signing", "securesystemslib"),
    "text": ("transformers",),
    "train": ("safetensors", "scipy", "sklearn", "torch"),
}
"""Import names of optional packages, by the extra of `pyproject.toml` that installs them."""

EXTRA_OF = {name: extra for extra, names in EXTRAS.items() for name in names}


@contextmanager
def needed_by(what: str) -> Iterator[None]:
    """Turns a failed import of an optional package, needed by `what`, into MissingExtraError."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRA_OF:
            raise
        raise MissingExtraError(what, package, EXTRA_OF[package]) from None
