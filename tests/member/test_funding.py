# SPDX-License-Identifier: Apache-2.0
"""Members without ether: reported by the status, and by the member that would lead."""

from __future__ import annotations

import pytest

from blockful_py.cli.committee import _state
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.service.folder import keys_in
from blockful_py.errors import SettingsError
from blockful_py.member.endpoints import Urls, signer_of
from blockful_py.member.takeover import require_funds
from blockful_py.member.view import MemberView
from blockful_py.pipeline.coordination.status import CommitteeStatus, status_of
from blockful_py.pipeline.run.nodes import Nodes
from tests.devnets import set_balance
from tests.federations import put_back
from tests.member.conftest import Crew
from tests.member.processes import WORDS


def status(crew: Crew) -> CommitteeStatus:
    return status_of(crew.federation.contracts, crew.federation.epochs.reachable())


def test_empty_accounts_are_shown_and_can_be_funded(crew: Crew, chains: Nodes) -> None:
    accounts = {keys_in(member.folder, WORDS).account for member in crew.members}
    with put_back(chains.live, chains.archive):
        for account in accounts:
            set_balance(chains.live, account, 0)
            set_balance(chains.archive, account, 0)
        assert {each.account for each in status(crew).members} == accounts
        assert [dict(each.short) for each in status(crew).members] == 4 * [{1337: 0, 1338: 0}]
        for each in status(crew).members:
            assert each.account is not None
            empty = "0 ether on chain 1337 and 0 ether on chain 1338: send it more so that it can lead"
            assert _state(each) == f"ready, its account 0x{each.account.hex()} has {empty}"
        assert set(crew.federation.epochs.fund()) == accounts
        assert [each.short for each in status(crew).members] == 4 * [{}]
        assert crew.federation.epochs.fund() == ()


def test_a_member_that_cannot_pay_does_not_lead(crew: Crew, chains: Nodes) -> None:
    keys = keys_in(crew.members[0].folder, WORDS)
    with put_back(chains.live, chains.archive), _view(crew, keys) as view:
        set_balance(chains.live, keys.account, 10**18)
        set_balance(chains.archive, keys.account, 0)
        with pytest.raises(SettingsError, match=rf"0x{keys.account.hex()} has no ether on chain 1338: send"):
            require_funds(view, keys.account)
        set_balance(chains.archive, keys.account, 10**18)
        require_funds(view, keys.account)


def test_a_broken_answer_is_one_line_of_the_status(crew: Crew) -> None:
    with crew.members[2].cheating("short account"):
        shown = status(crew)
    assert [each.ready for each in shown.members] == [True, True, False, True]
    assert "Identity.account has 3 bytes, 20 were expected" in _state(shown.members[2])


def _view(crew: Crew, keys: MemberKeys) -> MemberView:
    nodes = crew.federation.nodes
    return MemberView.of(crew.federation.run.path, Urls(nodes.live.url, nodes.archive.url), signer_of(keys))
