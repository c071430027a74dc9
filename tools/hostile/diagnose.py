"""Tests `whyloss diagnose` with hostile captures, logs, and tables. Each once cost minutes, gigabytes, or a panic.

    python3 tools/hostile/diagnose.py

The script generates all inputs in a temporary directory. `WHYLOSS` names a command other than the release build.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import struct
import tempfile
from pathlib import Path

import parquet_file
from harness import MIB, Cases, run, whyloss

SECOND = 1_000_000_000


def packet(protocol: int, source: str, destination: str, body: bytes, length: int | None = None) -> tuple[bytes, int]:
    """Return an IPv4 packet without checksums whose header states `length` as the length of its body."""
    claimed = 20 + (len(body) if length is None else length)
    ends = b"".join(bytes(map(int, end.split("."))) for end in (source, destination))
    return struct.pack(">BBHIBBH", 0x45, 0, claimed & 0xFFFF, 0, 64, protocol, 0) + ends + body, claimed


def udp(payload: bytes, ports: tuple[int, int] = (5000, 5000), back: bool = False) -> tuple[bytes, int]:
    """Return a datagram in an IPv4 packet, from 10.0.0.1 to 10.0.0.2 or back."""
    ends = ("10.0.0.2", "10.0.0.1") if back else ("10.0.0.1", "10.0.0.2")
    return packet(17, *ends, struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload)


def tcp(
    sequence: int,
    acknowledgement: int = 0,
    length: int = 0,
    blocks: list[tuple[int, int]] = (),
    back: bool = False,
    port: int = 1000,
    window: int = 1000,
) -> tuple[bytes, int]:
    """Return a TCP segment of which only the headers were captured."""
    options = b""
    if blocks:
        options = bytes([1, 1, 5, 2 + 8 * len(blocks)])
        options += b"".join(struct.pack(">II", *(end & 0xFFFFFFFF for end in block)) for block in blocks)
    ports, ends = (port, 80), ("10.0.0.1", "10.0.0.2")
    if back:
        ports, ends = ports[::-1], ends[::-1]
    offset = (5 + len(options) // 4) << 4
    head = struct.pack(
        ">HHIIBBHHH", *ports, sequence & 0xFFFFFFFF, acknowledgement & 0xFFFFFFFF, offset, 0x10, window, 0, 0
    )
    return packet(6, *ends, head + options, len(head) + len(options) + length)


def rtp(number: int, source: int, stamp: int, transport: int | None = None) -> bytes:
    """Return an RTP packet, with a transport-wide number in a header extension if one is given."""
    first = 0x80 if transport is None else 0x90
    head = struct.pack(">BBHII", first, 0, number & 0xFFFF, stamp & 0xFFFFFFFF, source)
    if transport is not None:
        head += struct.pack(">HHBHB", 0xBEDE, 1, 0x51, transport & 0xFFFF, 0)
    return head + bytes(20)


def feedback(kind: int, source: int, body: bytes) -> bytes:
    """Return a packet of RTCP transport feedback."""
    body += bytes(-len(body) % 4)
    return struct.pack(">BBHII", 0x80 | kind, 205, 2 + len(body) // 4, 1, source) + body


def capture(path: Path, packets: list[tuple[int, tuple[bytes, int]]]) -> Path:
    """Write a compressed pcap of IP packets with times in ns."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for time, (captured, length) in packets:
            captured = captured[:65535]
            file.write(struct.pack("<IIII", time // SECOND, time % SECOND, len(captured), max(length, len(captured))))
            file.write(captured)
    return path


def rtp_gaps(path: Path) -> Path:
    """Write streams that skip 60,000 numbers each."""
    packets, now = [], 0
    for source in range(600):
        for number in (0, 1, 2, 3, 4, 30_000, 60_000):
            now += 1000
            packets.append((now, udp(rtp(number, source, number * 160))))
    return capture(path, packets)


def qlog(path: Path, records: list[dict]) -> Path:
    """Write a log with a record on each line."""
    head = {"qlog_format": "JSON-SEQ", "trace": {}}
    path.write_text("\n".join(json.dumps(record) for record in [head, *records]))
    return path


def received(number: int, connection: str, time: float) -> dict:
    """Return the record of a packet that a QUIC endpoint received."""
    data = {"header": {"packet_number": number}, "raw": {"length": 1200}}
    return {"name": "packet_received", "time": time, "group_id": connection, "data": data}


def qlog_gaps(path: Path) -> Path:
    """Write connections that skip 60,000 numbers each."""
    numbers = [(one, jump) for one in range(1500) for jump in (0, 1, 60_000, 2**62 - 1, 2**64 - 1)]
    return qlog(path, [received(number, f"c{one}", at) for at, (one, number) in enumerate(numbers)])


def transport_feedback(path: Path, each: int) -> Path:
    """Write transport-wide feedback, `each` bytes per packet, that reports 8,191 packets in every two bytes."""
    packets, now = [], 0
    for number in range(5000):
        now += 100_000
        packets.append((now, udp(rtp(number, number % 8, number * 160, number))))
    random.seed(each)
    for _ in range(max(200_000 // each, 100)):
        now += 100_000
        runs = b"".join(struct.pack(">H", 0x1FFF) for _ in range((each - 20) // 2))
        first = random.randrange(1 << 16)
        body = struct.pack(">HHIB", first, 0xFFFF, 0, 0)[:8] + runs
        packets.append((now, udp(feedback(15, 7, body), back=True)))
    return capture(path, packets)


def requests(path: Path) -> Path:
    """Write NACKs of numbers that are neither missing nor known, for one of many streams."""
    packets, now = [], 0
    for source in range(300):
        for number in range(6):
            now += 1000
            packets.append((now, udp(rtp(number, source, number * 160))))
    for number in range(5000):
        now += 1000
        packets.append((now, udp(rtp(number * 2, 9999, number * 160))))
    for turn in range(300):
        now += 1000
        entries = b"".join(struct.pack(">HH", (turn * 340 + 17 * at) & 0xFFFF, 0xFFFF) for at in range(350))
        packets.append((now, udp(feedback(1, 9999, entries), back=True)))
    return capture(path, packets)


def sacked(path: Path) -> Path:
    """Write 65,000 one-byte pieces that are acknowledged selectively and sent again 64 kB at a time."""
    packets, now = [], 0
    for at in range(65_000):
        now += 1000
        packets.append((now, tcp(1000 + at, length=1)))
    packets.append((now, tcp(1, 1000, blocks=[(1001, 66_000)], back=True)))
    for at in range(4000):
        now += 1000
        packets.append((now, tcp(1000 + at % 2, length=65_000)))
    return capture(path, packets)


def split(path: Path) -> Path:
    """Write pieces of 64 kB, each of which an acknowledgement splits in the middle."""
    packets, now = [], 0
    for at in range(1000):
        now += 1000
        packets.append((now, tcp(1000 + at * 60_000, length=60_000)))
    random.seed(1)
    for _ in range(30_000):
        now += 1000
        starts = [1000 + 20 * random.randrange(3_000_000) for _ in range(3)]
        packets.append((now, tcp(1, 1000, blocks=[(start, start + 10) for start in starts], back=True)))
    return capture(path, packets)


def duplicates(path: Path) -> Path:
    """Write thousands of losses, with reports of duplicates of other packets."""
    packets, now = [], 0

    def at(piece: int) -> int:
        return 1000 + piece * 1000

    for piece in range(40_000):
        now += 1000
        packets.append((now, tcp(at(piece), length=1000)))
    for piece in range(1, 40_000, 2):
        now += 1000
        packets.append((now, tcp(1, at(0), blocks=[(at(piece), at(piece + 1))], back=True)))
    for piece in range(0, 40_000, 2):
        now += 1000
        packets.append((now, tcp(at(piece), length=1000)))
    now += SECOND // 10
    for piece in range(0, 40_000, 2):
        now += 1000
        packets.append((now, tcp(1, at(piece + 2), back=True)))
    for piece in range(1, 40_000, 2):
        for turn in range(3):
            now += 1000
            blocks = [(at(piece) + turn, at(piece) + turn + 1)]
            packets.append((now, tcp(1, at(40_000), blocks=blocks, back=True)))
    return capture(path, packets)


def late(path: Path) -> Path:
    """Write packets, each of which belongs before all waiting ones."""
    packets = [(10 * SECOND, tcp(1000, length=10))]
    packets += [(10 * SECOND - at * 20_000, tcp(1010 + at * 10, length=10)) for at in range(1, 40_000)]
    return capture(path, packets)


def pieces(path: Path) -> Path:
    """Write ten connections whose 65,000 pieces are sent repeatedly and never acknowledged."""
    packets, now = [], 0
    for port in range(1000, 1010):
        for at in range(0, 65_000, 5):
            now += 1000
            packets.append((now, tcp(1000 + at, length=5, port=port)))
        for turn in range(60):
            for at in range(0, 65_000, 650):
                now += 1000
                packets.append((now, tcp(1000 + at, length=650, port=port)))
    return capture(path, packets)


def many(path: Path) -> Path:
    """Write more connections than a small memory limit permits."""
    packets, now = [], 0
    for turn in range(6):
        for port in range(1000, 6000):
            now += 1000
            packets.append((now, tcp(1000 + turn * 20, length=10, port=port)))
            packets.append((now, tcp(1, 1010 + turn * 20, port=port, back=True)))
    return capture(path, packets)


def interfaces(path: Path) -> Path:
    """Write a capture with interface descriptions that have long options."""

    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    comment = struct.pack("<HH", 3, 65_000) + bytes(65_000)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for _ in range(700):
            file.write(block(1, struct.pack("<HHI", 101, 0, 0) + comment * 4))
    return path


def damaged(path: Path) -> Path:
    """Write a section header whose two lengths differ."""
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    path.write_bytes(struct.pack("<II", 0x0A0D0D0A, 28) + body + struct.pack("<I", 32))
    return path


def places(path: Path) -> Path:
    """Write the log of an emulated path with a separate link for each packet."""
    with gzip.open(path, "wt", compresslevel=1) as file:
        for number in range(60_000):
            line = {
                "packet": number, "link": f"link-{number}", "protocol": 17, "source": "10.0.0.1",
                "destination": "10.0.0.2", "source_port": 1, "destination_port": 2, "sequence": None, "bytes": 100,
                "enqueued": number * 1000, "scheduled": number * 1000, "departed": None, "fate": "overflow",
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
    return path


def tables(directory: Path, end: int = 0, name: str = "f") -> Path:
    """Write a simulated run's tables; `arrivals.csv` is a sparse file that ends with zero bytes up to this size."""
    directory.mkdir()
    (directory / "losses.csv").write_text(
        f"time_s,flow,sequence,where,truth,verdict,verdict_time_s,sent_s\n1.0,{name},1,l,congestion,,,0.5\n"
    )
    with (directory / "arrivals.csv").open("wb") as file:
        file.write(f"time_s,flow,sequence,rott_s,size_bytes\n0.9,{name},0,0.1,1500\n".encode())
        if end:
            file.truncate(end)
    return directory


def parquet(directory: Path, **wrong: int) -> Path:
    """Write the log of an emulated link as Parquet, with one wrong statement in its metadata."""
    directory.mkdir()
    (directory / "packets.parquet").write_bytes(parquet_file.table("packet", 100, **wrong))
    return directory


def long_ids(path: Path) -> Path:
    """Write connections with ids of 100 kB."""
    return qlog(path, [received(0, "x" * 100_000 + str(one), one) for one in range(300)])


def main() -> None:
    cases = Cases("diagnose")
    command = whyloss()
    with tempfile.TemporaryDirectory() as temporary:
        below = Path(temporary)

        def diagnose(name: str, *paths: Path, arguments: tuple[str, ...] = (), **expected: object) -> None:
            result = run([command, "diagnose", *map(str, paths), *arguments], seconds=10)
            cases.check(name, result, **{"memory": 400 * MIB, **expected})
            for path in paths:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

        diagnose("rtp: gaps of 60,000 numbers", rtp_gaps(below / "gaps.gz"))
        diagnose("rtp: the same as JSON", rtp_gaps(below / "gaps.gz"), arguments=("--format", "json"), seconds=6)
        diagnose("quic: gaps of 60,000 numbers", qlog_gaps(below / "gaps.qlog"), says="events lack a time")
        diagnose("rtp: transport-wide feedback, 1,200 B", transport_feedback(below / "twcc.gz", 1200))
        diagnose("rtp: transport-wide feedback, 40 B", transport_feedback(below / "twcc.gz", 40))
        diagnose("rtp: transport-wide feedback, 60 kB", transport_feedback(below / "twcc.gz", 60_000))
        diagnose("rtp: requests for unknown numbers", requests(below / "nack.gz"))
        diagnose("tcp: 65,000 pieces again at once", sacked(below / "sack.gz"))
        diagnose("tcp: acknowledgements that split", split(below / "split.gz"))
        diagnose("tcp: duplicates of no loss", duplicates(below / "dsack.gz"))
        diagnose("tcp: 10 connections of 13,000 pieces", pieces(below / "pieces.gz"), memory=200 * MIB)
        diagnose(
            "tcp: more connections than memory follows", many(below / "many.gz"), arguments=("--memory", "32 MiB"),
            memory=120 * MIB, says="closed early: the memory limit of 32 MiB",
        )  # fmt: skip
        diagnose("capture: packets that are ever later", late(below / "order.gz"))
        diagnose("pcapng: interfaces with long options", interfaces(below / "idb.gz"), says="descriptions of its")
        diagnose("pcapng: a damaged block", damaged(below / "block.pcapng"), codes=(2,), says="block 1: ")
        diagnose("log: a link for each packet", places(below / "places.gz"), says="lost at `link-59999`")
        diagnose("log: ids of 100 kB", long_ids(below / "ids.qlog"), says="whose id is too long")
        line = below / "line.qlog"
        line.write_bytes(b'{"qlog_format":"JSON-SEQ","trace":{}}\n{"name":"' + b"x" * (4 << 20))
        diagnose("log: a line without end", line, says="record 2 is longer than 1 MiB")
        diagnose("table: a row without end", tables(below / "csv", 20 << 30), codes=(2,), says="longer than 1 MiB")
        diagnose("table: a long cell", tables(below / "cell", name="x" * 9000), codes=(2,), says="a cell of 9000 bytes")
        for name, wrong in (
            ("a column before the file", {"offset": -5}),
            ("a column behind the file", {"size": 1 << 40}),
            ("more rows than bytes", {"rows": 1 << 40}),
            ("a negative number of rows", {"rows": -1}),
            ("a page of 2 GiB, unpacked", {"unpacked": 0x7FFFFFFF}),
            ("a page of another encoding", {"encoding": 9}),
        ):
            diagnose(f"parquet: {name}", parquet(below / "parquet", **wrong), codes=(2,), says="packets.parquet")
        # A log with rows of another kind is rejected only after it was read to its end.
        diagnose("parquet: nothing wrong", parquet(below / "parquet"), codes=(2,), says="none of its rows")

        plan = below / "plan.toml"
        axis = '[[axis]]\nname = "rate"\nkey = "link.l.rate"\nvalues = ["1 Mbit/s"]\n'
        plan.write_text(f'scenario = "/dev/zero"\nseeds = 1\nmetrics = ["total.throughput_bps"]\n{axis}')
        result = run([command, "sweep", str(plan), "--out", str(below / "sweep")], seconds=10)
        cases.check("sweep: a scenario without end", result, codes=(1, 2), says="it has more than 16 MiB")

        # Inputs with equal names get separate directories.
        out = below / "out"
        first, second, third = below / "a.qlog-2", below / "a.qlog", below / "b" / "a.qlog"
        third.parent.mkdir()
        for number, path in enumerate((first, second, third)):
            qlog(path, [received(at, "c", at) for at in range(2 + number)])
        result = run([command, "diagnose", *map(str, (first, second, third)), "--out", str(out)])
        packets = sorted(
            json.loads(path.read_text())["flows"][0]["counts"]["data_packets"] for path in out.glob("*/diagnosis.json")
        )
        cases.check("diagnose --out: names that collide", result)
        if packets != [2, 3, 4]:
            cases.failures.append(f"diagnose --out: {packets} packets in its directories, not [2, 3, 4]")
    cases.finish()


if __name__ == "__main__":
    main()
