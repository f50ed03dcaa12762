# SPDX-License-Identifier: Apache-2.0
"""Signs a folder with OpenSSF model signing, under one's own key (extra `sign`).

The signature is a manifest of SHA-256 digests in a Sigstore bundle.
"""

from __future__ import annotations

from pathlib import Path

from blockful_py.crypto.pem import read_private_key
from blockful_py.extras import needed_by

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
