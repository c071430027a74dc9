"""The parts written in Rust: tables, classifiers, estimators, controllers, and functions for the other modules."""

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, final

__version__: str

class ScenarioError(ValueError):
    """A scenario that cannot be run. Its text shows the place and the line and marks the error.

    `file`, `line` and `column` (from 1): the place of the error; None if the error is in a value that was set. `path`: the
    key, such as `flow[0].classifier`. `message`: the error in one sentence, without the place.
    """

    file: str | None
    line: int | None
    column: int | None
    path: str
    message: str

class RunError(RuntimeError):
    """A run that stopped because more packets were in flight than `most_packets` allows."""

class SweepError(ValueError):
    """An invalid plan, or a sweep that cannot continue."""

class CaptureError(ValueError):
    """A file that cannot be read as a capture or log."""

@final
class Table:
    """An Arrow table: columns of equal length. Any Arrow library reads it without a copy.

    Use it as `polars.DataFrame(table)`, `pyarrow.table(table)`, or by its variable name in DuckDB's SQL.
    `pandas.DataFrame(table)` converts row by row; for many rows, `pandas.DataFrame.from_arrow(table)` is faster.
    """

    @staticmethod
    def from_arrow(object: object) -> Table:
        """Import a table from any Arrow library (`__arrow_c_stream__`), without a copy."""

    @property
    def num_rows(self) -> int:
        """The number of rows."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one, such as `{"time_s": "s"}`."""

    def to_dict(self) -> dict[str, list[Any]]:
        """Return every column as a list; missing values are None."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """Return a column as a list; missing values are None. Raises KeyError for an unknown name."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, each a mapping from column names to values; missing values are None."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Arrival:
    """A packet that arrives, as a receiver classifier sees it.

    `sequence`: the sequence number in packets. `sent_s` and `received_s`: the timestamps in s, on clocks that need not agree.
    `rott_s`: their difference, the relative one-way trip time. `size_bytes`: the packet size.
    """

    sequence: int
    sent_s: float
    received_s: float
    rott_s: float
    size_bytes: int
    def __init__(self, sequence: int, sent_s: float, received_s: float, size_bytes: int = 0) -> None: ...

@final
class Sent:
    """A sent packet. `app_limited`: the sender has no more data although the window would allow it."""

    time_s: float
    size_bytes: int
    in_flight_bytes: int
    retransmission: bool
    app_limited: bool
    def __init__(
        self,
        time_s: float,
        size_bytes: int,
        *,
        in_flight_bytes: int = 0,
        retransmission: bool = False,
        app_limited: bool = False,
    ) -> None: ...

@final
class Ack:
    """An acknowledgement at a sender.

    `acked_bytes` and `sacked_bytes`: newly acknowledged, cumulatively and selectively; `acknowledged_bytes`: all bytes
    acknowledged so far; `rtt_s`: None without a measurement. A Controller or Scheme fills in `segment_size`,
    `acknowledged_bytes` and `window_bytes` if they are 0.
    """

    time_s: float
    segment_size: int
    acked_bytes: int
    sacked_bytes: int
    acknowledged_bytes: int
    in_flight_bytes: int
    window_bytes: int
    rtt_s: float | None
    in_recovery: bool
    def __init__(
        self,
        time_s: float,
        acked_bytes: int = 0,
        *,
        segment_size: int = 0,
        sacked_bytes: int = 0,
        acknowledged_bytes: int = 0,
        in_flight_bytes: int = 0,
        window_bytes: int = 0,
        rtt_s: float | None = None,
        in_recovery: bool = False,
    ) -> None: ...

@final
class Loss:
    """A loss event at a sender. `timeout`: whether the timer detected it. `first_byte`: the offset of the first loss."""

    time_s: float
    segment_size: int
    timeout: bool
    first_byte: int
    in_flight_bytes: int
    window_bytes: int
    rtt_s: float | None
    min_rtt_s: float | None
    def __init__(
        self,
        time_s: float,
        *,
        segment_size: int = 0,
        timeout: bool = False,
        first_byte: int = 0,
        in_flight_bytes: int = 0,
        window_bytes: int = 0,
        rtt_s: float | None = None,
        min_rtt_s: float | None = None,
    ) -> None: ...

