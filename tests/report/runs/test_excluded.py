# SPDX-License-Identifier: Apache-2.0
"""Cheating members are named in the job, in the report and in the commands' output."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from blockful_py.committee.member import Member
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.crypto.threshold.messages import NonceCommitments, SignatureShares
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run import contracts
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.report.runs.single import unlearn_once
from blockful_py.report.schema import Report
from blockful_py.report.table import print_report
from blockful_py.types import Paradigm
from tests.federations import small, trained


class SecondLies(Member):
    """Member 2 adds one to a share."""

    def sign(self, draft: RedactionDraft, commitments: Sequence[NonceCommitments]) -> SignatureShares:
        shares = super().sign(draft, commitments)
        if self.index != 2:
            return shares
        return replace(shares, values=(shares.values[0] + 1, *shares.values[1:]))


def test_a_liar_is_named_in_the_job_the_report_and_the_output(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with trained(small(), tmp_path / "run", chains) as federation:
        epoch = federation.contracts.committee.current_epoch()
        liar = federation.contracts.committee.roster(epoch)[0].members[1]
        monkeypatch.setattr(contracts, "Member", SecondLies)
        report = unlearn_once(federation, None, None, Paradigm.PARALLEL, None, Silent()).report
        assert report is not None
        (named,) = report.excluded[Paradigm.PARALLEL]
        assert named.startswith(f"member 2 (0x{liar.hex()}): ")
        assert named.endswith("does not check out")
        assert jobs_of(federation.run)[-1].excluded == (named,)
    written = (tmp_path / "run" / "report.json").read_bytes()
    assert Report.from_bytes(written).excluded == report.excluded
    assert named in (tmp_path / "run" / "report.html").read_text()
    out = io.StringIO()
    print_report(report, Console(file=out, width=400))
    assert f"parallel: {named}" in out.getvalue()
