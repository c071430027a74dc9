"""Classifiers of one's own under names."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping

Own = Mapping[str, Callable[..., object]]
"""Names, and what makes a classifier of each: a class, most often."""

Given = tuple[list[tuple[str, Callable[..., object]]], str]
"""The same as the engine takes it: with what tells these classifiers from earlier ones of the same names."""


def given(own: Own | None) -> Given:
    """Make what the engine takes of a mapping."""
    names = list((own or {}).items())
    return names, "".join(f"{name}={_version(make)};" for name, make in names)


def _version(make: Callable[..., object]) -> str:
    """Tell a class from what it was before it was edited: by its source, and by its `version`, if it has one."""
    try:
        source = inspect.getsource(make)
    except (OSError, TypeError):
        source = ""
    version = getattr(make, "version", "")
    return hashlib.sha256(f"{version}\0{source}".encode()).hexdigest()[:16]
