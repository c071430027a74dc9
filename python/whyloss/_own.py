"""Prepares the user's own classifiers, which are passed by name, for the engine."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping

Own = Mapping[str, Callable[..., object]]
"""A mapping from names to callables that make a classifier, usually classes."""

Given = tuple[list[tuple[str, Callable[..., object]]], str]
"""The mapping as a list, and a text that changes when a classifier with the same name changes."""


def given(own: Own | None) -> Given:
    """Convert a mapping to the engine's form."""
    names = list((own or {}).items())
    return names, "".join(f"{name}={_version(make)};" for name, make in names)


def _version(make: Callable[..., object]) -> str:
    """Return a digest of a class's source and `version`, which changes when the class is edited."""
    try:
        source = inspect.getsource(make)
    except (OSError, TypeError):
        source = ""
    version = getattr(make, "version", "")
    return hashlib.sha256(f"{version}\0{source}".encode()).hexdigest()[:16]
