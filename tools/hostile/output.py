#!/usr/bin/env python3
"""Tests hostile outputs: names with control characters, symbolic links, full disks, signals, leftover files.

    WHYLOSS=target/release/whyloss python3 tools/hostile/output.py

Cases with a separate file system need root and `unshare`; those of `kernel` need a build with that feature. The script
lists the cases that it omits.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from harness import MIB, Cases, Result, run, whyloss

SCENARIO = """
title = "%s"
duration = "%s"
[[link]]
name = "narrow"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"
queue = { packets = 10 }
channel = { kind = "bernoulli", loss = 0.02 }
[[flow]]
name = "one"
from = "a"
to = "b"
count = %d
transport = "tcp"
"""

PLAN = """
scenario = "small.toml"
seeds = 2
metrics = ["total.throughput_bps"]
[[axis]]
name = "rate"
key = "link.narrow.rate"
values = ["1 Mbit/s", "2 Mbit/s"]
"""

STEERING = "\x1b]0;owned\x07\x1b[31mRED\x9b2J\x7f\u202e\u2066\u061c"
PRECIOUS = "precious"


def steers(text: str) -> bool:
    """Returns whether `text` has a control character of terminals."""
    marks = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 or c in marks for c in text)


def hostile_trace(directory: Path) -> Path:
    """Writes a trace whose names of flow and link have control characters and begin like formulas."""
    directory.mkdir()
    flow, link = f'"=1+1{STEERING}"', f'"l{STEERING}"'
    (directory / "losses.csv").write_text(
        "time_s,flow,sequence,where,truth,verdict,verdict_time_s,sent_s\n"
        f"1.0,{flow},1,{link},congestion,,,0.5\n"
    )
    (directory / "arrivals.csv").write_text(
        "time_s,flow,sequence,rott_s,size_bytes,first_damaged_bit,ce\n"
        f"0.9,{flow},0,0.1,1500,,\n2.0,{flow},2,0.1,1500,,\n"
    )
    return directory


def capture(path: Path) -> Path:
    """Writes a capture of one TCP connection, from which a segment is missing."""
    records = []
    for number in (0, 1, 3, 4):
        tcp = struct.pack("!HHIIBBHHH", 1000, 80, 1 + 100 * number, 1, 5 << 4, 16, 1000, 0, 0)
        ip = struct.pack("!BBHHHBBH4s4s", 69, 0, 140, number, 0, 64, 6, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
        records.append(struct.pack("<IIII", number, 0, 140, 140) + ip + tcp + bytes(100))
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101) + b"".join(records))
    return path


T = TypeVar("T")


def when(pid: int, is_ready: Callable[[T], bool], of: T, *signals: int) -> None:
    """Sends signals to a command once `is_ready(of)`; gives up after 20 s, and ends it."""
    for _ in range(2000):
        if is_ready(of):
            break
        time.sleep(0.01)
    else:
        os.kill(pid, signal.SIGKILL)
        return
    time.sleep(0.1)
    for number in signals:
        os.kill(pid, number)
        time.sleep(0.05)


def is_waiting(pid: int) -> bool:
    """Returns whether a process sleeps, which means that it has opened its input or waits for it."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S"


def has_begun(directory: Path) -> bool:
    """Returns whether a run is writing its tables, also under temporary names."""
    return any("links" in path.name for path in directory.iterdir())


def whole(directory: Path) -> str | None:
    """Returns a description of incomplete files in `directory`, or None."""
    for path in directory.rglob("*"):
        if path.name.endswith((".tmp", ".part", ".unfinished")):
            return f"{path.name} is left"
        if path.suffix == ".csv" and not path.read_bytes().endswith(b"\n"):
            return f"{path.name} is torn"
    return None


