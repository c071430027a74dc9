"""Runs the papers' experiments and the arena, and lists the registry of algorithms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import _own, _toml, _whyloss
from ._own import Own
from ._toml import Value
from ._whyloss import Table


class Reproduction:
    """The results of a paper's experiment beside the values of the paper.

    `cells`: a row for each measured value: `row`, `column`, `x` (in figures), `metric`, `unit`, the value of the `paper`, our
    `mean` with the `half_width` of its confidence interval, the `tolerance`, and whether the mean is `within` it.
    `claims`: a row for each statement: `id`, `text`, whether it `holds`, whether it `counts`, and the `evidence`.
    `values`: all results as in `whyloss reproduce --format json`.
    """

    def __init__(self, text: str, cells: Table, claims: Table) -> None:
        """Store the results."""
        self.values: dict[str, Any] = json.loads(text)
        self.cells = cells
        self.claims = claims

    def __repr__(self) -> str:
        """Show the experiment and its number of seeds."""
        return f"<whyloss.Reproduction of {self.values['id']}, {self.values['seeds']} seeds>"


def reproduce(experiment: str, *, seeds: int | None = None) -> Reproduction:
    """Run a table or figure of a paper, such as "cen-table-2", on all cores. Ctrl-C ends it.

    `seeds`: the number of replications; by default the paper's.
    """
    return Reproduction(*_whyloss.reproduce(experiment, seeds))


def arena(
    contenders: Sequence[str | Mapping[str, Value]] | None = None,
    *,
    networks: int = 40,
    seeds: int = 3,
    seed: int = 1,
    transport: str = "tfrc",
    queue: str = "drawn",
    arq: bool = False,
    ecn: bool = False,
    varying: bool = False,
    harm: bool = True,
    own: Own | None = None,
    jobs: int = 0,
) -> Table:
    """Compare classifiers on random networks, like `whyloss arena` (docs/evidence/arena.md). Ctrl-C ends it.

    `contenders`: names, or tables with a name and parameters, such as `{"name": "mbiaz", "upper": 1.3}`; over TCP, also
    controllers. None: all that fit the transport. `oracle` and `unaware` are always included.
    `transport`: "tfrc" (receiver classifiers), "newreno" or "cubic" (sender classifiers). `queue`: "drawn", "droptail", "red",
    "codel", "fq-codel" or "pie". `harm`: also measure harm to a flow without a classifier, which takes two thirds of the time.
    `own`: your own classifiers by name. `jobs`: threads; 0 for one per core.

    Returns a row for each contender in each network: `contender`, `network`, `family`, `flows`, `rate_bps`, `round_trip_s`,
    `buffer_packets`, `loss` (share of packets that the channel loses), and the scores, missing if there was too little
    data: `received` (share of the oracle's packets), `balanced` (1 − (Mc + Mw)/2), `mc_percent`, `mw_percent`,
    `excess_points` (congestion loss above the oracle's), `harm_percent`, `clean_harm_percent`.
    """
    names = None
    if contenders is not None:
        names = [of if isinstance(of, str) else _toml.value(of) for of in contenders]
    switches = (arq, ecn, varying, harm)
    return _whyloss.arena(names, networks, seeds, seed, transport, queue, switches, jobs, *_own.given(own))


def experiments() -> dict[str, str]:
    """Return the title of every experiment, by its name."""
    return {name: title for name, _, title in _whyloss.experiments()}


def registry(family: str | None = None) -> list[dict[str, Any]]:
    """Return the algorithms of a family, or all.

    Families are "receiver classifier", "sender classifier", "estimator", "controller", "policy" and "scheme".

    Each algorithm has `family`, `id`, `name`, `summary`, `source` and `parameters`: for each name the default, minimum, maximum
    and meaning.
    """
    keys = ("family", "id", "name", "summary", "source")
    known = _whyloss.registry()
    families = list(dict.fromkeys(row[0] for row in known))
    if family is not None and family not in families:
        raise ValueError(f"no family is called `{family}`; there are {', '.join(families)}")
    rows = []
    for row in known:
        if family in (None, row[0]):
            parameters = {name: (default, least, most, what) for name, default, least, most, what in row[5]}
            rows.append({**dict(zip(keys, row[:5], strict=True)), "parameters": parameters})
    return rows
