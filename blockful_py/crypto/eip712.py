# SPDX-License-Identifier: Apache-2.0
"""EIP-712 hashing of structs that are declared as dataclasses.

A field is declared with its Solidity type, or with the dataclass of a nested struct:

    @dataclass(frozen=True)
    class Mail:
        sender: Person = typed(Person)
        sent_at: int = typed("uint64")

Snake case becomes camel case, so the struct above is `Mail(Person sender,uint64 sentAt)Person(...)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from typing import Any

from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.signature import recover as recover
from blockful_py.crypto.signature import sign as sign
from blockful_py.types import Address, Bytes32

Encoder = Callable[[Any], bytes]

_SUFFIX = re.compile(r"(.+)\[(\d*)\]$")
_INTEGER = re.compile(r"(u?int)(\d+)$")
_BYTES = re.compile(r"bytes(\d+)$")
_EXACT = 1 << 53


def typed(kind: str | type) -> Any:
    """A dataclass field of the Solidity type `kind`; for a struct, its dataclass."""
    return field(metadata={"eip712": kind})


@dataclass(frozen=True, slots=True)
class Domain:
    """The domain of signatures; `contract` has 20 bytes."""

    chain_id: int
    contract: Address
    name: str = "BlockFUL"
    version: str = "1"

    def separator(self) -> bytes:
        """hashStruct of `EIP712Domain(name, version, chainId, verifyingContract)`, 32 bytes."""
        return _separator(self)


@dataclass(frozen=True, slots=True)
class Decision:
    """The struct that members vote on; `content_hash` is the root over the actions."""

    epoch: int = typed("uint64")
    proposal: Bytes32 = typed("bytes32")
    content_hash: Bytes32 = typed("bytes32")


@dataclass(frozen=True, slots=True)
class Certified:
    """The struct that the voters of a certificate sign jointly, for one contract."""

    chain_id: int = typed("uint256")
    executor: Address = typed("address")
    epoch: int = typed("uint64")
    proposal: Bytes32 = typed("bytes32")
    content_hash: Bytes32 = typed("bytes32")
    voters: int = typed("uint256")


@dataclass(frozen=True, slots=True)
class Possession:
    """The struct that a voting key signs to prove possession of its secret."""

    member: bytes = typed("address")


@dataclass(frozen=True, slots=True)
class ModelStatement:
    """The struct that a model's owner signs: `weights` is the digest of the CID, `created` in seconds."""

    weights: bytes = typed("bytes32")
    references: bytes = typed("bytes32")
    training: bytes = typed("bytes32")
    name: str = typed("string")
    created: int = typed("uint64")


@dataclass(frozen=True, slots=True)
class UnlearningRequest:
    """The struct that a user signs to request unlearning.

    Attributes:
        starts: models, as "name at height:index".
        classes, clients, samples: labels, users, or samples as "user:row"; two of the three are empty.
        created: time in seconds.
    """

    starts: tuple[str, ...] = typed("string[]")
    classes: tuple[int, ...] = typed("uint256[]")
    clients: tuple[int, ...] = typed("uint256[]")
    samples: tuple[str, ...] = typed("string[]")
    paradigm: str = typed("string")
    method: str = typed("string")
    created: int = typed("uint64")


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """The struct that a user signs to have adopted models forget data sets; fields as `UnlearningRequest`."""

    starts: tuple[str, ...] = typed("string[]")
    datasets: tuple[str, ...] = typed("string[]")
    paradigm: str = typed("string")
    method: str = typed("string")
    created: int = typed("uint64")


def encode_type(struct: type) -> str:
    """EIP-712's `encodeType`: the struct, followed by the structs that it uses, sorted by name."""
    used = _structs(struct, {})
    others = sorted(name for name in used if name != struct.__name__)
    return "".join(_signature(used[name]) for name in (struct.__name__, *others))


def hash_struct(value: Any) -> bytes:
    """EIP-712's `hashStruct` of an instance, 32 bytes.  Raises ValueError for a value outside its type."""
    struct: type = type(value)
    encoded = (encode(getattr(value, name)) for name, encode in _members(struct))
    return keccak(b"".join((_type_hash(struct), *encoded)))


@lru_cache(maxsize=256)
def _members(struct: type) -> tuple[tuple[str, Encoder], ...]:
    """Name and `encodeData` of each member."""
    return tuple((item.name, _encoder(item.metadata["eip712"])) for item in fields(struct))


@lru_cache(maxsize=256)
def _type_hash(struct: type) -> bytes:
    """EIP-712's `typeHash`: keccak256 of `encodeType`."""
    return keccak(encode_type(struct).encode())


