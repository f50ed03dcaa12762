# SPDX-License-Identifier: Apache-2.0
"""Every exception that BlockFUL raises on purpose.

    BlockfulError
    |-- SettingsError            a setting is missing, unknown or out of range
    |   `-- MissingExtraError    a package that the base install leaves out
    |-- GraphError               the inheritance graph is not usable
    |   |-- CycleError
    |   `-- UnknownModelError
    |-- LearningError            data, partitions, models or training
    |   |-- UnknownClassError
    |   `-- UnusableWeightsError  of another form than the federation's architecture, or not finite
    |-- UnlearningError          a request or a method cannot be carried out
    |-- StorageError             the block store or an IPFS node
    |   |-- BlockNotFoundError
    |   |-- IntegrityError       bytes do not match their CID
    |   |-- FormatError          bytes that are not what they claim to be
    |   `-- StoreUnreachableError
    |-- CryptoError              keys, hashes, shares
    |   |-- InvalidKeyError
    |   |-- InvalidSignatureError
    |   |-- NonceReuseError
    |   |-- EnvelopeError        a sealed file or a wrapped key cannot be decrypted
    |   |-- KeystoreError        a member's secrets cannot be read or written
    |   |-- KeyDestroyedError    nobody who was asked has the data key of a version
    |   `-- CheaterError         names the members whose messages are wrong
    |-- CommitteeError           a proposal was not certified
    |   |-- QuorumError
    |   |-- RefusedError         a member's own check refused the proposal
    |   |   `-- RefutedError     ... because its content is wrong, whatever else happens on the chains
    |   |-- MessageError         bytes that are no message of this committee to this member
    |   |-- UnreachableError     a member did not answer in time
    |   `-- MemoryLostError      a member cannot remember what it did, and must not go on
    |-- ChainError               a node, a deployment or a transaction
    |   |-- NodeError            unreachable, wrong chain id, port taken
    |   |   |-- MissingEventsError  it lists other events than the contract has counted
    |   |   `-- ReorganisedError  blocks that counted as settled were replaced
    |   |-- DeploymentError
    |   |-- ToolchainError       Node, the compiler or a program is missing or too old
    |   `-- ContractError        a custom error of a contract, by name
    |-- VerificationError        a check of the record failed
    |-- EngineError              tasks cannot be carried out: no workers, or workers without code or data
    `-- RunError                 a run directory cannot be used

An error says what was expected, what was found, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "BlockNotFoundError",
    "BlockfulError",
    "BusyError",
    "ChainError",
    "CheaterError",
    "CommitteeError",
    "ContractError",
    "CryptoError",
    "CycleError",
    "DeploymentError",
    "DisputedError",
    "EarlyError",
    "EngineError",
    "EnvelopeError",
    "FormatError",
    "GraphError",
    "IntegrityError",
    "InvalidKeyError",
    "InvalidSignatureError",
    "KeyDestroyedError",
    "KeystoreError",
    "LearningError",
    "MemoryLostError",
    "MessageError",
    "MissingEventsError",
    "MissingExtraError",
    "NodeError",
    "NonceReuseError",
    "QuorumError",
    "RefusedError",
    "RefutedError",
    "ReorganisedError",
    "RunError",
    "SettingsError",
    "StorageError",
    "StoreUnreachableError",
    "TooLongError",
    "ToolchainError",
    "UnknownClassError",
    "UnknownModelError",
    "UnlearningError",
    "UnreachableError",
    "VerificationError",
    "WithdrawnError",
]


class BlockfulError(Exception):
    """Base of all errors of this package.

    `exit_code` is the status that the command line ends with.
    """

    exit_code = 1


class SettingsError(BlockfulError):
    exit_code = 2


class MissingExtraError(SettingsError):
    """`what` needs a package that an extra brings."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install 'blockful[{extra}]'.")


class GraphError(BlockfulError):
    exit_code = 2


class CycleError(GraphError):
    """The references form a cycle; `models` lists it in order."""

    def __init__(self, models: Sequence[str]) -> None:
        self.models = tuple(models)
        path = " -> ".join((*self.models, self.models[0]))
        super().__init__(
            f"the references form a cycle: {path}. "
            "A model can only reference models published before it: remove one of these references."
        )


class UnknownModelError(GraphError):
    """A name that no model of the graph has."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        shown = ", ".join(self.known[:20]) + (", ..." if len(self.known) > 20 else "")
        super().__init__(f"there is no model {name!r}. Known models: {shown or 'none'}.")


class WithdrawnError(GraphError):
    """A model that has no weights, because its owner did not do its part of a request in time."""

    def __init__(self, model: str) -> None:
        super().__init__(f"model {model} is withdrawn: it has no weights until its owner publishes it again.")


class LearningError(BlockfulError):
    exit_code = 2


class UnknownClassError(LearningError):
    """A class that the data does not have, or that no user holds."""


class UnusableWeightsError(LearningError):
    """Weights of another form than those of the federation's architecture, or that are not finite."""


