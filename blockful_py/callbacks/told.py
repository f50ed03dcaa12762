# SPDX-License-Identifier: Apache-2.0
"""The callbacks of one run; what one of them raises harms neither the work nor the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from blockful_py.callbacks.callback import Callback
from blockful_py.callbacks.events import (
    AuditDone,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)
from blockful_py.errors import SettingsError
from blockful_py.learning.plugins import find

GROUP = "blockful.callbacks"
"""Entry points of other packages."""
Event = ModelTrained | ModelPublished | RequestDone | AuditDone | CertificateIssued
METHODS: Mapping[type, str] = {
    ModelTrained: Callback.training.__name__,
    ModelPublished: Callback.publication.__name__,
    RequestDone: Callback.request.__name__,
    AuditDone: Callback.audit.__name__,
    CertificateIssued: Callback.certificate.__name__,
}
"""The method that is told each event."""

_log = logging.getLogger(__name__)


class Callbacks:
    """Those that the settings name, which are made when they are first told, and those given in Python."""

    def __init__(self, names: Iterable[str] = (), given: Iterable[Callback] = ()) -> None:
        self._names = list(names)
        self._made = list(given)

    def __bool__(self) -> bool:
        return bool(self._names or self._made)

    def make(self) -> None:
        """Makes those that are named.  Raises SettingsError where one cannot be made."""
        while self._names:
            self._made.append(created(self._names[0]))
            self._names.pop(0)

    def tell(self, event: Event) -> None:
        """Tells each callback; logs what it raises, and that it cannot be made."""
        for name in self._names:
            try:
                self._made.append(created(name))
            except Exception as error:
                _log.warning("callback %s cannot be made, and is told nothing: %s", name, error)
        self._names.clear()
        method = METHODS[type(event)]
        for callback in self._made:
            try:
                getattr(callback, method)(event)
            except Exception as error:
                what = f"{type(callback).__name__}.{method}"
                _log.warning("callback %s failed, and the work goes on: %r", what, error, exc_info=error)


def created(name: str) -> Callback:
    """The callback of a name or import path.

    Raises SettingsError where there is none, or it cannot be made without arguments.
    """
    factory = find(name, "callback", BUILT_IN, GROUP)
    try:
        callback = factory()
    except TypeError as error:
        raise SettingsError(
            f"callback {name!r} cannot be made ({error}): a class that settings name takes no arguments; "
            "give others in Python, as Federation.create(..., callbacks=[...])."
        ) from None
    if not isinstance(callback, Callback):
        raise SettingsError(f"{name!r} is no callback: have the class inherit from blockful_py.Callback.")
    return callback


def _mlflow() -> Callback:
    from blockful_py.callbacks.mlflow_callback import MlflowCallback

    return MlflowCallback()


BUILT_IN: Mapping[str, Callable[[], Callback]] = {"mlflow": _mlflow}
