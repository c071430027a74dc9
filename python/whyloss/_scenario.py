"""Reads, changes and runs scenarios. Returns their results."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, SupportsIndex

from . import _own, _toml
from ._own import Own
from ._toml import Value
from ._whyloss import Parsed, Table, examples


class Results(Mapping[str, Any]):
    """The results of a run: a mapping as in `whyloss run --format json`, and the same data as Arrow tables.

    `flows`: a row for each flow; counts are packets inside the measurement window, `throughput_bps` is bit/s at the sink,
    `delay.…_ms` are ms from source to sink, `mc` and `mw` the shares of congestion losses called wireless and of wireless
    losses called congestion (missing if there were none).
    `links`: a row for each link; `utilisation` is the share of the window spent sending.
    `frames`: a row for each flow with a stream and playout delay; empty without one.
    `transfers`: a row for each flow with transfers, with completion times in ms; empty without one. Another row, named as in
    the file, has all copies of a flow.
    `trace`: with `trace=True`, the tables `sources`, `arrivals`, `losses`, `links` and `transfers` of
    docs/reference/traces.md; else empty.
    """

    def __init__(
        self, text: str, flows: Table, frames: Table, transfers: Table, links: Table, trace: Mapping[str, Table]
    ) -> None:
        """Store the results of the engine."""
        self._values: dict[str, Any] = json.loads(text)
        self.flows = flows
        self.frames = frames
        self.transfers = transfers
        self.links = links
        self.trace = trace

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        """Return the value of this key in the JSON."""
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the JSON."""
        return iter(self._values)

    def __len__(self) -> int:
        """Count the keys of the JSON."""
        return len(self._values)

    def __repr__(self) -> str:
        """Show the scenario and its throughput."""
        total = self._values["total"]["throughput_bps"]
        return f"<whyloss.Results of {self._values['scenario']!r}: {total:.0f} bit/s in all>"


