# SPDX-License-Identifier: Apache-2.0
"""Deliveries of a run's models and the answers to recalls: reads them, and declares new ones."""

from __future__ import annotations

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.crypto import curve, eip712
from blockful_py.errors import SettingsError
from blockful_py.pipeline.run.accounts import accounts_of, identities_in, provide
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import position
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.recall.documents import Answers, Deliveries
from blockful_py.record.recall.recipients import Recipients, RecordedModel, recipients
from blockful_py.storage.cid import cid_string
from blockful_py.types import Position, Receipt


def recipients_of(opened: OpenedRun) -> Recipients:
    """All deliveries on the record of a run, with the answers that count."""
    contracts = opened.contracts
    return recipients(
        contracts.participants.declarations(),
        recorded(contracts, opened.catalogue()),
        opened.stores.live.read,
        live_domain(contracts),
    )


def recorded(contracts: Contracts, catalogue: Catalogue) -> dict[Position, RecordedModel]:
    """The models of a catalogue, with the nodes of all their versions, as the live chain logged them."""
    nodes: dict[Position, dict[int, str]] = {}
    for each in (*contracts.live.published(), *contracts.live.redactions()):
        nodes.setdefault(each.position, {})[each.version] = cid_string(each.uri)
    return {
        placed.position: RecordedModel(
            name, placed.node.statement.owner, placed.version, nodes.get(placed.position, {})
        )
        for name, placed in catalogue.models.items()
    }


def live_domain(contracts: Contracts) -> eip712.Domain:
    """The domain of recipients' signatures."""
    return eip712.Domain(contracts.live.chain_id, contracts.live.address)


def owner_secret(opened: OpenedRun, placed: PlacedNode) -> int:
    """The secret of a model's owner, from the run's accounts.

    Raises SettingsError if the run has another account for this user, or none.
    """
    run, statement = opened.run, placed.node.statement
    secret = accounts_of(run.settings, identities_in(run, opened.nodes)).secret(statement.user)
    if "0x" + curve.address(curve.multiply_base(secret)).hex() != statement.owner:
        raise SettingsError(
            f"{statement.name} belongs to {statement.owner}, whose key this run does not have: name its "
            "keystore with --keystore."
        )
    return secret


def declare(opened: OpenedRun, secret: int, file: Deliveries | Answers) -> Receipt:
    """Keeps a file in the live store and declares it on its model; the account pays.

    Raises ContractError if the run's contracts know no declarations, and NodeError if the account cannot pay.
    """
    live, registry = opened.contracts.live, opened.contracts.participants
    sender = Sender(live.node, Signer(secret.to_bytes(32, "big")))
    provide(opened.nodes.live_sender, registry.interface, sender.address)
    own = ParticipantRegistryContract(live.node, registry.address, sender)
    uri = opened.stores.live.add(file.to_bytes())
    receipt = own.declare(position(file.position), uri)
    own.await_settled()
    return receipt
