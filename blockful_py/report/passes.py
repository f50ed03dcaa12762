# SPDX-License-Identifier: Apache-2.0
"""Sample passes of a request, and the sources of its clean trainings: increments, or clean models."""

from __future__ import annotations

from pydantic import Field

from blockful_py.report.sections import ReportPart


class SamplePasses(ReportPart):
    """Sample passes of a request (forward and backward count 1, forward alone 1/3).

    Attributes:
        request: passes of all owners together at the time of the request.
        longest_path: passes along the longest chain of dependent jobs.
        prepared: passes made at publication.
        stored, made: models by the source of their clean training.
        unusable: why a stored training was repeated, by model.
    """

    request: float
    longest_path: float
    prepared: float
    stored: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    unusable: dict[str, str] = Field(default_factory=dict)

    @property
    def origins(self) -> tuple[tuple[str, str], ...]:
        """Source of each model's clean training, in words."""
        stored = tuple((name, "stored when the model was published") for name in self.stored)
        made = tuple(
            (
                name,
                f"made again, since the stored one is unusable: {self.unusable[name]}"
                if name in self.unusable
                else "made for the request",
            )
            for name in self.made
        )
        return stored + made

    @property
    def said(self) -> str | None:
        """The passes in words; None if there were no clean trainings."""
        if not self.stored and not self.made:
            return None
        again = f", {len(self.unusable)} of them stored but unusable" if self.unusable else ""
        return (
            f"{len(self.stored)} stored ({self.prepared:,.0f} sample passes at publication), "
            f"{len(self.made)} made{again}; the request took {self.request:,.0f} passes, "
            f"{self.longest_path:,.0f} one after the other"
        )
