# SPDX-License-Identifier: Apache-2.0
"""A request file, which collects the owners' signatures: JSON that a wallet can show and sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from blockful_py.crypto import eip712, signature
from blockful_py.errors import FormatError, InvalidSignatureError
from blockful_py.html_table import html_table
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import Part, first_error
from blockful_py.record.request import Request
from blockful_py.types import Address, Bytes32
from blockful_py.whole_file import write_whole

MAX_BYTES = 1 << 20


class RequestFile(Part):
    """A request, the owners that must sign it, and their signatures so far.

    Attributes:
        chain_id, contract: the LiveChain contract that signatures are bound to.
        owners: addresses of the starts' owners, in the order of the starts; one may own several.
        signatures: by address, 64 bytes (EIP-2098) in hexadecimal.
        typed_data: the same request as wallets show it (EIP-712, `eth_signTypedData_v4`).
    """

    format: Literal["blockful-request/1"] = "blockful-request/1"
    chain_id: int = Field(ge=1)
    contract: str = Field(pattern=r"^0x[0-9a-f]{40}$")
    owners: tuple[str, ...] = Field(min_length=1)
    signatures: dict[str, str] = Field(default_factory=dict)
    request: Request
    typed_data: dict[str, Any]

    @classmethod
    def of(cls, request: Request, catalogue: Catalogue, chain_id: int, contract: Address) -> RequestFile:
        """The file of an unsigned request."""
        return cls(
            chain_id=chain_id,
            contract="0x" + contract.hex(),
            owners=tuple(catalogue[start.name].node.statement.owner for start in request.starts),
            request=request,
            typed_data=eip712.typed_data(eip712.Domain(chain_id, contract), request.typed()),
        )

    def _repr_html_(self) -> str:
        owners = set(self.owners)
        signed = f"{len(owners) - len(self.missing)} of {len(owners)} owners"
        return html_table("Request to forget", (), [*self.request.rows(), ("signed by", signed)])

    @classmethod
    def read(cls, path: Path) -> RequestFile:
        """Reads a request file.

        Raises FormatError, also if wallets would show another request, and InvalidSignatureError if it was
        changed after an owner had signed.
        """
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise FormatError(f"{path} cannot be read: {error.strerror}.") from None
        try:
            document = cls.model_validate_json(data[:MAX_BYTES])
        except ValidationError as error:
            raise FormatError(
                f"{path} is no request to be signed ({first_error(error)}): make one with "
                "`blockful request make`."
            ) from None
        if document.request.signatures or len(document.owners) != len(document.request.starts):
            raise FormatError(f"{path} does not name one owner for each start: make it anew.")
        if document.typed_data != document._typed_data():
            raise FormatError(f"{path} shows wallets another request than it makes: do not sign it.")
        for signer, signed in document.signatures.items():
            document._require_signature(signer, signed)
        return document

    def write(self, path: Path) -> None:
        """Replaces the file.  Raises FormatError when it cannot be written."""
        write_whole(path, self.model_dump_json(indent=2) + "\n", FormatError)

    @property
    def digest(self) -> Bytes32:
        """The digest to be signed, 32 bytes."""
        return self.request.digest(self.chain_id, bytes.fromhex(self.contract[2:]))

    @property
    def missing(self) -> tuple[str, ...]:
        """Owners who have not signed."""
        return tuple(owner for owner in dict.fromkeys(self.owners) if owner not in self.signatures)

    def with_signature(self, signed: bytes) -> RequestFile:
        """Adds an owner's signature: 65 bytes as wallets give it, or 64 (EIP-2098).

        Raises InvalidSignatureError if it is not an owner's, or signs other data.
        """
        compact = signature.compact(signed)
        signer = "0x" + signature.recover(self.digest, compact).hex()
        if signer not in self.owners:
            raise InvalidSignatureError(
                f"this signature is by {signer} or for another request; expected signers: "
                f"{', '.join(dict.fromkeys(self.owners))}."
            )
        return self.model_copy(update={"signatures": {**self.signatures, signer: "0x" + compact.hex()}})

    def signed(self) -> Request:
        """The request with all signatures.  Raises InvalidSignatureError, naming the owners without one."""
        if self.missing:
            raise InvalidSignatureError(
                f"{', '.join(self.missing)} did not sign yet: `blockful request sign`, or `request add` with "
                "a wallet's signature."
            )
        signatures = tuple(self.signatures[owner] for owner in self.owners)
        return self.request.model_copy(update={"signatures": signatures})

    def _require_signature(self, signer: str, signed: str) -> None:
        """Checks a signature in the file.  Raises InvalidSignatureError unless it is that owner's."""
        try:
            found = signature.recover(self.digest, bytes.fromhex(signed.removeprefix("0x")))
        except ValueError:
            raise InvalidSignatureError(f"the signature of {signer} is not hexadecimal.") from None
        if signer not in self.owners or "0x" + found.hex() != signer:
            raise InvalidSignatureError(
                f"{signer} has not signed this request: the file was changed after it was signed, or the "
                "signature is another's; have the request made anew."
            )

    def _typed_data(self) -> dict[str, Any]:
        domain = eip712.Domain(self.chain_id, bytes.fromhex(self.contract[2:]))
        return eip712.typed_data(domain, self.request.typed())
