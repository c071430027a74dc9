"""Finds the lost packets of a capture or log and their causes."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any

from . import _whyloss
from ._whyloss import Table


class Diagnosis:
    """The lost packets of a capture or log and their causes.

    `flows`: a row for each direction of a connection: `flow`, `protocol`, `source`, `destination`, `vantage` (where it was
    captured), the number of `lost` packets, also by cause (`lost_congestion`, `lost_wireless`, `lost_unknown`), `base_rtt_ms`,
    queueing delays, `mean_mbps`, `full_mbps`, and a `summary` in words.
    `losses`: a row for each lost packet: `flow`, `time_s` (since 1970), `frame`, `offset`, `bytes`, the `evidence`, the `cause`
    (None if it is unclear) with its `confidence`, and a column with the verdict of each classifier.
    `values`: everything that `whyloss diagnose --format json` prints. `partial`: the reason why reading ended early, or None.
    """

    def __init__(self, text: str, words: str, flows: Table, losses: Table) -> None:
        """Store the findings."""
        self.values: dict[str, Any] = json.loads(text)
        self.partial: str | None = self.values["partial"]
        self.flows = flows
        self.losses = losses
        self._words = words

    def __str__(self) -> str:
        """Return the report of the command: a table, and a paragraph about each flow with losses."""
        return self._words

    def __repr__(self) -> str:
        """Show the number of flows and losses."""
        return f"<whyloss.Diagnosis: {len(self.flows)} flows, {len(self.losses)} losses>"


def diagnose(path: str | PathLike[str], *, connections: int = 10_000) -> Diagnosis:
    """Read a capture (pcap, pcapng) or a QUIC log (qlog), also compressed. Find the lost packets and their causes.

    `connections`: the maximum number followed at a time. If there are more, the longest-idle connections are closed.
    Raises :class:`CaptureError` for a file of unknown format, OSError for a file that cannot be opened.
    """
    return Diagnosis(*_whyloss.diagnose(fspath(path), connections))
