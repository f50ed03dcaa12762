# SPDX-License-Identifier: Apache-2.0
"""Declares recipients of a run's models, and their answers to recalls."""

from __future__ import annotations

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.crypto import curve
from blockful_py.errors import SettingsError
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.run.accounts import accounts_of, identities_in, provide
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.fields import of_octets, position
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.recall.documents import DeclaredAnswers, Deliveries
from blockful_py.storage.federated import FederatedStore
from blockful_py.types import Address, Receipt


def owner_secret(opened: OpenedRun, placed: PlacedNode) -> int:
    """The secret of a model's owner, from the run's accounts.

    Raises SettingsError if the run has another account for this user, or none.
    """
    run = opened.run
    secret = accounts_of(run.settings, identities_in(run, opened.nodes)).secret(placed.node.statement.user)
    return require_owner(secret, placed)


def require_owner(secret: int, placed: PlacedNode) -> int:
    """The secret, if it is the model's owner's.  Raises SettingsError."""
    statement, account = placed.node.statement, of_octets(account_of(secret))
    if account != statement.owner:
        raise SettingsError(
            f"{statement.name} belongs to {statement.owner}, and the key here is of {account}: name the "
            "owner's keystore with --keystore."
        )
    return secret


def account_of(secret: int) -> Address:
    """The account of a secret, 20 bytes."""
    return curve.address(curve.multiply_base(secret))


def declare(opened: OpenedRun, secret: int, file: Deliveries | DeclaredAnswers) -> Receipt:
    """Keeps a file in the live store and declares it on its model; the account pays.

    In a federation of machines the members keep it too.  Raises SettingsError if the account is no
    participant there, DeploymentError if the run's contracts know no declarations, NodeError if the account
    cannot pay, and QuorumError if too few members take the file.
    """
    live, registry = opened.contracts.live, opened.contracts.participants
    registry.require_declarations()
    sender = Sender(live.node, Signer(secret.to_bytes(32, "big")))
    provide(opened.nodes.live_sender, registry.interface, sender.address)
    own = ParticipantRegistryContract(live.node, registry.address, sender)
    store = opened.stores.live
    uri = store.add(file.to_bytes())
    if isinstance(store, FederatedStore):
        if not registry.participant(sender.address).since:
            raise SettingsError(
                f"members take files of participants alone, and {of_octets(sender.address)} is none: send "
                "the answer to the model's owner, who records it."
            )
        remote_committee_of(opened.run, opened.contracts, secret).push([uri], store.own)
    receipt = own.declare(position(file.position), uri)
    own.await_settled()
    return receipt
