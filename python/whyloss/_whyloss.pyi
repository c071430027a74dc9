"""What is written in Rust: tables, classifiers, estimators, controllers, and what the other modules call."""

from collections.abc import Callable, Iterator
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

    `polars.DataFrame(table)`, `pyarrow.table(table)`, and by name in DuckDB's SQL. `pandas.DataFrame(table)` goes through its
    rows; for many, `pandas.DataFrame.from_arrow(table)` is faster.
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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows, each a mapping of the columns' names; what is missing is None."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Arrival:
    """A packet at a receiver: what a receiver classifier sees.

    `sequence` in packets; `sent_s` and `received_s` are stamps in s of clocks that need not agree; `rott_s` their
    difference; `size_bytes`.
    """

    sequence: int
    sent_s: float
    received_s: float
    rott_s: float
    size_bytes: int
    def __init__(self, sequence: int, sent_s: float, received_s: float, size_bytes: int = 0) -> None: ...

@final
class Sent:
    """A packet that leaves a sender; `app_limited`: it has nothing more to send although the window would allow it."""

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

    `acked_bytes` and `sacked_bytes`: newly acknowledged, cumulatively and selectively; `acknowledged_bytes`: all that was
    acknowledged so far; `rtt_s` None if it measures none. What is 0 of `segment_size`, `acknowledged_bytes` and
    `window_bytes` a Controller or Scheme fills in.
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
    """A loss event at a sender; `timeout`: the retransmission timer found it; `first_byte`: where the first loss begins."""

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
    """Packets in a row that count as lost: the number of the first, counted on past every wrap-around, and how many."""

    first: int
    count: int
    verdict: str
    revealed_s: float

@final
class Classifier:
    """A classifier of the registry, such as "zbs2" (of a receiver) or "veno" (of a sender): the same code as in a run.

    Parameters go by name: `Classifier("mbiaz", upper=1.25)`. `end`: "receiver" or "sender", where both have the name
    ("trees", "unaware"); by default the receiver's.

    At a receiver it counts gaps among sequence numbers, whatever the first one is. `bits`: the width of the numbers, such as
    16 for RTP, past which they wrap around; by default that of a column of unsigned 16 or 32 bits, else 64. `wait`: a
    missing packet counts as lost once so many new ones have arrived after it, so that one that was overtaken does not; 0
    waits for none.
    """

    def __init__(
        self, name: str, *, end: str | None = None, bits: int | None = None, wait: int = 3, **parameters: float
    ) -> None: ...
    @property
    def name(self) -> str:
        """Its name in the registry."""

    @property
    def end(self) -> str:
        """Where it works: "receiver" or "sender"."""

    def judge(self, arrivals: object, *, last: int | None = None) -> Table:
        """Take all n arrivals of a stream, in order; give a row for each of the m gaps. It starts anew with every call.

        `last`: the number of the last packet sent, if it is known; what is missing at the end then counts as congestion.

        `arrivals`: columns `time_s` (s, when the last bit arrived), `sequence` (packets), `rott_s` (s, receive stamp − send
        stamp; a constant offset changes nothing), and perhaps `size_bytes`: those of a trace's `arrivals`.
        The answer: `row` (of the arrival that reveals the gap, from 0), `time_s`, `first_missing` (counted on past every
        wrap-around), `missing` (packets), `verdict` ("congestion" or "wireless").
        """

    def feed(self, arrivals: object) -> Table:
        """Take arrivals that go on from those of the last call; give the gaps that count by now, as `judge` does."""

    def finish(self, last: int | None = None) -> Table:
        """End the stream of `feed` and `on_packet`; give the gaps that were still waited for, as `judge` does."""

    def on_packet(self, arrival: Arrival) -> list[Lost]:
        """Take a packet of a stream as it arrives; give what counts as lost by now."""

    def on_arrival(self, arrival: Arrival, missing: int = 0) -> str | None:
        """Take an arrival as in a run: the caller counts the packets that are `missing` before it. The verdict, if any is."""

    def on_ack(self, ack: Ack) -> None:
        """Take an acknowledgement (at a sender)."""

    def on_loss(self, loss: Loss) -> str:
        """Give the cause of a loss event (at a sender)."""

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
class BandwidthEstimator:
    """The bandwidth estimator of media: the bitrate at which to send, between `least_bps` and `most_bps`."""

    def __init__(self, initial_bps: float, *, least_bps: float = 100e3, most_bps: float = 100e6) -> None: ...
    def feed(self, reports: object) -> Table:
        """Take n reports, from where the last call ended; give `time_s`, `target_bps` and `queue_s` after each time.

        `reports`: columns `time_s` (s, when the report came; rows of one time are one batch), `id` (counts packets in the
        order of departure), `sent_s` (s, sender's clock), `received_s` (s, receiver's clock, NaN if lost), `size_bytes`, and
        perhaps `ecn` (0 to 3, as RFC 8888 carries it).
        """

    def timeout(self, time_s: float) -> None:
        """Halve the target, once per silence, if `time_s` is past `timeout_s`."""

    @property
    def timeout_s(self) -> float | None:
        """Time at which `timeout` is due if no report comes before; None if nothing is waited for."""

    @property
    def target_bps(self) -> float:
        """The bitrate at which to send."""