class UnlearningError(BlockfulError):
    exit_code = 2


class StorageError(BlockfulError):
    exit_code = 5


class BlockNotFoundError(StorageError):
    """A block is not in the store."""


class IntegrityError(StorageError):
    """Bytes do not hash to their CID."""


class FormatError(StorageError):
    """Bytes that are not what they claim to be (truncated, malformed, too large)."""


class StoreUnreachableError(StorageError):
    """The node that keeps a store does not answer, or broke off: what was asked can be asked again."""


class CryptoError(BlockfulError):
    exit_code = 6


class InvalidKeyError(CryptoError):
    """A key or point is not a valid one on secp256k1."""


class InvalidSignatureError(CryptoError):
    """A signature does not verify."""


class NonceReuseError(CryptoError):
    """A signing nonce would be used twice, which would reveal the share."""


class EnvelopeError(CryptoError):
    """A sealed file or a wrapped key is damaged, cut short, or of another key, reader or context."""


class KeystoreError(CryptoError):
    """A file of secrets is damaged, of another format, or the passphrase is wrong."""


class KeyDestroyedError(CryptoError):
    """The data key of a version is not where it was looked for: erased, or never delivered."""


class CheaterError(CryptoError):
    """Members sent messages that do not check out; `members` are their 1-based indices."""

    def __init__(self, members: Sequence[int], what: str) -> None:
        self.members = tuple(sorted(members))
        self.what = what
        listed = ", ".join(str(member) for member in self.members)
        super().__init__(f"{what} from member(s) {listed} does not check out; exclude them and repeat.")


class CommitteeError(BlockfulError):
    exit_code = 6


class QuorumError(CommitteeError):
    """Too few members agreed."""


class DisputedError(QuorumError):
    """Too few members attest nonces; without one of `suspects`, sets of 1-based indices, more may."""

    def __init__(self, message: str, suspects: Sequence[frozenset[int]]) -> None:
        self.suspects = tuple(suspects)
        super().__init__(message)


class RefusedError(CommitteeError):
    """A member's own check of a proposal failed."""


class EarlyError(RefusedError):
    """A proposal fits another moment, as where a clock is wrong or another decision came between: it may be
    made again, and is no reason for an alarm."""


class RefutedError(RefusedError):
    """A proposal's content is not what the member finds itself: worth an alarm."""


class MessageError(CommitteeError):
    """Bytes that are not a message, or not one from, to and about what they have to be."""


class TooLongError(MessageError):
    """A message, or an answer, that is longer than its kind can be."""


class UnreachableError(CommitteeError):
    """A member cannot be reached, or did not answer in time."""


class BusyError(UnreachableError):
    """A member takes no more questions at present."""


class MemoryLostError(CommitteeError):
    """The memory of a member is missing, damaged, in use, or cannot be written."""


class ChainError(BlockfulError):
    exit_code = 4


class NodeError(ChainError):
    """A node is down, answers for another chain, or its port is taken."""


class MissingEventsError(NodeError):
    """A node lags, or leaves out events that a contract has emitted."""


class ReorganisedError(NodeError):
    """A chain replaced blocks that counted as settled."""


class DeploymentError(ChainError):
    """A deployments file is missing or does not match the chain."""


class ToolchainError(ChainError):
    """A program that is needed is missing or too old."""


class ContractError(ChainError):
    """A contract refused a call with a custom error.

    `name` is the Solidity error, `arguments` its parameters by name.
    """

    def __init__(self, contract: str, name: str, arguments: Mapping[str, Any]) -> None:
        self.contract = contract
        self.name = name
        self.arguments = dict(arguments)
        listed = ", ".join(f"{key}={_shown(value)}" for key, value in self.arguments.items())
        super().__init__(f"{contract} refused: {name}({listed})")


class VerificationError(BlockfulError):
    """A check of the record failed; `check` names it, `subject` what it was made on."""

    exit_code = 3

    def __init__(self, check: str, subject: str, detail: str) -> None:
        self.check = check
        self.subject = subject
        self.detail = detail
        super().__init__(f"{subject}: check {check!r} failed: {detail}")


class EngineError(BlockfulError):
    """An engine does not answer, or its workers lack the code, the data or the memory for a task."""

    exit_code = 4


class RunError(BlockfulError):
    """A run directory is missing, unfinished, or of another version."""


def _shown(value: Any) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
