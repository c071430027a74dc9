"""Prepares the user's own classifiers, which are passed by name, for the engine."""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import Callable, Mapping

from . import _code

Own = Mapping[str, Callable[..., object]]
"""A mapping from names to callables that make a classifier, usually classes."""

Given = tuple[list[tuple[str, Callable[..., object]]], str]
"""The mapping as a list, and a text that changes when a classifier with the same name changes."""


def given(own: Own | None) -> Given:
    """Convert a mapping to the engine's form."""
    names = list((own or {}).items())
    return names, "".join(f"{name}={_version(make)};" for name, make in names)


def _version(make: Callable[..., object]) -> str:
    """Return a digest of a class's source and `version`, which changes when the class is edited.

    Notebooks have no source of classes, and closures depend on more than their source. Without a `version`, the digest
    is that of their code then. If there is none, it is new each time, so that no run of other code is reused.
    """
    version = getattr(make, "version", None)
    source = _code.source(make)
    if version is None and source is None:
        try:
            source = _code.digest(make)
        except Exception:
            return secrets.token_hex(8)
    elif source is None:
        try:
            source = inspect.getsource(make)
        except (OSError, TypeError):
            source = ""
    return hashlib.sha256(f"{'' if version is None else version}\0{source}".encode()).hexdigest()[:16]