class Output:
    """The cases, which share a scratch directory."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.whyloss = str(Path(whyloss()).resolve())
        self.cases = Cases("hostile output")
        self.scenario = self.write("small.toml", SCENARIO % ("small", "2 s", 1))
        self.write("plan.toml", PLAN)

    def write(self, name: str, text: str) -> Path:
        path = self.scratch / name
        path.write_text(text)
        return path

    def run(self, *arguments: str | Path, **more: object) -> Result:
        return run([self.whyloss, *map(str, arguments)], cwd=self.scratch, **more)  # type: ignore[arg-type]

    def check(self, name: str, result: Result, wrong: str | None = None, **more: object) -> None:
        """Checks a result; `wrong` describes an additional fault, if any."""
        self.cases.check(name, result, wrong=[wrong] if wrong else [], **more)  # type: ignore[arg-type]

    def names(self) -> None:
        """Control characters in names never reach the terminal, JSON stays valid, and formulas become text."""
        trace = hostile_trace(self.scratch / "trace")
        for form in ("table", "json", "csv"):
            got = self.run("diagnose", trace, "--format", form)
            wrong = "steers the terminal" if steers(got.out + got.err) else None
            if form == "json" and STEERING[-2:] not in json.dumps(json.loads(got.out), ensure_ascii=False):
                wrong = wrong or "JSON has lost the name"
            if form == "csv" and ",=1" in got.out:
                wrong = wrong or "a formula stands in CSV"
            self.check(f"names: names that steer, {form}", got, wrong)
        for name, arguments in {
            "a missing file": ["run", f"no{STEERING}.toml"],
            "a misspelt command": [f"ru{STEERING}"],
            "a value": ["run", "small.toml", "--seed", STEERING],
            "a change": ["run", "small.toml", "--set", f"{STEERING}=1"],
        }.items():
            got = self.run(*arguments)
            wrong = "steers the terminal" if steers(got.out + got.err) else None
            self.check(f"names: {name} that steers", got, wrong, codes=(2,))

    def names_nothing(self) -> None:
        """Unknown names are rejected immediately, with a list of the known ones."""
        arena = ["arena", "biaz", "--networks", "1", "--seeds", "1", "--against", "nope"]
        self.check("nothing: arena --against nope", self.run(*arena), codes=(2,), says="biaz")
        self.check("nothing: arena --against nope --no-harm", self.run(*arena, "--no-harm"), codes=(2,), says="biaz")
        validate = self.run("validate", "--only", "zzz", "--cache", self.scratch / "cache", seconds=10)
        self.check("nothing: validate --only zzz", validate, codes=(2,), says="NewReno, ")
        reality = self.run("reality", "timing", "--quick", "--out", "/nope/page.md", seconds=10)
        self.check("nothing: reality --out /nope/page.md", reality, codes=(2,), says="/nope/page.md")

    def links(self) -> None:
        """A symbolic link in place of a file is replaced; one in place of a directory or lock is rejected."""
        kept = self.write("kept", PRECIOUS)
        scan = capture(self.scratch / "scan.pcap")
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        there = {".whyloss-files", "noted"}
        many = ["run", "small.toml", "--seeds", "2"]
        for name, target, arguments, codes in (
            ("links.csv", kept, ["run", "small.toml", "--trace", "DIR"], (0,)),
            ("links.parquet", kept, ["run", "small.toml", "--trace-format", "parquet", "--trace", "DIR"], (0,)),
            ("narrow.pcapng", kept, ["run", "small.toml", "--pcap", "DIR"], (0,)),
            ("index.html", kept, ["run", "small.toml", "--out", "DIR"], (0,)),
            (".whyloss-files", kept, ["run", "small.toml", "--trace", "DIR"], (0,)),
            ("seed-1", elsewhere, [*many, "--trace", "DIR"], (1, 2)),
            (".lock", kept, ["sweep", "plan.toml", "--out", "DIR"], (1, 2)),
            ("parts", elsewhere, ["sweep", "plan.toml", "--out", "DIR"], (1, 2)),
            ("rows.parquet", kept, ["sweep", "plan.toml", "--out", "DIR"], (0,)),
            (".annotated.part", kept, ["diagnose", str(scan), "--out", "DIR"], (0,)),
            ("annotated.pcapng", kept, ["diagnose", str(scan), "--out", "DIR"], (0,)),
            ("scan.pcap", elsewhere, ["diagnose", str(scan), str(scan), "--out", "DIR"], (1, 2)),
        ):
            with tempfile.TemporaryDirectory(dir=self.scratch) as directory:
                for file in there:
                    (elsewhere / file).write_text("noted\n")
                (Path(directory) / name).symlink_to(target)
                got = self.run(*(directory if word == "DIR" else word for word in arguments))
                is_followed = kept.read_bytes() != PRECIOUS.encode() or names(elsewhere) != there
                self.check(f"links: {name} is a link", got, "the link was followed" if is_followed else None, codes=codes)
            kept.write_text(PRECIOUS)
            for file in elsewhere.iterdir():
                file.unlink()

    def limits(self) -> None:
        """Memory per seed is limited to the printed values, and too many seeds are rejected."""
        many = self.run("run", "small.toml", "--seeds", "20000")
        self.check("limits: run --seeds 20000", many, seconds=20, memory=100 * MIB)
        wide = self.write("wide.toml", SCENARIO % ("wide", "100 ms", 1000))
        got = self.run("run", wide, "--seeds", "100000", seconds=5)
        self.check("limits: 1,000 flows under 100,000 seeds", got, codes=(2,), says="sweep")

    def streams(self) -> None:
        """A full output, too many threads, and controls for a command that does not exist."""
        full = Path("/dev/full")
        for arguments in (["--help"], ["--version"], ["run", "--help"], ["list"], ["man"], ["run", "small.toml"]):
            got = self.run(*arguments, stdout=full)
            self.check(f"streams: {' '.join(arguments)} > /dev/full", got, codes=(1,), says=os.strerror(errno.ENOSPC))
        threads = self.run("run", "small.toml", "--seeds", "2", env={"RAYON_NUM_THREADS": "20000"}, seconds=5)
        self.check("streams: RAYON_NUM_THREADS=20000", threads, codes=(2,), says="RAYON_NUM_THREADS")
        if "no programs" in self.run("kernel", "status").err:
            print("left out: kernel (this build is without it)")
            return
        got = self.run("kernel", "load", "veno", "--", "/no/such")
        self.check("streams: kernel load veno -- /no/such", got, codes=(2,), says="/no/such")
        self.check("streams: kernel load veno veno -- true", self.run("kernel", "load", "veno", "veno", "--", "true"))
        pins = "/sys/fs/bpf"
        load = f"{self.whyloss} kernel load"
        script = (
            f"mount -t bpf bpf {pins} || exit 3; {load} tibet -- sleep 2 & sleep 1; "
            f"{load} --pin veno tibet; code=$?; ls {pins}/whyloss; wait; exit $code"
        )
        got = run(["unshare", "-m", "sh", "-c", script])
        wrong = "veno is pinned" if "veno\n" in got.out else None
        self.check("streams: kernel load --pin veno tibet", got, wrong, codes=(1,), says="wl_tibet")

    def signals(self) -> None:
        """Signals to end have an exit code, and leave complete files."""
        long = self.write("long.toml", SCENARIO % ("long", "900000 s", 1))
        for name, signals in {
            "SIGHUP": (signal.SIGHUP,),
            "SIGTERM": (signal.SIGTERM,),
            "SIGPIPE, SIGINT": (signal.SIGPIPE, signal.SIGINT),
        }.items():
            with tempfile.TemporaryDirectory(dir=self.scratch) as directory:
                arguments = ["run", long, "--trace", directory, "--trace-thin", "1 s"]
                got = self.run(*arguments, during=lambda pid: when(pid, has_begun, Path(directory), *signals))  # noqa: B023
                self.check(f"signals: run --trace, {name}", got, whole(Path(directory)), codes=(130,), seconds=30)
        pipe = self.scratch / "pipe"
        os.mkfifo(pipe)
        for name, arguments in {"diagnose": ["diagnose", pipe], "run": ["run", pipe]}.items():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                got = self.run(*arguments, during=lambda pid: when(pid, is_waiting, pid, number))  # noqa: B023
                self.check(f"signals: {name} waits for a pipe, {signal.Signals(number).name}", got, codes=(130,))

    def disks(self) -> None:
        """A full disk or a limit on file sizes gives exit code 1, the system's reason, and no incomplete file."""
        for option in ("--trace", "--pcap", "--out"):
            with tempfile.TemporaryDirectory(dir=self.scratch) as directory:
                got = self.run("run", "small.toml", option, directory, file_size=4096)
                wrong = torn(got, Path(directory))
                self.check(f"disks: run {option}, files of 4 kB", got, wrong, codes=(1,), says=os.strerror(errno.EFBIG))
        limited = ["diagnose", capture(self.scratch / "scan.pcap"), "--out", self.scratch / "scan"]
        got = self.run(*limited, file_size=300)
        self.check("disks: diagnose --out, files of 300 B", got, codes=(1,), says=os.strerror(errno.EFBIG))
        disk = self.scratch / "disk"
        disk.mkdir()
        mount = f"mount -t tmpfs -o size=64k,nr_inodes=24 tmpfs {disk}"
        if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True).returncode != 0:
            print("left out: full disks (no mounts for this user)")
            return
        scan, log = self.scratch / "scan.pcap", self.scratch / "small.toml"
        for name, command in {
            "run --trace": f"run {log} --trace {disk}",
            "run --pcap": f"run {log} --pcap {disk}",
            "run --out": f"run {log} --out {disk}",
            "sweep": f"sweep plan.toml --out {disk}",
            "diagnose --out": f"diagnose {scan} --out {disk}",
        }.items():
            # Only some blocks of the disk are free. Its files are checked afterwards.
            fill = f"head -c 60000 /dev/zero > {disk}/filler; " if name != "run --out" else ""
            if name in ("sweep", "diagnose --out"):
                fill = f"head -c 100000 /dev/zero > {disk}/filler 2>/dev/null; "
            script = f"{mount}; {fill}{self.whyloss} {command}; code=$?; ls -A {disk} | grep -c tmp >&2; exit $code"
            got = run(["unshare", "-m", "sh", "-c", script], cwd=self.scratch)
            left = None if got.err.endswith("\n0\n") else "an unfinished file is left"
            wrong = left or ("a false claim" if "complete" in got.err else None)
            self.check(f"disks: {name}, full disk", got, wrong, codes=(1,), says=os.strerror(errno.ENOSPC))

    def leftovers(self) -> None:
        """A second run removes all files of the first, and no others."""
        three = self.write("three.toml", SCENARIO % ("three", "2 s", 3))
        parquet = ["--trace-format", "parquet"]
        for option, more in (("--out", []), ("--trace", ["--seeds", "3"]), ("--pcap", []), ("--trace", parquet)):
            with (
                tempfile.TemporaryDirectory(dir=self.scratch) as first,
                tempfile.TemporaryDirectory(dir=self.scratch) as alone,
            ):
                theirs = Path(first) / "flow-9.svg"
                theirs.write_text(PRECIOUS)
                self.run("run", three, *more, "--set", "link.0.name=other", option, first)
                got = self.run("run", "small.toml", option, first)
                theirs = theirs if theirs.is_file() and theirs.read_text() == PRECIOUS else None
                self.run("run", "small.toml", option, alone)
                differ = names(Path(first)) ^ names(Path(alone)) ^ {"flow-9.svg"}
                wrong = f"differs in {sorted(differ)}" if differ or theirs is None else None
                self.check(f"leftovers: two runs, {option} {' '.join(more)}".strip(), got, wrong)


def torn(got: Result, directory: Path) -> str | None:
    """Returns the fault after a failed write: incomplete files, or a message that claims success."""
    return whole(directory) or ("a false claim" if "complete" in got.err else None)


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        output = Output(Path(scratch))
        for part in (
            output.names,
            output.names_nothing,
            output.links,
            output.limits,
            output.streams,
            output.signals,
            output.disks,
            output.leftovers,
        ):
            part()
    output.cases.finish()


main()
