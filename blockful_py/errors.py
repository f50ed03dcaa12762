# SPDX-License-Identifier: Apache-2.0
"""Every exception that BlockFUL raises on purpose.

    BlockfulError
    |-- SettingsError                a setting is missing, unknown or out of range
    |   `-- MissingExtraError        a feature needs an optional package that is not installed
    |-- GraphError                   the inheritance graph is not usable
    |   |-- CycleError               the references form a cycle
    |   |-- UnknownModelError        no model of the graph has this name
    |   `-- WithdrawnError           the model has no weights since its owner missed a deadline
    |-- LearningError                data, partitions, models or training
    |   |-- UnknownClassError        the data lacks the class, or no user holds it
    |   `-- UnusableWeightsError     weights do not fit the architecture, or are not finite
    |-- UnlearningError              a request or a method cannot be carried out
    |-- StorageError                 the block store or an IPFS node
    |   |-- BlockNotFoundError       a block is not in the store
    |   |-- IntegrityError           bytes do not match their CID
    |   |-- FormatError              bytes are truncated, malformed or too large
    |   `-- StoreUnreachableError    the store's node does not answer
    |-- CryptoError                  keys, hashes, shares
    |   |-- InvalidKeyError          a key or point is not valid on secp256k1
    |   |-- InvalidSignatureError    a signature does not verify
    |   |-- NonceReuseError          a signing nonce would be used twice
    |   |-- EnvelopeError            a sealed file or a wrapped key cannot be decrypted
    |   |-- KeystoreError            a member's secrets cannot be read or written
    |   |-- KeyDestroyedError        no member that was asked has the version's data key
    |   |-- CheaterError             members sent wrong messages
    |   `-- SilentError              members sent no message in time
    |-- CommitteeError               a proposal was not certified
    |   |-- QuorumError              too few members agreed
    |   |   `-- DisputedError        too few members attest nonces
    |   |-- RefusedError             a member's own check refused the proposal
    |   |   |-- EarlyError           ... but may accept it at another time
    |   |   `-- RefutedError         ... because its content is wrong at any time
    |   |-- MessageError             bytes are not a message of this committee to this member
    |   |   `-- TooLongError         a message exceeds the maximum length of its kind
    |   |-- UnreachableError         a member did not answer in time
    |   |   `-- BusyError            a member takes no more questions at present
    |   `-- MemoryLostError          a member lost its record of past votes, and must not go on
    |-- ChainError                   a node, a deployment or a transaction
    |   |-- NodeError                unreachable, wrong chain id, port taken
    |   |   |-- MissingEventsError   the node lists other events than the contract has counted
    |   |   `-- ReorganisedError     blocks that counted as settled were replaced
    |   |-- DeploymentError          a deployments file is missing or does not match the chain
    |   |-- ToolchainError           Node, the compiler or a program is missing or too old
    |   `-- ContractError            a custom error of a contract, by name
    |-- VerificationError            a check of the record failed
    |   `-- RecalledError            a version was replaced or withdrawn
    |-- EngineError                  no workers, or workers lack code, data or memory
    `-- RunError                     a run directory cannot be used

An error's message states the expectation, the finding and the remedy.
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
    "RecalledError",
    "RefusedError",
    "RefutedError",
    "ReorganisedError",
    "RunError",
    "SettingsError",
    "SilentError",
    "StorageError",
    "StoreUnreachableError",
    "TooLongError",
    "ToolchainError",
    "UnknownClassError",
    "UnknownModelError",
    "UnlearningError",
    "UnreachableError",
    "UnusableWeightsError",
    "VerificationError",
    "WithdrawnError",
]


class BlockfulError(Exception):
    """Base of all errors of this package.  `exit_code` is the exit status of the command line."""

    exit_code = 1


class SettingsError(BlockfulError):
    exit_code = 2


class MissingExtraError(SettingsError):
    """A feature, `what`, needs a package of an extra that is not installed."""

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
    """No model of the graph has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        shown = ", ".join(self.known[:20]) + (", ..." if len(self.known) > 20 else "")
        super().__init__(f"there is no model {name!r}. Known models: {shown or 'none'}.")


class WithdrawnError(GraphError):
    """A model has no weights, because its owner missed the deadline of a request."""

    def __init__(self, model: str) -> None:
        super().__init__(f"model {model} is withdrawn: it has no weights until its owner publishes it again.")


class LearningError(BlockfulError):
    exit_code = 2


class UnknownClassError(LearningError):
    """The data lacks a class, or no user holds it."""