@final
class Lost:
    """Consecutive lost packets: the unwrapped number of the first one, their count, their cause, and when the gap appeared."""

    first: int
    count: int
    verdict: str
    revealed_s: float

@final
class Classifier:
    """A classifier from the registry, such as "zbs2" (receiver) or "veno" (sender), with the same code as in runs.

    Pass parameters by name: `Classifier("mbiaz", upper=1.25)`. `end`: "receiver" (default) or "sender", for names that both
    have ("trees", "unaware").

    A receiver classifier finds gaps in sequence numbers, which may start at any number. `bits`: the width of the numbers,
    such as 16 for RTP; by default 16 or 32 if the column `sequence` has unsigned integers of that
    width, else 64. `wait`: the number of newer packets
    after which a missing packet counts as lost, so that reordering is not loss; 0 for no wait.
    """

    def __init__(
        self, name: str, *, end: str | None = None, bits: int | None = None, wait: int = 3, **parameters: float
    ) -> None: ...
    @property
    def name(self) -> str:
        """The name of the classifier in the registry."""

    @property
    def end(self) -> str:
        """The end at which the classifier runs: "receiver" or "sender"."""

    def judge(self, arrivals: object, *, last: int | None = None) -> Table:
        """Judge all n arrivals of a stream, in order. Return a row for each of the m gaps.

        Every call starts in the initial state.

        `last`: the sequence number of the last packet sent, if known; packets missing at the end then count as congestion.

        `arrivals`: columns `time_s` (s, the arrival of the last bit), `sequence` (packets), `rott_s` (s, receive stamp − send
        stamp; a constant offset has no effect), and optionally `size_bytes`, as in a trace's `arrivals`.
        Result: `row` (of the arrival that reveals the gap, from 0), `time_s`, `first_missing` (unwrapped), `missing`
        (packets), `verdict` ("congestion" or "wireless").
        """

    def feed(self, arrivals: object) -> Table:
        """Continue with more arrivals. Return the gaps that now count as lost, in the form of `judge`."""

    def finish(self, last: int | None = None) -> Table:
        """End the stream of `feed` and `on_packet`. Return the pending gaps, in the form of `judge`."""

    def on_packet(self, arrival: Arrival) -> list[Lost]:
        """Process a packet as it arrives. Return the packets that now count as lost."""

    def on_arrival(self, arrival: Arrival, missing: int = 0) -> str | None:
        """Process an arrival with `missing` packets directly before it, as in a run. Return the verdict on them, or None."""

    def on_ack(self, ack: Ack) -> None:
        """Process an acknowledgement (at a sender)."""

    def on_loss(self, loss: Loss) -> str:
        """Return the cause of a loss event (at a sender)."""

@final
class Estimator:
    """A bandwidth estimator from the registry, such as "tibet", for segments of `segment_size` bytes."""

    def __init__(self, name: str, segment_size: int = 1500, **parameters: float) -> None: ...
    def estimate(self, acks: object) -> Table:
        """Process n acknowledgements in order. Return `time_s` and `estimate_bps` (bit/s, missing before the first) after each.

        `acks`: columns `time_s` (s), `acked_bytes` (newly acknowledged, 0 for a duplicate), and optionally `rtt_s`,
        `in_flight_bytes`, `window_bytes`.
        """

@final
class BandwidthEstimator:
    """Estimates the bitrate at which a media sender should send, between `least_bps` and `most_bps`."""

    def __init__(self, initial_bps: float, *, least_bps: float = 100e3, most_bps: float = 100e6) -> None: ...
    def feed(self, reports: object) -> Table:
        """Process n more reports. Return `time_s`, `target_bps` and `queue_s` after each time.

        `reports`: columns `time_s` (s, the arrival of the report; rows of one time are one batch), `id` (counts packets in
        sending order), `sent_s` (s, sender's clock), `received_s` (s, receiver's clock, NaN or null if lost), `size_bytes`, and
        optionally `ecn` (0 to 3, as in RFC 8888).
        """

    def timeout(self, time_s: float) -> None:
        """Halve the target if `time_s` is past `timeout_s`, once per silence."""

    @property
    def timeout_s(self) -> float | None:
        """When to call `timeout` unless a report arrives first; None if no report is expected."""

    @property
    def target_bps(self) -> float:
        """The bitrate at which to send, in bit/s."""