@final
class Controller:
    """A congestion controller of the registry, such as "cubic", for segments of `segment_size` bytes.

    `wireless`: the policy about losses called wireless, such as "keep" or, with `percent`, "percent".
    Packets are taken to be acknowledged in the order in which they left, and a loss to be that of the oldest.
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
        """Its name in the registry."""

    @property
    def cwnd_bytes(self) -> int:
        """How many bytes may be under way."""

    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow start threshold; None if there is none yet."""

    @property
    def pacing_bps(self) -> int | None:
        """The rate to pace packets at, bit/s; None: as acknowledgements clock them."""

    @property
    def needs_sent(self) -> bool:
        """Whether it goes by delivery rates (bbr, copa, scream), so that it must be told of every packet that leaves."""

    def on_sent(self, sent: Sent) -> None:
        """Take a packet that leaves."""

    def on_ack(self, ack: Ack) -> None:
        """Take an acknowledgement. ValueError if it `needs_sent` and was not told of what is acknowledged."""

    def on_loss(self, loss: Loss, cause: str = "congestion") -> None:
        """Take a loss event of this cause: a recovery begins, or the timer expired."""

    def on_recovered(self, time_s: float) -> None:
        """Take the end of a recovery: all that was under way when it began has been acknowledged."""

    def follow(self, events: object) -> Table:
        """Take n events in order; give `time_s`, `cwnd_bytes`, `ssthresh_bytes`, `pacing_bps` and `verdict` after each.

        `events`: columns `time_s` (s), `event` ("sent", "ack", "loss", "recovered" after a loss was repaired, or
        "timeout"), `acked_bytes`, and perhaps `sent_bytes` (else a segment), `rtt_s`, `in_flight_bytes`, `window_bytes` (else
        its own window). A controller that `needs_sent` refuses acknowledgements of what never left.
        """

@final
class Scheme:
    """A classifier, a controller and a policy that belong together: of the registry, such as "newreno-lp", or by parts.

    `Scheme(controller="cubic", policy="keep", classifier="fqrtt")`; further parameters are the classifier's. It is told and
    asked what a Controller is, and gives losses their causes itself.
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
        """Its name in the registry, or its controller's."""

    @property
    def cwnd_bytes(self) -> int:
        """How many bytes may be under way."""

    @property
    def ssthresh_bytes(self) -> int | None:
        """The slow start threshold; None if there is none yet."""

    @property
    def pacing_bps(self) -> int | None:
        """The rate to pace packets at, bit/s; None: as acknowledgements clock them."""

    @property
    def needs_sent(self) -> bool:
        """Whether it goes by delivery rates, so that it must be told of every packet that leaves."""

    def on_sent(self, sent: Sent) -> None:
        """Take a packet that leaves."""

    def on_ack(self, ack: Ack) -> None:
        """Take an acknowledgement. ValueError if it `needs_sent` and was not told of what is acknowledged."""

    def on_loss(self, loss: Loss) -> str:
        """Take a loss event, and give its cause."""

    def on_recovered(self, time_s: float) -> None:
        """Take the end of a recovery: all that was under way when it began has been acknowledged."""

    def follow(self, events: object) -> Table:
        """Take n events in order, as `Controller.follow` does; `verdict` is the cause of each loss."""

@final
class Connection:
    """A connection under a scheme, by packet numbers: it knows what is under way, and measures round trips and rates itself.

    Takes its scheme as Scheme does; packets have at most `mtu` bytes. Numbers rise, and times do not fall. A time that is
    not finite raises ValueError.
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
        """Its scheme's name in the registry, or its controller's."""

    @property
    def window_bytes(self) -> int:
        """How many bytes may be under way."""

    @property
    def in_flight_bytes(self) -> int:
        """How many bytes are under way."""

    @property
    def pacing_bps(self) -> int | None:
        """The rate to pace packets at, bit/s; None: as acknowledgements clock them."""

    @property
    def verdict(self) -> str | None:
        """What was said of the last loss event; None before the first."""

    @property
    def odds(self) -> float | None:
        """The odds of congestion at the last loss event, p/(1 − p); None if the classifier gives none."""

    def on_packet_sent(self, number: int, size_bytes: int, time_s: float, *, app_limited: bool = False) -> None:
        """Take a packet that leaves."""

    def on_rtt(self, rtt_s: float) -> None:
        """Take the round trip of the acknowledgement told next, less the delay that the peer reports."""

    def on_packets_acked(self, numbers: list[int], time_s: float) -> None:
        """Take an acknowledgement of these packets."""

    def on_packets_lost(self, numbers: list[int], time_s: float) -> str | None:
        """Take packets that are found lost; give the cause if they are a loss event, not part of the one before."""

    def on_ecn_ce(self, time_s: float) -> None:
        """Take a report of marks, with the acknowledgement told last: congestion."""

    def on_spurious(self, time_s: float) -> None:
        """Undo the last loss event: all that it called lost has arrived."""

    def on_timeout(self, time_s: float) -> str:
        """Take an expiry of the retransmission timer, and give its cause."""

    def on_persistent_congestion(self, time_s: float) -> str:
        """Take the loss of everything sent over a long period (RFC 9002, section 7.6), told as lost before; give its cause."""

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