class UnusableWeightsError(LearningError):
    """Weights do not fit the federation's architecture, or are not finite."""


class UnlearningError(BlockfulError):
    exit_code = 2


class StorageError(BlockfulError):
    exit_code = 5


class BlockNotFoundError(StorageError):
    """A block is not in the store."""


class IntegrityError(StorageError):
    """Bytes do not hash to their CID."""


class FormatError(StorageError):
    """Bytes are not in the expected format: truncated, malformed or too large."""


class StoreUnreachableError(StorageError):
    """The store's node does not answer or broke the connection; retrying is safe."""


class CryptoError(BlockfulError):
    exit_code = 6


class InvalidKeyError(CryptoError):
    """A key or point is not valid on secp256k1."""


class InvalidSignatureError(CryptoError):
    """A signature does not verify."""


class NonceReuseError(CryptoError):
    """A signing nonce would be used twice, which would reveal the key share."""


class EnvelopeError(CryptoError):
    """A sealed file or a wrapped key is damaged or truncated, or has another key, reader or context."""


class KeystoreError(CryptoError):
    """A secrets file is damaged or in another format, or the passphrase is wrong."""


class KeyDestroyedError(CryptoError):
    """The data key of a version was not found: it was erased or never delivered."""


class CheaterError(CryptoError):
    """Members sent messages that fail verification; `members` are their 1-based indices."""

    def __init__(self, members: Sequence[int], what: str) -> None:
        self.members = tuple(sorted(members))
        self.what = what
        listed = ", ".join(str(member) for member in self.members)
        super().__init__(f"{what} from member(s) {listed} does not check out; exclude them and repeat.")


class SilentError(CryptoError):
    """Members sent no message in time, as one member saw; `members` are their 1-based indices."""

    def __init__(self, members: Sequence[int], what: str) -> None:
        self.members = tuple(sorted(members))
        listed = ", ".join(str(member) for member in self.members)
        super().__init__(f"{what} from member(s) {listed} came in time; repeat without them.")


class CommitteeError(BlockfulError):
    exit_code = 6


class QuorumError(CommitteeError):
    """Too few members agreed."""


class DisputedError(QuorumError):
    """Too few members attest nonces; excluding one of `suspects` (sets of 1-based indices) may help."""

    def __init__(self, message: str, suspects: Sequence[frozenset[int]]) -> None:
        self.suspects = tuple(suspects)
        super().__init__(message)


class RefusedError(CommitteeError):
    """A member's own check of a proposal failed."""


class EarlyError(RefusedError):
    """A proposal comes too early or too late, for example after a clock error or another decision.

    It may be proposed again and is no reason for an alarm.
    """


class RefutedError(RefusedError):
    """A proposal's content contradicts the member's own result: worth an alarm."""


class MessageError(CommitteeError):
    """Bytes are not a message, or have the wrong sender, recipient or subject."""


class TooLongError(MessageError):
    """A message or an answer exceeds the maximum length of its kind."""


class UnreachableError(CommitteeError):
    """A member cannot be reached, or did not answer in time."""


class BusyError(UnreachableError):
    """A member takes no more questions at present."""


class MemoryLostError(CommitteeError):
    """A member's record of past votes is missing, damaged, in use, or cannot be written."""


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
    """A required program is missing or too old."""


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
    """A check of the record failed: `check` is its name, `subject` the checked object."""

    exit_code = 3

    def __init__(self, check: str, subject: str, detail: str) -> None:
        self.check = check
        self.subject = subject
        self.detail = detail
        super().__init__(f"{subject}: check {check!r} failed: {detail}")


class RecalledError(VerificationError):
    """A version was replaced or withdrawn.

    Attributes:
        model, version: the recalled version.
        stands: the model's current version.
        node: CID of its node.
        withdrawn: whether it has no weights; None if its node is not known here.
    """

    def __init__(self, model: str, version: int, stands: int, node: str, withdrawn: bool | None) -> None:
        self.model = model
        self.version = version
        self.stands = stands
        self.node = node
        self.withdrawn = withdrawn
        found = {
            True: "the model is withdrawn: delete every copy",
            False: f"version {stands} stands: fetch it, and delete this one",
            None: f"version {stands} stands, with the node {node}: ask its publisher, and delete this one",
        }
        super().__init__("current", f"version {version} of {model}", f"it was recalled; {found[withdrawn]}")


class EngineError(BlockfulError):
    """An engine does not answer, or its workers lack the code, data or memory for a task."""

    exit_code = 4


class RunError(BlockfulError):
    """A run directory is missing, unfinished, or of another version."""


def _shown(value: Any) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
