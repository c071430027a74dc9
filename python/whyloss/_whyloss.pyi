"""What is written in Rust: tables, classifiers, estimators, controllers, and what the other modules call."""

from collections.abc import Callable
from os import PathLike
from typing import Any, final

__version__: str

class ScenarioError(ValueError):
    """A scenario that cannot be run; its text has the place, the line and a mark under what is wrong.

    `file`, `line` and `column` (from 1) say where; None if it is in a value that was set. `path`: the key, such as
    `flow[0].classifier`. `message`: what is wrong, in a sentence without the place.
    """

    file: str | None
    line: int | None
    column: int | None
    path: str
    message: str

class RunError(RuntimeError):
    """A run that came to no end: more packets under way than `most_packets` allows."""

class SweepError(ValueError):
    """A plan that is none, or a sweep that cannot go on."""

class CaptureError(ValueError):
    """A file that is no capture or log that can be read."""

@final
class Table:
    """An Arrow table: columns of equal length. Any library that speaks Arrow takes it as it is, without a copy.

    `polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame(table.to_dict())`, and by name in DuckDB's SQL.
    """

    @staticmethod
    def from_arrow(object: object) -> Table:
        """Take a table of any library that speaks Arrow (`__arrow_c_stream__`), without a copy."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one, such as `{"time_s": "s"}`."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Every column as a list; what is missing is None."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """Give a column as a list; what is missing is None. KeyError if there is none of that name."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Arrival:
    """A packet at a receiver: what a classifier of one's own sees.

    `sequence` in packets from 0; `sent_s` and `received_s` are stamps in s of clocks that need not agree; `rott_s` their
    difference; `size_bytes`.
    """

    sequence: int
    sent_s: float
    received_s: float
    rott_s: float
    size_bytes: int

@final
class Ack:
    """An acknowledgement at a sender: bytes newly acknowledged, in flight, the window; `rtt_s` None if it measures none."""

    time_s: float
    segment_size: int
    acked_bytes: int
    sacked_bytes: int
    acknowledged_bytes: int
    in_flight_bytes: int
    window_bytes: int
    rtt_s: float | None
    in_recovery: bool

@final
class Loss:
    """A loss event at a sender; `timeout`: the retransmission timer found it; `first_byte`: where the first loss begins."""

    time_s: float
    segment_size: int
    timeout: bool
    first_byte: int
    in_flight_bytes: int
    window_bytes: int
    rtt_s: float | None
    min_rtt_s: float | None

@final
class Classifier:
    """A receiver classifier of the registry, such as "zbs2", fed with tables of arrivals: the same code as in a run.

    Parameters go by name: `Classifier("mbiaz", upper=1.25)`. It keeps its state from table to table.
    """

    def __init__(self, name: str, **parameters: float) -> None: ...
    @property
    def name(self) -> str:
        """Its name in the registry."""

    def judge(self, arrivals: object) -> Table:
        """Take n arrivals of one flow, in order; give a row for each of the m gaps that they reveal.

        `arrivals`: columns `time_s` (s, when the last bit arrived), `sequence` (packets), `rott_s` (s, receive stamp − send
        stamp; a constant offset changes nothing), and perhaps `size_bytes`: those of a trace's `arrivals`.
        The answer: `row` (of the arrival that reveals the gap, counted from the first ever), `time_s`, `first_missing`,
        `missing` (packets), `verdict` ("congestion" or "wireless").
        """

@final
class Estimator:
    """A bandwidth estimator of the registry, such as "tibet", for segments of `segment_size` bytes."""

    def __init__(self, name: str, segment_size: int = 1500, **parameters: float) -> None: ...
    def estimate(self, acks: object) -> Table:
        """Take n acknowledgements in order; give `time_s` and `estimate_bps` (bit/s, missing before the first) after each.

        `acks`: columns `time_s` (s), `acked_bytes` (newly acknowledged, 0 for a duplicate), and perhaps `rtt_s`,
        `in_flight_bytes`, `window_bytes`.
        """

@final
class Controller:
    """A congestion controller of the registry, such as "cubic", for segments of `segment_size` bytes."""

    def __init__(self, name: str, segment_size: int = 1500, **parameters: float) -> None: ...
    def follow(self, events: object) -> Table:
        """Take n events in order; give `time_s`, `cwnd_bytes`, `ssthresh_bytes`, `pacing_bps` after each.

        `events`: columns `time_s` (s), `event` ("ack", "loss", "recovered" after a loss was repaired, or "timeout"),
        `acked_bytes`, and perhaps `rtt_s`, `in_flight_bytes`, `window_bytes` (else its own window).
        """

def half_width(values: list[float], confidence: float = 0.95) -> float | None:
    """Give half the width of the confidence interval of the mean (Student's t); None with fewer than two values."""

# What the other modules call.

@final
class Parsed:
    title: str
    duration_s: float
    seed: int
    seeds: int
    flows: list[str]
    links: list[str]
    def __init__(self, text: str, name: str, sets: list[tuple[str, str]]) -> None: ...
    def run(
        self, seed: int, trace: bool, classifiers: list[tuple[str, Callable[[], object]]]
    ) -> tuple[str, Table, Table, Table, list[tuple[str, Table]] | None]: ...

@final
class Engine:
    def __init__(self, plan: str, file: str, scenario: tuple[str, str] | None, out: str | PathLike[str] | None) -> None: ...
    def close(self) -> None: ...
    def count(self) -> tuple[int, int]: ...
    def run(self, jobs: int, every_s: float, progress: Callable[[int, int], None] | None) -> None: ...
    def plan(self, most: int) -> int: ...
    def task(self, batch: int) -> tuple[bytes, int]: ...
    def accept(self, part: bytes, keep: bool) -> str: ...
    def rows(self) -> Table: ...
    def rows_parquet(self) -> bytes: ...
    def write_rows(self) -> None: ...
    def failed(self) -> tuple[int, str] | None: ...

def examples() -> list[tuple[str, str]]: ...
def diagnose(path: str, connections: int) -> tuple[str, str, Table, Table]: ...
def run_task(task: bytes) -> tuple[str, bytes]: ...
def experiments() -> list[tuple[str, str, str]]: ...
def reproduce(id: str, seeds: int | None) -> tuple[str, Table, Table]: ...
def registry() -> list[tuple[str, str, str, str, str, list[tuple[str, float, float, float, str]]]]: ...
