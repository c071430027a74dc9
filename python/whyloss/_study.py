"""The papers' experiments, and the registry of algorithms."""

from __future__ import annotations

import json
from typing import Any

from . import _whyloss
from ._whyloss import Table


class Reproduction:
    """What an experiment gave.

    `cells`: a row for each measured value: `row`, `column`, `x` (figures), `metric`, `unit`, the `paper`'s value, our `mean`
    with the `half_width` of its confidence interval, the `tolerance`, and whether it is `within`.
    `claims`: a row for each statement: `id`, `text`, whether it `holds`, whether it `counts`, and the `evidence`.
    `values`: all of it as `whyloss reproduce --format json` prints it.
    """

    def __init__(self, text: str, cells: Table, claims: Table) -> None:
        """Hold what the experiment gave."""
        self.values: dict[str, Any] = json.loads(text)
        self.cells = cells
        self.claims = claims

    def __repr__(self) -> str:
        """Say which experiment it is, and how many seeds it had."""
        return f"<whyloss.Reproduction of {self.values['id']}, {self.values['seeds']} seeds>"


def reproduce(experiment: str, *, seeds: int | None = None) -> Reproduction:
    """Run a table or figure of a paper on all cores, such as "cen-table-2". Ctrl-C ends it.

    `seeds`: replications, instead of as many as the paper has.
    """
    return Reproduction(*_whyloss.reproduce(experiment, seeds))


def experiments() -> dict[str, str]:
    """Name every experiment, with its title."""
    return {name: title for name, _, title in _whyloss.experiments()}


def registry(family: str | None = None) -> list[dict[str, Any]]:
    """Name every algorithm of a family ("receiver classifier", "sender classifier", "estimator", "controller"), or of all.

    Each has `family`, `id`, `name`, `summary`, `source`, and `parameters`: for each name the default, the least, the most,
    and what it is.
    """
    keys = ("family", "id", "name", "summary", "source")
    rows = []
    for row in _whyloss.registry():
        if family in (None, row[0]):
            parameters = {name: (default, least, most, what) for name, default, least, most, what in row[5]}
            rows.append({**dict(zip(keys, row[:5], strict=True)), "parameters": parameters})
    return rows
