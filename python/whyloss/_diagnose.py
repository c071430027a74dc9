"""Why packets of a capture or a log died."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any

from . import _whyloss
from ._whyloss import Table


class Diagnosis:
    """What a capture or log tells.

    `flows`: a row for each direction of a connection: `flow`, `protocol`, `source`, `destination`, `vantage` (where it was
    captured), `lost` packets and how many to each cause (`lost_congestion`, `lost_wireless`, `lost_unknown`), `base_rtt_ms`,
    queueing delays, `mean_mbps`, `full_mbps`, and a `summary` in words.
    `losses`: a row for each lost packet: `flow`, `time_s` (since 1970), `frame`, `offset`, `bytes`, the `evidence`, the `cause`
    (None if it cannot be told) with its `confidence`, and a column with the answer of each classifier.
    `values`: all of it as `whyloss diagnose --format json` prints it; `partial` says why reading ended early, if it did.
    """

    def __init__(self, text: str, words: str, flows: Table, losses: Table) -> None:
        """Hold what was found."""
        self.values: dict[str, Any] = json.loads(text)
        self.partial: str | None = self.values["partial"]
        self.flows = flows
        self.losses = losses
        self._words = words

    def __str__(self) -> str:
        """Say it as the command does: a table, and a paragraph about each flow that lost something."""
        return self._words

    def __repr__(self) -> str:
        """Say how much there is."""
        return f"<whyloss.Diagnosis: {len(self.flows)} flows, {len(self.losses)} losses>"


def diagnose(path: str | PathLike[str], *, connections: int = 10_000) -> Diagnosis:
    """Read a capture (pcap, pcapng) or a QUIC log (qlog), also compressed, and say what was lost and why.

    `connections`: how many are followed at a time; beyond it those that were quiet for longest are closed.
    Raises :class:`CaptureError` for a file of no known kind, OSError for one that cannot be opened.
    """
    return Diagnosis(*_whyloss.diagnose(fspath(path), connections))
