# SPDX-License-Identifier: Apache-2.0
"""libsecp256k1 as shipped with coincurve.

coincurve's public classes offer neither sums of points nor arithmetic on scalars.  `crypto.curve`,
`crypto.workspace` and `crypto.threshold.response` therefore call the library directly, through a module
outside coincurve's public interface.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from blockful_py.errors import ToolchainError

NEEDED = (
    "secp256k1_ec_pubkey_combine",
    "secp256k1_ec_pubkey_create",
    "secp256k1_ec_pubkey_parse",
    "secp256k1_ec_pubkey_serialize",
    "secp256k1_ec_pubkey_tweak_mul",
    "secp256k1_ec_seckey_negate",
    "secp256k1_ec_seckey_tweak_add",
    "secp256k1_ec_seckey_tweak_mul",
    "secp256k1_ecdh",
    "secp256k1_ecdsa_recover",
    "secp256k1_ecdsa_recoverable_signature_parse_compact",
    "secp256k1_ecdsa_recoverable_signature_serialize_compact",
    "secp256k1_ecdsa_sign_recoverable",
    "secp256k1_nonce_function_rfc6979",
)
"""Functions of libsecp256k1 that the modules of `crypto` call."""

ADVICE = "Install a version that is known to work: pip install 'coincurve>=21,<22'."


def checked(module: ModuleType | Any) -> tuple[Any, Any]:
    """Returns (ffi, lib) of coincurve's module.  Raises ToolchainError if functions are missing."""
    missing = [name for name in NEEDED if not hasattr(getattr(module, "lib", None), name)]
    if missing or not hasattr(module, "ffi"):
        raise ToolchainError(
            f"the libsecp256k1 of the installed coincurve lacks {', '.join(missing) or 'ffi'}. {ADVICE}"
        )
    return module.ffi, module.lib


try:
    from coincurve import _libsecp256k1
    from coincurve.context import GLOBAL_CONTEXT
except ImportError as error:
    raise ToolchainError(f"coincurve's binding to libsecp256k1 is missing ({error}). {ADVICE}") from error

ffi, lib = checked(_libsecp256k1)

__all__ = ["GLOBAL_CONTEXT", "ffi", "lib"]
