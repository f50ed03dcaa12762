# SPDX-License-Identifier: Apache-2.0
"""The callbacks of one run; their exceptions affect neither the work nor one another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from blockful_py.callbacks.events import (
    AuditDone,
    Callback,
    CertificateIssued,
    ModelPublished,
    ModelTrained,
    RequestDone,
)
from blockful_py.errors import SettingsError
from blockful_py.learning.plugins import find

GROUP = "blockful.callbacks"
"""Entry point group of other packages."""
Event = ModelTrained | ModelPublished | RequestDone | AuditDone | CertificateIssued
METHODS: Mapping[type, str] = {
    ModelTrained: Callback.training.__name__,
    ModelPublished: Callback.publication.__name__,
    RequestDone: Callback.request.__name__,
    AuditDone: Callback.audit.__name__,
    CertificateIssued: Callback.certificate.__name__,
}
"""The method that receives each event."""

_log = logging.getLogger(__name__)


class Callbacks:
    """Callbacks named in the settings, created at the first event, and callbacks given in Python."""

    def __init__(self, names: Iterable[str] = (), given: Iterable[Callback] = ()) -> None:
        self._names = list(names)
        self._made = list(given)

    def __bool__(self) -> bool:
        return bool(self._names or self._made)

    def make(self) -> None:
        """Creates the named callbacks.  Raises SettingsError if one cannot be created."""
        while self._names:
            self._made.append(created(self._names[0]))
            self._names.pop(0)

    def tell(self, event: Event) -> None:
        """Passes an event to each callback; logs exceptions and callbacks that cannot be created."""
        for name in self._names:
            try:
                self._made.append(created(name))
            except Exception as error:
                _log.warning("callback %s cannot be created, and receives no events: %s", name, error)
        self._names.clear()
        method = METHODS[type(event)]
        for callback in self._made:
            try:
                getattr(callback, method)(event)
            except Exception as error:
                what = f"{type(callback).__name__}.{method}"
                _log.warning("callback %s failed; the work continues: %r", what, error, exc_info=error)


def created(name: str) -> Callback:
    """Creates a callback by name or import path.

    Raises SettingsError if it does not exist, or cannot be created without arguments.
    """
    factory = find(name, "callback", BUILT_IN, GROUP)
    try:
        callback = factory()
    except TypeError as error:
        raise SettingsError(
            f"callback {name!r} cannot be created ({error}): a class named in settings takes no arguments; "
            "give others in Python, as Federation.create(..., callbacks=[...])."
        ) from None
    if not isinstance(callback, Callback):
        raise SettingsError(f"{name!r} is not a callback: have the class inherit from blockful_py.Callback.")
    return callback


def _mlflow() -> Callback:
    from blockful_py.callbacks.mlflow_callback import MlflowCallback

    return MlflowCallback()


BUILT_IN: Mapping[str, Callable[[], Callback]] = {"mlflow": _mlflow}
