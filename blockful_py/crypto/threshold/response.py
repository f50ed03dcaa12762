# SPDX-License-Identifier: Apache-2.0
"""A signer's arithmetic with its secrets, in constant time inside libsecp256k1."""

from __future__ import annotations

from blockful_py.crypto.library import GLOBAL_CONTEXT, ffi, lib
from blockful_py.errors import CryptoError

_CONTEXT = GLOBAL_CONTEXT.ctx


class Responder:
    """Computes z_i = sigma (d_i + rho e_i) + c'^-1 lambda_i x_i for each message; not thread-safe.

    Args:
        secret: x_i.
        weight: lambda_i.

    Raises CryptoError: a scalar is not below the group order, or a product or a sum is zero.
    """

    def __init__(self, secret: int, weight: int) -> None:
        # lambda_i x_i
        self._share = ffi.new("unsigned char[32]", secret.to_bytes(32, "big"))
        if not lib.secp256k1_ec_seckey_tweak_mul(_CONTEXT, self._share, weight.to_bytes(32, "big")):
            raise CryptoError("the share is not a scalar in [1, n), the order of secp256k1.")
        self._nonce, self._answer = ffi.new("unsigned char[32]"), ffi.new("unsigned char[32]")
        self._nonce_view, self._answer_view = ffi.buffer(self._nonce), ffi.buffer(self._answer)

    def answer(self, pair: tuple[int, int], rho: int, negated: bool, inverse: int) -> int:
        """Response z_i, from (d_i, e_i), rho, whether sigma is -1, and c'^-1; all below the group order."""
        d, e = pair
        self._nonce_view[:] = e.to_bytes(32, "big")
        self._answer_view[:] = inverse.to_bytes(32, "big")
        if not (
            lib.secp256k1_ec_seckey_tweak_mul(_CONTEXT, self._nonce, rho.to_bytes(32, "big"))
            and lib.secp256k1_ec_seckey_tweak_add(_CONTEXT, self._nonce, d.to_bytes(32, "big"))
            and (not negated or lib.secp256k1_ec_seckey_negate(_CONTEXT, self._nonce))
            and lib.secp256k1_ec_seckey_tweak_mul(_CONTEXT, self._answer, self._share)
            and lib.secp256k1_ec_seckey_tweak_add(_CONTEXT, self._answer, self._nonce)
        ):
            raise CryptoError("an operation on secret scalars met zero or a number not below n; repeat.")
        return int.from_bytes(self._answer_view, "big")