@final
class Controller:
    """A congestion controller from the registry, such as "cubic", for segments of `segment_size` bytes.

    `wireless`: the policy for wireless losses, such as "keep" or, with `percent`, "percent".
    Packets count as acknowledged in sending order. A loss counts as that of the oldest packet in
    flight.
    """

    def __init__(
        self,
        name: str,
        segment_size: int = 1500,
        *,
        wireless: str = "keep",
        percent: float | None = None,
        **parameters: float,
    ) -> None: ...
    @property
    def name(self) -> str:
        """The name of the controller in the registry."""

    @property
    def cwnd_bytes(self) -> int:
        """The congestion window in bytes."""

    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow start threshold; None if there is none yet."""

    @property
    def pacing_bps(self) -> int | None:
        """The pacing rate, bit/s; None if acknowledgements clock packets out."""

    @property
    def needs_sent(self) -> bool:
        """Whether the controller uses delivery rates (bbr, copa, scream) and therefore needs every sent packet."""

    def on_sent(self, sent: Sent) -> None:
        """Record a sent packet."""

    def on_ack(self, ack: Ack) -> None:
        """Process an acknowledgement. Raises ValueError if `needs_sent` is true and the data was not reported as sent."""

    def on_loss(self, loss: Loss, cause: str = "congestion") -> None:
        """Process a loss event with this cause: a recovery begins, or the timer has expired."""

    def on_recovered(self, time_s: float) -> None:
        """End a recovery: everything in flight at its beginning is acknowledged."""

    def follow(self, events: object) -> Table:
        """Process n events in order. Return `time_s`, `cwnd_bytes`, `ssthresh_bytes`, `pacing_bps` and `verdict` after each.

        `events`: columns `time_s` (s), `event` ("sent", "ack", "loss", "recovered" after a loss was repaired, or
        "timeout"), `acked_bytes`, and optionally `sent_bytes` (default: a segment), `rtt_s`, `in_flight_bytes`, `window_bytes`
        (default: that of the controller). A controller that `needs_sent` rejects acknowledgements of unsent data.
        """

@final
class Scheme:
    """A classifier, a controller and a policy: from the registry, such as "whyloss", or from parts.

    `Scheme(controller="cubic", policy="keep", classifier="trees")`; more parameters are the classifier's. A Scheme has
    the methods of a Controller, but finds the causes of losses itself.
    """

    def __init__(
        self,
        name: str | None = None,
        segment_size: int = 1500,
        *,
        controller: str | None = None,
        policy: str = "keep",
        percent: float | None = None,
        classifier: str = "unaware",
        **parameters: float,
    ) -> None: ...
    @property
    def name(self) -> str:
        """The name of the scheme in the registry, or else of its controller."""

    @property
    def cwnd_bytes(self) -> int:
        """The congestion window in bytes."""

    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow start threshold; None if there is none yet."""

    @property
    def pacing_bps(self) -> int | None:
        """The pacing rate, bit/s; None if acknowledgements clock packets out."""

    @property
    def needs_sent(self) -> bool:
        """Whether the controller uses delivery rates and therefore needs every sent packet."""

    def on_sent(self, sent: Sent) -> None:
        """Record a sent packet."""

    def on_ack(self, ack: Ack) -> None:
        """Process an acknowledgement. Raises ValueError if `needs_sent` is true and the data was not reported as sent."""

    def on_loss(self, loss: Loss) -> str:
        """Process a loss event and return its cause."""

    def on_recovered(self, time_s: float) -> None:
        """End a recovery: everything in flight at its beginning is acknowledged."""

    def follow(self, events: object) -> Table:
        """Process n events in order, like `Controller.follow`. `verdict` is the cause of each loss."""

