"""Writes Python values as TOML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

Value = str | bool | int | float | Sequence["Value"] | Mapping[str, "Value"]
"""A valid value of a key in a scenario or a plan."""


def value(of: Value) -> str:
    """Write a value as TOML on one line."""
    if isinstance(of, str):
        return json.dumps(of, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(of, bool):
        return "true" if of else "false"
    if isinstance(of, Mapping):
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in of.items()) + " }"
    if isinstance(of, Sequence):
        return "[" + ", ".join(value(v) for v in of) + "]"
    # This includes NumPy's numbers, which are not `int` or `float` but can be converted.
    if hasattr(of, "__index__"):
        return str(of.__index__())
    if hasattr(of, "__float__"):
        real = float(of)
        if math.isfinite(real):
            return repr(real)
    raise TypeError(f"found {of!r}, expected a text, a number, a truth, or a list or mapping of them")


def key(name: str) -> str:
    """Write a key, in quotation marks if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)


def table(entries: Mapping[str, Value]) -> str:
    """Write a line for each entry."""
    return "".join(f"{key(k)} = {value(v)}\n" for k, v in entries.items())