class Scenario:
    """A network and its traffic (docs/reference/scenarios.md).

    Creating or changing an invalid scenario raises a ScenarioError.

    The argument `own` of all constructors names your own classifiers: with `own={"half": Half}`, a flow may have
    `classifier = "half"`. docs/guides/python.md describes such a class.
    """

    def __init__(
        self,
        text: str,
        file: str = "scenario.toml",
        sets: Mapping[str, Value] | None = None,
        *,
        own: Own | None = None,
    ) -> None:
        """Read a scenario from TOML. `file` is its name in messages; paths in the scenario are relative to this file."""
        self._text = text
        self._file = file
        self._own: Own = dict(own or {})
        self._read([(key, _toml.value(value)) for key, value in (sets or {}).items()])

    def _read(self, sets: list[tuple[str, str]]) -> None:
        """Read the scenario with the changes. On an error, the scenario stays unchanged."""
        self._parsed = Parsed(self._text, self._file, sets, *_own.given(self._own))
        self._sets = sets

    @classmethod
    def from_toml(cls, text: str, file: str = "scenario.toml", *, own: Own | None = None) -> Scenario:
        """Read a scenario from TOML."""
        return cls(text, file, own=own)

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, own: Own | None = None) -> Scenario:
        """Read a scenario file."""
        return cls(Path(path).read_text(encoding="utf-8"), fspath(path), own=own)

    @classmethod
    def example(cls, name: str, *, own: Own | None = None) -> Scenario:
        """Load a scenario from the repository's `scenarios/`, such as "wlh" or "dumbbell"."""
        known = dict(examples())
        if name not in known:
            raise ValueError(f"no example is called `{name}`; there are {', '.join(known)}")
        return cls(known[name], f"{name}.toml", own=own)

    @staticmethod
    def builder(duration: str, **keys: Value) -> Builder:
        """Begin an empty scenario with these keys of docs/reference/scenarios.md."""
        return Builder(duration, **keys)

    def set(self, key: str | Mapping[str, Value], value: Value = "") -> Scenario:
        """Set a key, like `--set`: `scenario.set("flow.video.classifier", "zbs2")`. Return the scenario itself.

        Links and flows are addressed by their names in the file, without the number of a copy: `flow.video` sets all copies.

        A mapping sets several keys together, for changes that are valid only in combination. A string is never read as a
        number. If the scenario would be invalid, it stays unchanged.
        """
        given = {key: value} if isinstance(key, str) else key
        sets = [*self._sets, *((name, _toml.value(to)) for name, to in given.items())]
        self._read(sets)
        return self

    def copy(self) -> Scenario:
        """Return an independent copy."""
        other = Scenario.__new__(Scenario)
        other._text, other._file, other._own = self._text, self._file, self._own
        other._sets, other._parsed = list(self._sets), self._parsed
        return other

    @property
    def text(self) -> str:
        """The TOML of the scenario, without changes."""
        return self._text

    @property
    def file(self) -> str:
        """The file name of the scenario, as used in messages."""
        return self._file

    @property
    def sets(self) -> list[tuple[str, str]]:
        """The changes: each key and its value as TOML."""
        return list(self._sets)

    @property
    def own(self) -> Own:
        """Your own classifiers, by name."""
        return dict(self._own)

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self._parsed.title

    @property
    def duration_s(self) -> float:
        """The duration of a run in seconds."""
        return self._parsed.duration_s

    @property
    def flows(self) -> list[str]:
        """The names of the flows."""
        return self._parsed.flows

    @property
    def links(self) -> list[str]:
        """The names of the links."""
        return self._parsed.links

    @property
    def seeds(self) -> range:
        """The seeds that the file requests."""
        return range(self._parsed.seed, self._parsed.seed + self._parsed.seeds)

    def run(
        self,
        seed: SupportsIndex | None = None,
        *,
        trace: bool = False,
        classifiers: Mapping[str, Callable[[], object]] | None = None,
    ) -> Results:
        """Simulate one seed, by default the file's first. The result depends only on scenario and seed.

        Other Python threads continue, and Ctrl-C ends the run. With `trace`, memory grows with simulated time.

        `classifiers` assigns your own classifiers: it maps a flow's name to a class or another callable that creates one.
        "video-1" is one flow, "video" all copies of that flow in the file.

        At the receiver of a TFRC flow, a classifier has `on_arrival(arrival, missing)` or
        `on_gap(arrival, missing)`. The first is called for every Arrival; its answer counts if
        `missing > 0`. The second is called only if `missing > 0`, after any `on_arrival`.
        At the sender of a TCP or IFTP flow, it has `on_loss(loss)` and optionally `on_ack(ack)`.
        Answers are `"congestion"` or `"wireless"`. An exception ends the run and is raised here.
        """
        given = list((classifiers or {}).items())
        first = self._parsed.seed if seed is None else operator.index(seed)
        if not 0 <= first < 2**64:
            raise ValueError(f"seed must be between 0 and 2^64 − 1, not {first}")
        text, flows, frames, transfers, links, tables = self._parsed.run(first, trace, given)
        return Results(text, flows, frames, transfers, links, dict(tables or ()))

    def __repr__(self) -> str:
        """Show the title and the changes."""
        sets = ", ".join(f"{key}={value}" for key, value in self._sets)
        return f"<whyloss.Scenario {self.title or self._file!r}{': ' + sets if sets else ''}>"


class Builder:
    """An unfinished scenario: links and flows with the keys of docs/reference/scenarios.md (`from_` means `from`)."""

    def __init__(self, duration: str, **keys: Value) -> None:
        """Begin a scenario of this duration."""
        self._text = _toml.table({"duration": duration, **keys})

    def link(self, **keys: Value) -> Builder:
        """Add a link: `link(name="air", from_="a", to="b", rate="2 Mbit/s", delay="10 ms", queue={"packets": 20})`."""
        return self._entry("link", keys)

    def flow(self, **keys: Value) -> Builder:
        """Add a flow: `flow(name="video", from_="a", to="b", packet="762 B", transport="tfrc", classifier="zbs2")`."""
        return self._entry("flow", keys)

    def _entry(self, kind: str, keys: Mapping[str, Value]) -> Builder:
        plain = {key.removesuffix("_"): value for key, value in keys.items()}
        self._text += f"[[{kind}]]\n{_toml.table(plain)}"
        return self

    @property
    def text(self) -> str:
        """The TOML so far."""
        return self._text

    def build(self, *, own: Own | None = None) -> Scenario:
        """Return the scenario."""
        return Scenario(self._text, "built.toml", own=own)