@final
class Connection:
    """A connection under a scheme, by packet numbers: tracks packets in flight, round trips and rates.

    The arguments select the scheme as for Scheme; packets have at most `mtu` bytes. Packet numbers must increase, and times
    must not decrease. A time that is not finite raises ValueError.
    """

    def __init__(
        self,
        name: str | None = None,
        mtu: int = 1200,
        *,
        controller: str | None = None,
        policy: str = "keep",
        percent: float | None = None,
        classifier: str = "unaware",
        **parameters: float,
    ) -> None: ...
    @property
    def name(self) -> str:
        """The name of the scheme in the registry, or else of its controller."""

    @property
    def window_bytes(self) -> int:
        """The congestion window in bytes."""

    @property
    def in_flight_bytes(self) -> int:
        """The bytes in flight."""

    @property
    def pacing_bps(self) -> int | None:
        """The pacing rate, bit/s; None if acknowledgements clock packets out."""

    @property
    def verdict(self) -> str | None:
        """The verdict on the last loss event; None before the first."""

    @property
    def odds(self) -> float | None:
        """The odds of congestion at the last loss event, p/(1 − p); None if the classifier has no odds, and for `whyloss`."""

    def on_packet_sent(self, number: int, size_bytes: int, time_s: float, *, app_limited: bool = False) -> None:
        """Record a sent packet."""

    def on_rtt(self, rtt_s: float) -> None:
        """Set the round-trip time of the next acknowledgement, without the delay that the peer reports."""

    def on_packets_acked(self, numbers: list[int], time_s: float) -> None:
        """Process an acknowledgement of these packets."""

    def on_packets_lost(self, numbers: list[int], time_s: float) -> str | None:
        """Process lost packets. Return the cause if they begin a new loss event."""

    def on_ecn_ce(self, time_s: float) -> None:
        """Process ECN-CE marks that the last acknowledgement reports. They are congestion."""

    def on_spurious(self, time_s: float) -> None:
        """Undo the last loss event, because all its packets have arrived after all."""

    def on_timeout(self, time_s: float) -> str:
        """Process an expiry of the retransmission timer and return its cause."""

    def on_persistent_congestion(self, time_s: float) -> str:
        """Process persistent congestion (RFC 9002, section 7.6), after its packets were reported lost. Return its cause."""

def half_width(values: list[float], confidence: float = 0.95) -> float | None:
    """Return half the width of the confidence interval of the mean (Student's t); None for fewer than two values."""

# Functions and classes for the other modules.

@final
class Parsed:
    title: str
    duration_s: float
    seed: int
    seeds: int
    flows: list[str]
    links: list[str]
    def __init__(
        self,
        text: str,
        name: str,
        sets: list[tuple[str, str]],
        own: list[tuple[str, Callable[..., object]]],
        version: str,
    ) -> None: ...
    def run(
        self, seed: int, trace: bool, classifiers: list[tuple[str, Callable[[], object]]]
    ) -> tuple[str, Table, Table, Table, Table, list[tuple[str, Table]] | None]: ...

@final
class Engine:
    def __init__(
        self,
        plan: str,
        file: str,
        scenario: tuple[str, str] | None,
        out: str | PathLike[str] | None,
        own: list[tuple[str, Callable[..., object]]],
        version: str,
    ) -> None: ...
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
def link_packets(directory: str) -> Table: ...
def link_counts(text: str) -> Table: ...
def run_task(task: bytes, own: list[tuple[str, Callable[..., object]]], version: str) -> tuple[str, bytes]: ...
def arena(
    contenders: list[str] | None,
    networks: int,
    seeds: int,
    seed: int,
    transport: str,
    queue: str,
    switches: tuple[bool, bool, bool, bool],
    jobs: int,
    own: list[tuple[str, Callable[..., object]]],
    version: str,
) -> Table: ...
def experiments() -> list[tuple[str, str, str]]: ...
def reproduce(id: str, seeds: int | None) -> tuple[str, Table, Table]: ...
def registry() -> list[tuple[str, str, str, str, str, list[tuple[str, float, float, float, str]]]]: ...