@lru_cache(maxsize=256)
def _separator(domain: Domain) -> bytes:
    kind = b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    encoded = (_string(domain.name), _string(domain.version))
    return keccak(words(keccak(kind), *encoded, domain.chain_id, _encoder("address")(domain.contract)))


def digest(domain: Domain, value: Any) -> Bytes32:
    """The signed digest, keccak256(0x1901 || domain separator || hashStruct(value))."""
    return keccak(b"\x19\x01" + domain.separator() + hash_struct(value))


def decision_digest(domain: Domain, epoch: int, proposal: Bytes32, content_hash: Bytes32) -> bytes:
    """The digest of a vote (IQuorum.decisionDigest)."""
    return digest(domain, Decision(epoch, proposal, content_hash))


def typed_data(domain: Domain, value: Any) -> dict[str, Any]:
    """The JSON document that a wallet shows and signs (`eth_signTypedData_v4`); its hash is `digest`."""
    struct: type = type(value)
    types = {
        each.__name__: [
            {"name": _camel(item.name), "type": _name(item.metadata["eip712"])} for item in fields(each)
        ]
        for each in _structs(struct, {}).values()
    }
    types["EIP712Domain"] = [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ]
    return {
        "types": types,
        "primaryType": struct.__name__,
        "domain": {
            "name": domain.name,
            "version": domain.version,
            "chainId": domain.chain_id,
            "verifyingContract": _shown(domain.contract),
        },
        "message": _shown(value),
    }


def _shown(value: Any) -> Any:
    """Converts bytes to hexadecimal, structs to objects, and numbers that JSON readers may round to text."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, (tuple, list)):
        return [_shown(item) for item in value]
    if is_dataclass(value):
        return {_camel(item.name): _shown(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _EXACT:
        return str(value)
    return value


def _signature(struct: type) -> str:
    members = (f"{_name(item.metadata['eip712'])} {_camel(item.name)}" for item in fields(struct))
    return f"{struct.__name__}({','.join(members)})"


def _structs(struct: type, structs: dict[str, type]) -> dict[str, type]:
    if struct.__name__ not in structs:
        structs[struct.__name__] = struct
        for item in fields(struct):
            if isinstance(item.metadata["eip712"], type):
                _structs(item.metadata["eip712"], structs)
    return structs


def _name(kind: str | type) -> str:
    return kind if isinstance(kind, str) else kind.__name__


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _encoder(kind: str | type) -> Encoder:
    """The `encodeData` function of a type, one word; it raises ValueError for values outside the type."""
    if isinstance(kind, type):
        return partial(_nested, kind)
    if array := _SUFFIX.match(kind):
        return partial(_array, kind, int(array[2]) if array[2] else None, _encoder(array[1]))
    if integer := _INTEGER.match(kind):
        bits, signed = int(integer[2]), integer[1] == "int"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
        return partial(_integer, kind, low, high)
    if sized := _BYTES.match(kind):
        return partial(_fixed, kind, int(sized[1]))
    known: dict[str, Encoder] = {"string": _string, "bytes": keccak, "bool": _bool, "address": _address}
    return known.get(kind) or partial(_unknown, kind)


def _nested(struct: type, value: Any) -> bytes:
    if type(value) is not struct:
        raise ValueError(f"expected a {struct.__name__}, not {value!r}")
    return hash_struct(value)


def _array(kind: str, length: int | None, encode: Encoder, value: Any) -> bytes:
    if length is not None and len(value) != length:
        raise ValueError(f"{kind} has {length} items, not {len(value)}")
    return keccak(b"".join(map(encode, value)))


def _integer(kind: str, low: int, high: int, value: Any) -> bytes:
    if not low <= value < high:
        raise ValueError(f"{value!r} is not a {kind}")
    return int(value).to_bytes(32, "big", signed=low < 0)


def _fixed(kind: str, length: int, value: Any) -> bytes:
    if not len(value) == length <= 32:
        raise ValueError(f"{value!r} is not a {kind}")
    return bytes(value) + bytes(32 - length)


def _string(value: Any) -> bytes:
    return keccak(value.encode())


def _bool(value: Any) -> bytes:
    return int(bool(value)).to_bytes(32, "big")


def _address(value: Any) -> bytes:
    if len(value) != 20:
        raise ValueError(f"{value!r} is not an address")
    return bytes(12) + bytes(value)


def _unknown(kind: str, value: Any) -> bytes:
    raise ValueError(f"{value!r} is not a {kind}")
