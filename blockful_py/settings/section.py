# SPDX-License-Identifier: Apache-2.0
"""Base of the sections of the settings: frozen dataclasses whose annotations constrain their fields."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from blockful_py.errors import SettingsError
from blockful_py.settings.text import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Finite numbers x with ge <= x <= le and gt < x < lt, for the bounds that are set."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None

    def __contains__(self, x: float) -> bool:
        return (
            -math.inf < x < math.inf
            and (self.ge is None or self.ge <= x)
            and (self.gt is None or self.gt < x)
            and (self.le is None or x <= self.le)
            and (self.lt is None or x < self.lt)
        )

    def __str__(self) -> str:
        bounds = {"at least": self.ge, "above": self.gt, "at most": self.le, "below": self.lt}
        return " and ".join(f"{word} {bound}" for word, bound in bounds.items() if bound is not None)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Makes pydantic check the range together with the type."""
        from pydantic import AfterValidator

        return AfterValidator(self._checked).__get_pydantic_core_schema__(source, handler)

    def _checked(self, x: float) -> float:
        if x not in self:
            raise ValueError(f"must be {self}")
        return x


NonNegative = Annotated[float, Range(ge=0)]
Positive = Annotated[float, Range(gt=0)]
Count = Annotated[int, Range(ge=1)]


class Section:
    """Base of the sections.

    The constructor raises SettingsError for a value out of range or an unknown choice.  Types are checked
    where settings are read from a document (`validation`), not here.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        faults = [
            f"{name} must be {wanted}, not {value!r}."
            for name, hint in get_type_hints(type(self), include_extras=True).items()
            for wanted, value in _faults(hint, getattr(self, name))
        ]
        if faults:
            raise SettingsError(listed(faults))


def _faults(hint: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """The broken requirements of `hint`, each with the value at fault."""
    if get_origin(hint) is Annotated:
        yield from ((str(r), value) for r in hint.__metadata__ if isinstance(r, Range) and value not in r)
    elif get_origin(hint) is Literal:
        if value not in get_args(hint):
            yield f"one of {', '.join(map(str, get_args(hint)))}", value
    elif get_origin(hint) is tuple and isinstance(value, tuple):
        for item in value:
            yield from _faults(get_args(hint)[0], item)
    elif get_args(hint) and value is not None and type(None) in get_args(hint):
        yield from _faults(get_args(hint)[0], value)
