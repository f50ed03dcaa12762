# SPDX-License-Identifier: Apache-2.0
"""The federation file: the rules that all participants and members of a federation share.

It is a TOML document with the chains' contracts, the architecture and recipe, the rules of selection, of
unlearning and of access, and the CIDs of the shared files.  It has no secret, no seed and no data.  Its
SHA-256 digest is in ParticipantRegistry on the live chain, which proves that all parties have the same file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from blockful_py.errors import SettingsError
from blockful_py.settings import (
    AccessSettings,
    ArchiveSettings,
    ChainSettings,
    CommitteeSettings,
    FederationSettings,
    LearningSettings,
    Settings,
    UnlearningSettings,
)
from blockful_py.settings.section import Range, Section
from blockful_py.settings.validation import validated
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Bytes32, Codec, Uri

FORMAT = "blockful-federation/1"
MAX_BYTES = 1 << 20
MAX_PUBLIC_BYTES = 1 << 30
"""Maximum size in bytes of a public file that a federation file names."""
RULES = ("federation", "learning", "unlearning", "committee", "access", "archive", "chain")
"""Sections of the settings that all parties share."""
OWN: Mapping[str, tuple[str, ...]] = {
    "federation": ("accounts", "situation", "missing", "concentration", "shards"),
    "learning": ("dataset", "data_files", "label", "data_limit", "device", "threads"),
    "chain": ("live_url", "archive_url", "devnet", "max_fee_gwei"),
}
"""Each party's own settings, by section: where its data, nodes and accounts are."""


@dataclass(frozen=True)
class PublicFiles(Section):
    """CIDs of the files that all parties need.

    Attributes:
        measuring: the samples on which members measure (`learning.sample_files`).
        initial: the shared initialisation, from which models without references start.
    """

    measuring: str
    initial: str


@dataclass(frozen=True)
class ContractEntry(Section):
    """A contract of the federation.

    Attributes:
        address: 0x and 40 hexadecimal digits.
        code: Keccak-256 of its code on the chain, 0x and 64 hexadecimal digits.
        block, transaction: of its deployment.
    """

    address: str
    code: str
    block: Annotated[int, Range(ge=0)]
    transaction: str


@dataclass(frozen=True)
class FederationFile(Section):
    """A parsed federation file.

    Attributes:
        name: a display name.
        contracts: by chain id, then by name.
    """

    name: str
    public: PublicFiles
    contracts: dict[str, dict[str, ContractEntry]]
    federation: FederationSettings = field(default_factory=FederationSettings)
    learning: LearningSettings = field(default_factory=LearningSettings)
    unlearning: UnlearningSettings = field(default_factory=UnlearningSettings)
    committee: CommitteeSettings = field(default_factory=CommitteeSettings)
    access: AccessSettings = field(default_factory=AccessSettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    chain: ChainSettings = field(default_factory=ChainSettings)
    format: Literal["blockful-federation/1"] = "blockful-federation/1"

    @classmethod
    def of(
        cls,
        name: str,
        settings: Settings,
        public: PublicFiles,
        contracts: Mapping[str, Mapping[str, ContractEntry]],
    ) -> FederationFile:
        """The file of a federation with these settings, without each party's own ones."""
        sections = {rule: _common(rule, getattr(settings, rule)) for rule in RULES}
        kept = {chain_id: dict(entries) for chain_id, entries in contracts.items()}
        return cls(name, public, kept, **sections)

    @classmethod
    def parse(cls, data: bytes) -> FederationFile:
        """Parses a federation file.  Raises SettingsError, which lists every fault."""
        if len(data) > MAX_BYTES:
            raise SettingsError(f"a federation file has at most {MAX_BYTES} bytes, not {len(data)}.")
        try:
            document = tomllib.loads(data.decode())
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"this is no federation file: {error}.") from None
        if document.get("format") != FORMAT:
            raise SettingsError(
                f"a federation file says format = {FORMAT!r}: take the file that "
                "`blockful federation create` wrote."
            )
        file = validated(cls, document)
        own = [f"{rule}.{key}" for rule, keys in OWN.items() for key in keys if key in document.get(rule, {})]
        if own:
            raise SettingsError(
                f"{', '.join(own)} is each party's own setting: leave it out of a federation file."
            )
        for cid in (file.public.measuring, file.public.initial):
            parse_cid(cid)
        file._require_contracts()
        file.settings()
        return file

    def _require_contracts(self) -> None:
        for chain_id, entries in self.contracts.items():
            for name, entry in entries.items():
                for field_, digits in (("address", 40), ("code", 64), ("transaction", 64)):
                    text = getattr(entry, field_)
                    if not re.fullmatch(f"0x[0-9a-fA-F]{{{digits}}}", text):
                        raise SettingsError(
                            f"contracts.{chain_id}.{name}.{field_} is {text[:80]!r}: 0x and {digits} "
                            "hexadecimal digits are expected."
                        )

    def settings(self, seed: int = 0, **own: Mapping[str, Any]) -> Settings:
        """The settings of one participant or member: `own` adds the party's own settings, by section.

        Raises SettingsError if they do not fit together.
        """
        document: dict[str, Any] = {"seed": seed}
        for rule in RULES:
            document[rule] = {**asdict(getattr(self, rule)), **own.get(rule, {})}
        document.update({name: value for name, value in own.items() if name not in RULES})
        return Settings.parse(document)

    def to_bytes(self) -> bytes:
        """The document, whose digest is on the chain."""
        import tomli_w

        document = asdict(self)
        for rule, keys in OWN.items():
            for key in keys:
                del document[rule][key]
        head = {"format": document.pop("format"), "name": document.pop("name")}
        return tomli_w.dumps(_without_none({**head, **document})).encode()


def require_carried_out(settings: Settings) -> None:
    """Checks that machines carry out all that a federation file asks for.  Raises SettingsError if not."""
    for asked, why in (
        (
            settings.learning.increments and not settings.learning.clean_references,
            "learning.increments without learning.clean_references: among machines no request uses them",
        ),
        (
            settings.unlearning.references != "kept",
            "unlearning.references: among machines owners do not wait for all candidates of eq. 1",
        ),
        (
            settings.unlearning.clients or settings.unlearning.samples,
            "unlearning.clients and unlearning.samples: a participant asks for its own data itself "
            "(`blockful participant request`)",
        ),
    ):
        if asked:
            raise SettingsError(f"{why}; leave it out, or use a laboratory (`blockful train`).")


def uri_of(data: bytes) -> Uri:
    """URI of a federation file; its digest is the one on the chain."""
    return file_uri(data)


def uri_of_digest(digest: Bytes32) -> Uri:
    """URI of the federation file that the chain names: MAX_BYTES make one raw block."""
    return Uri(digest, Codec.RAW)


def _common(rule: str, section: Any) -> Any:
    defaults = {each.name: each for each in fields(section)}
    kept = type(section)()
    return replace(section, **{key: getattr(kept, key) for key in OWN.get(rule, ()) if key in defaults})


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_without_none(each) for each in value]
    return value


def read_federation_file(path: Path) -> bytes:
    """The bytes of a federation file.  Raises SettingsError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the federation file {path} cannot be read ({error.strerror}): ask the federation's founder "
            "for it."
        ) from None
