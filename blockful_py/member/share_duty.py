# SPDX-License-Identifier: Apache-2.0
"""Has shares of sums handed on to a new committee, and the old ones destroyed."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import IndexedClient
from blockful_py.committee.service.messages import HandOnRequest
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import QuorumError
from blockful_py.keys.handed_shares import HandedShare
from blockful_py.keys.shared_files import threshold_of
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.models.analytic import HEAD
from blockful_py.member.finishing import rank
from blockful_py.member.office import MemberOffice
from blockful_py.member.view import MemberView
from blockful_py.pipeline.coordination.remote_committee import members_at
from blockful_py.pipeline.review.share_reader import same_members, share_uris
from blockful_py.record.statement_parts import SharedPart
from blockful_py.storage.cid import parse_cid

RUN_BYTES = 1 << 23
"""Bytes of the shares of one run, at most; a model's go in one."""


class SharesDuty:
    """Asks the outgoing members and the current ones to hand on the shares that this member lacks or keeps.

    A member of rank r asks r + 1 stall times after it saw the need, or the end of a run, and again after as
    long.
    """

    name = "shares"

    def __init__(
        self, office: MemberOffice, folder: MemberFolder, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._office = office
        self._folder = folder
        self._now = now
        self._seen: tuple[int, float] | None = None

    def step(self) -> None:
        """Has shares handed on when it is this member's turn.

        Raises QuorumError, with the members' reasons, when that failed; a later step tries again.
        """
        view = self._office.view_if_any()
        if view is None or view.run.party is None or view.contracts.followers is None:
            return
        epoch = view.contracts.committee.current_epoch()
        needed = [*_needed(view, self._folder)]
        if not needed:
            self._seen = None
            return
        if self._seen is None or self._seen[0] != epoch or self._office.is_handing_on:
            self._seen = epoch, self._now()
        leaders = sorted({*self._office.roster(epoch), *self._office.roster(epoch - 1)})
        if self._folder.address not in leaders:
            return
        place = leaders.index(self._folder.address) + 1
        turn = 1 + rank(keccak(words(epoch)), place, len(leaders))
        if self._now() - self._seen[1] < turn * view.run.settings.committee.stall_seconds:
            return
        self._seen = None
        for asked in needed:
            self._ask(view, epoch, asked)

    def _ask(self, view: MemberView, epoch: int, asked: HandOnRequest) -> None:
        committee = view.contracts.committee
        current = committee.roster(epoch)[0].members
        both = {*current, *committee.roster(asked.epoch)[0].members}
        there = [each.client for each in members_at(view.led_by(self._folder).reachable())]
        clients = [IndexedClient(j, each) for j, each in enumerate(there, start=1) if each.address in both]
        about = (MessageKind.HAND_ON, epoch, system_rng(32), asked)
        answers = at_once(clients, lambda each: each.client.ask(*about), len(clients))
        done = {each.client.address for each in clients if not isinstance(answers[each.index], Refusal)}
        if len(done.intersection(current)) <= len(current) - threshold_of(len(current)):
            reasons = "; ".join(
                f"0x{each.client.address.hex()}: {answer.reason}"
                for each in clients
                if isinstance(answer := answers[each.index], Refusal)
            )
            raise QuorumError(
                f"shares of {', '.join(asked.names)} are not handed on to the members of epoch {epoch}: "
                f"{reasons or 'too few answer'}. Start the members of epoch {asked.epoch}, and wait."
            )


def _needed(view: MemberView, folder: MemberFolder) -> Iterator[HandOnRequest]:
    """The parts whose new shares a member lacks, or whose old ones it keeps, by the epoch that has them."""
    parts = {name: part for name, part in view.earlier_parts().items() if part.classes}
    if not parts:
        return
    committee, found = view.contracts.committee, defaultdict[int, list[str]](list)
    epoch = committee.current_epoch()
    since = same_members(committee, epoch)[0]
    is_member = folder.address in committee.roster(epoch)[0].members
    kept = folder.vault.versions()
    for name, part in parts.items():
        shares = [view.handed.find(uri) for uri in share_uris(part)]
        if is_member:
            if all(any(each.is_settled and each.epoch >= since for each in one) for one in shares):
                continue
        elif kept.isdisjoint(parse_cid(each).digest for each in part.files):
            continue
        was_there = folder.address in committee.roster(part.epoch)[0].members
        found[_holders(part, shares, since, was_there)].append(name)
    classes = view.sources.setup.architecture.class_count
    features = initial_weights(view.sources.setup.federation)[HEAD].shape[0]
    most = max(1, RUN_BYTES // (22 * classes * features**2))
    for holders, names in found.items():
        for i in range(0, len(names), most):
            yield HandOnRequest(tuple(names[i : i + most]), holders)


def _holders(part: SharedPart, shares: list[list[HandedShare]], since: int, was_there: bool) -> int:
    """The epoch whose members have the old shares, as far as this member knows."""
    earlier = [each.epoch for one in shares for each in one if each.epoch < since]
    return max(earlier, default=part.epoch if was_there else since - 1)
