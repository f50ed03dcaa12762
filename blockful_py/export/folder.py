# SPDX-License-Identifier: Apache-2.0
"""Writes an exported model as a folder for upload to the Hugging Face hub.

README.md           model card
config.json         the architecture
model.safetensors   the decrypted weights
weights.key         data key of the sealed weights; links the proof to model.safetensors
proof.json          shows that the model is on the record
erasure.json        certificate of the request behind this version; absent for a first version
model.sig           signature of all other files, if a key was given
"""

from __future__ import annotations

import shutil
from pathlib import Path

from blockful_py.crypto.pem import read_private_key
from blockful_py.errors import RunError
from blockful_py.export.exported import ExportedModel
from blockful_py.export.model_card import model_card
from blockful_py.export.network_folder import CONFIG, WEIGHTS, NetworkConfig
from blockful_py.extras import needed_by
from blockful_py.keys.data_key import write_data_key
from blockful_py.whole_file import write_whole


def write_folder(
    folder: Path, model: ExportedModel, licence: str, namespace: str | None = None, key: Path | None = None
) -> tuple[Path, ...]:
    """Creates the folder; returns its files.  `key` is a private key in PEM for the signature.

    Raises RunError if the folder exists or cannot be written, and SettingsError for an unusable key.  Removes
    the folder on failure.
    """
    card = model_card(model, licence, namespace)
    config = NetworkConfig.of(model.architecture).model_dump_json(indent=2) + "\n"
    files: dict[str, str | bytes] = {
        "README.md": card,
        CONFIG: config,
        WEIGHTS: model.weights,
        "proof.json": model.proof,
    }
    if model.certificate is not None:
        files["erasure.json"] = model.certificate
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise RunError(f"{folder} exists and was not changed: choose another --output.") from None
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}; choose another --output.") from None
    try:
        for name, data in files.items():
            write_whole(folder / name, data)
        write_data_key(folder / "weights.key", model.data_key)
        if key is not None:
            sign_folder(folder, key)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return tuple(sorted(folder.iterdir()))


SIGNATURE = "model.sig"


def sign_folder(folder: Path, key: Path) -> Path:
    """Signs all files of a folder and adds the signature to it.

    `key` is a private key in PEM.  Raises SettingsError unless it is on P-256, P-384 or P-521.
    """
    read_private_key(key)
    with needed_by("`blockful export --sign-key`"):
        from model_signing import signing
    path = folder / SIGNATURE
    signing.Config().use_elliptic_key_signer(private_key=key).sign(folder, path)
    return path
