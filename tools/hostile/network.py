"""Tests hostile peers on the network: none may end `recv`, and none may make `send` exceed its limits.

Needs root: some cases make network and process namespaces, which are removed afterwards. All traffic stays in them
or on loopback. `WHYLOSS` names a command other than this checkout's release build.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import MIB, Cases, Result, run, whyloss

COMMAND = whyloss()
# The time in s by which a busy machine may exceed a limit. Work beyond a limit would take far
# longer, or never end.
SLACK = 1.0
HELLO, COOKIE, START, ACCEPT, DATA, FEEDBACK, END = range(1, 8)


class Running:
    """A command that runs until it is stopped, or until `seconds` have passed."""

    def __init__(self, *words: str, inside: str | None = None, seconds: float = 20.0) -> None:
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        place = ["ip", "netns", "exec", inside] if inside else []
        self.child = subprocess.Popen([*place, *words], stdout=self.out, stderr=self.err, stdin=subprocess.DEVNULL)
        self.started = time.monotonic()
        self.end = threading.Timer(seconds, self.child.kill)
        self.end.start()

    def runs(self) -> bool:
        return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def tell(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child.pid, number)

    def finish(self) -> Result:
        """Waits until the command has ended."""
        _, status, usage = os.wait4(self.child.pid, 0)
        self.end.cancel()
        self.child.returncode = code = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read(4 * MIB).decode(errors="replace"))
            file.close()
        return Result(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, texts[0], texts[1])


def terms(kind: int, session: int, cookie: bytes = bytes(8), packet: int = 1200) -> bytes:
    """Returns the opening packet of a TFRC session."""
    head = b"WL" + bytes([1, kind]) + struct.pack(">I", session) + cookie
    return (head + struct.pack(">BBHHI", 0, 0, packet, packet, 0)).ljust(64, b"\0")


def data(session: int, number: int, payload: bytes) -> bytes:
    """Returns a data packet of TFRC without times."""
    check = 0xCBF2_9CE4_8422_2325
    for byte in payload:
        check = (check ^ byte) * 0x100_0000_01B3 % (1 << 64)
    fields = struct.pack(">IIQqqIIII", session, number, 1, 0, 0, 0, 0, (check ^ check >> 32) % (1 << 32), 0)
    return b"WL" + bytes([1, DATA]) + fields + payload


def session(at: tuple[str, int], number: int, packet: int = 1200) -> tuple[socket.socket, int]:
    """Opens a session with a genuine address; returns the socket and the kind of the last answer."""
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.settimeout(1.0)
    peer.connect(at)
    for _ in range(20):
        peer.send(terms(HELLO, number, packet=packet))
        with contextlib.suppress(OSError):
            cookie = peer.recv(2048)[8:16]
            peer.send(terms(START, number, cookie, packet))
            return peer, peer.recv(2048)[3]
        time.sleep(0.1)
    return peer, 0


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


# Answers a data packet as a hostile receiver. Takes session, number and stamp as bytes, and returns
# the feedback to send.
Answer = Callable[[bytes, bytes, bytes], bytes]


def feedback(p: float, x: float, hold: int = 0, ahead: int = 0) -> Answer:
    def answer(session: bytes, number: bytes, stamp: bytes) -> bytes:
        echo = (int.from_bytes(stamp, "big") + ahead) % (1 << 64)
        return b"WL\1\6" + session + number + struct.pack(">QqddI", echo, hold, x, p, 1)

    return answer


def at_first_honest(answer: Answer) -> Answer:
    """Returns honest feedback, except for X_recv, until the sender has a round-trip time."""
    answers = iter(range(1 << 62))

    def either(*fields: bytes) -> bytes:
        return (feedback(0.0, 1e300) if next(answers) == 0 else answer)(*fields)

    return either


def hostile_receiver(
    cases: Cases, name: str, answer: Answer, *words: str, every: int = 1, stop_after: float = math.inf, most: float
) -> None:
    """Runs `send` against a receiver that never confirms the end. At most 1 s and `most` MB of data are allowed."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    listener.bind(("127.0.0.1", 0))
    listener.settimeout(0.02)
    peer = f"127.0.0.1:{listener.getsockname()[1]}"
    limits = [] if stop_after < math.inf else ["--time", "1s"]
    sender = Running(COMMAND, "send", peer, *limits, "--patience", "1s", *words, seconds=8.0)
    packets = size = 0
    began = last = stopped = math.nan
    while sender.runs():
        now = time.monotonic()
        if now - began >= stop_after and math.isnan(stopped):
            sender.tell(signal.SIGINT)
            stopped = now
        try:
            packet, source = listener.recvfrom(65_535)
        except OSError:
            continue
        last = time.monotonic() if packet[3] == DATA else last
        match packet[3]:
            case 1:
                listener.sendto(b"WL\1\2" + packet[4:8] + bytes(8), source)
            case 3:
                listener.sendto(b"WL\1\4" + packet[4:8], source)
                began = time.monotonic()
            case 5:
                packets, size = packets + 1, size + len(packet) + 28
                if packets % every == 1 or every == 1:
                    listener.sendto(answer(packet[4:8], packet[8:12], packet[12:20]), source)
    ended = time.monotonic()
    listener.close()
    result = sender.finish()
    since = ended - (began if math.isnan(stopped) else stopped)
    allowed = 2.0 if math.isnan(stopped) else 0.1
    wrong = []
    if since > allowed + SLACK:
        wrong.append(f"ends {since - allowed:.1f} s late")
    if last - began > min(stop_after, 1.0) + SLACK:
        wrong.append(f"data for {last - began:.1f} s")
    if size > most * 1e6:
        wrong.append(f"{size / 1e6:.1f} MB, not {most} at most")
    note = f"{since:.2f} s after {'its start' if math.isnan(stopped) else 'SIGINT'}, {size / 1e6:.2f} MB"
    code = 1 if math.isnan(stopped) else 130
    cases.check(f"31 {name}", result, codes=(code,), seconds=4.0, memory=100 * MIB, wrong=wrong, note=note)


def senders(cases: Cases) -> None:
    # The limit is 100 Mbit/s unless --max-rate sets another, with 20 ms more at the start.
    fast = 13.0
    hostile_receiver(cases, "p = 1e-300, once", feedback(1e-300, 1e300), every=1 << 30, most=0.1)
    hostile_receiver(cases, "p = 1e-300, for every packet", feedback(1e-300, 1e300), most=fast)
    later = at_first_honest(feedback(1e-300, 1e300))
    hostile_receiver(cases, "p = 1e-300 after one of 0", later, most=fast)
    hostile_receiver(cases, "no loss, for every packet", feedback(0.0, 1e300), most=fast)
    slow = ("--max-rate", "8mbit")
    if not run([COMMAND, "send", "--help"]).out.count("--max-rate"):
        slow = ()
    hostile_receiver(cases, "no loss, --max-rate 8mbit", feedback(0.0, 1e300), *slow, most=1.1)
    hostile_receiver(cases, "NaN", feedback(math.nan, math.nan), *slow, most=0.1)
    hostile_receiver(cases, "stamps from the future", feedback(0.0, 1e300, ahead=10**9), *slow, most=0.1)
    iftp = ("--transport", "iftp", *slow)
    hostile_receiver(cases, "noise for IFTP", lambda *_: bytes(16), *iftp, most=1.1)
    hostile_receiver(cases, "a stop under a flood of feedback", feedback(0.0, 1e300), stop_after=0.5, most=fast)


def stop_beside_silence(delay: float) -> tuple[float, Result]:
    """Runs `send` against a receiver that falls silent after accepting; returns the time from SIGINT to the end."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    listener.settimeout(0.1)
    peer = f"127.0.0.1:{listener.getsockname()[1]}"
    sender = Running(COMMAND, "send", peer, seconds=8.0)
    kind = 0
    while kind != DATA and sender.runs():
        with contextlib.suppress(TimeoutError):
            packet, source = listener.recvfrom(65_535)
            kind = packet[3]
            if kind in (HELLO, START):
                listener.sendto(b"WL" + bytes([1, kind + 1]) + packet[4:8] + bytes(8), source)
    time.sleep(delay)
    told = time.monotonic()
    sender.tell(signal.SIGINT)
    os.waitid(os.P_PID, sender.child.pid, os.WEXITED | os.WNOWAIT)
    took = time.monotonic() - told
    listener.close()
    return took, sender.finish()


def stops(cases: Cases) -> None:
    """A stop takes at most 0.1 s plus 0.02 s for the process. The smallest of five times counts, on a busy machine."""
    tries = [stop_beside_silence(0.2 + 0.013 * number) for number in range(5)]
    took, result = min(tries, key=lambda tried: tried[0])
    wrong = [f"exit code {other.code}" for _, other in tries if other.code != 130]
    if took > 0.12:
        wrong.append("late")
    note = f"{1e3 * took:.0f} ms after SIGINT"
    cases.check("31 a stop beside a silent receiver", result, codes=(130,), wrong=wrong, note=note)


@contextlib.contextmanager
def two_hosts() -> Iterator[tuple[str, str]]:
    """Creates two connected network namespaces: 10.9.9.1 and 10.9.9.2."""
    names = [f"hostile{os.getpid()}{end}" for end in "ab"]
    wires = [f"hz{os.getpid() % 100_000}{end}" for end in "ab"]

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", wires[0], "netns", names[0], "type", "veth", "peer", "name", wires[1], "netns", names[1])
        for number, (name, wire) in enumerate(zip(names, wires), 1):
            ip("-n", name, "addr", "add", f"10.9.9.{number}/24", "broadcast", "10.9.9.255", "dev", wire)
            ip("-n", name, "link", "set", wire, "up")
            ip("-n", name, "link", "set", "lo", "up")
            for key in ("all", wire):
                with_key = f"net.ipv4.conf.{key}.rp_filter=0"
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-q", with_key], check=True)
        yield names[0], names[1]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


FORGE = """
import socket, struct, sys, time
opening = bytes.fromhex(sys.argv[1])
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
for source in sys.argv[2:]:
    for port in (5000, 0, 1):
        udp = struct.pack('>HHHH', port, 5000, 8 + len(opening), 0) + opening
        head = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton('10.9.9.1'))
        raw.sendto(head + udp, ('10.9.9.1', 0))
        time.sleep(0.01)
"""


def forged_sources(cases: Cases) -> None:
    sources = "10.9.9.255 10.9.9.0 255.255.255.255 0.0.0.0 127.0.0.1 224.0.0.1 10.9.9.1 240.0.0.1 8.8.8.8 10.9.9.77"
    with two_hosts() as (here, there):
        receiver = Running(COMMAND, "recv", "5000", "--keep", inside=here)
        time.sleep(0.5)
        script = ["python3", "-c", FORGE, terms(HELLO, 7).hex(), *sources.split()]
        subprocess.run(["ip", "netns", "exec", there, *script], check=True)
        honest = Running(COMMAND, "send", "10.9.9.1:5000", "--packets", "3", "--patience", "2s", inside=there)
        cases.check("29 send after forged sources", honest.finish(), codes=(0,))
        receiver.tell(signal.SIGINT)
        cases.check("29 recv --keep under forged sources", receiver.finish(), codes=(0, 130), memory=100 * MIB)


def sessions(cases: Cases) -> None:
    at = ("127.0.0.1", free_port())
    receiver = Running(COMMAND, "recv", f"127.0.0.1:{at[1]}", "--keep", "--patience", "3s", seconds=25.0)

    def honest(name: str) -> None:
        sender = Running(COMMAND, "send", f"127.0.0.1:{at[1]}", "--packets", "3", "--patience", "2s")
        cases.check(f"30 {name}", sender.finish(), codes=(0,))

    silent, answer = session(at, 1)
    wrong = [] if answer == ACCEPT else ["the first session was not accepted"]
    # Many peers prove their addresses: each learns that another session is running.
    for number in range(2, 202):
        other, answer = session(at, number)
        other.close()
        if answer == ACCEPT:
            wrong.append(f"session {number} beside the first")
    # Many peers do not prove their addresses.
    flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number in range(20_000):
        flood.sendto(terms(START if number % 2 else HELLO, number), at)
    flood.close()
    time.sleep(2.2)
    honest("send after one from the same address")
    silent.close()
    silent, _ = session(at, 300)
    time.sleep(3.3)
    honest("send after one that fell silent")
    silent.close()
    receiver.tell(signal.SIGINT)
    cases.check(
        "30 recv --keep and its sessions", receiver.finish(), codes=(0, 130), seconds=4.0, memory=60 * MIB, wrong=wrong
    )


def sparse_file(cases: Cases, scratch: Path) -> None:
    at, path = ("127.0.0.1", free_port()), scratch / "received"
    receiver = Running(COMMAND, "recv", f"127.0.0.1:{at[1]}", "--out", str(path), "--patience", "2s")
    peer, _ = session(at, 9, packet=65_535)
    for number in range(50):
        peer.send(data(9, number * (1 << 20), b"x" * 60))
        time.sleep(0.002)
    peer.send(b"WL" + bytes([1, END]) + struct.pack(">IQQQ", 9, 50, 0, 0))
    result = receiver.finish()
    peer.close()
    size = path.stat().st_size
    wrong = [f"{size / 1e9:.0f} GB"] if size > 1 << 30 else []
    cases.check("41 recv --out of 50 distant packets", result, codes=(1,), says="--out-limit", wrong=wrong)


def init_elsewhere(cases: Cases, scratch: Path) -> None:
    # In separate namespaces, as process 2, a command that does not refuse can do no harm.
    words = f"'{COMMAND}' link-init first -- touch '{scratch}/ran'; exit $?"
    result = run(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "sh", "-c", words])
    wrong = ["ran its command"] if (scratch / "ran").exists() else []
    cases.check("38 link-init as process 2", result, codes=(2,), says="process 1", wrong=wrong)


def links(cases: Cases, scratch: Path) -> None:
    victim = scratch / "victim"

    def planted(name: str, link: Path, *words: str) -> None:
        victim.write_text("kept")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(victim)
        running = Running(*words, seconds=3.0)
        result = running.finish()
        wrong = [] if victim.read_text() == "kept" else ["wrote through a symbolic link"]
        cases.check(f"40 {name}", result, codes=(1,), says="symbolic link", wrong=wrong)

    planted("link --log", scratch / "log/packets.jsonl", COMMAND, "link", "--log", str(scratch / "log"), "--", "true")
    for option in ("--out", "--stats", "--arrivals"):
        link = scratch / option.strip("-")
        planted(f"recv {option}", link, COMMAND, "recv", "127.0.0.1:0", option, str(link))


def words(cases: Cases, scratch: Path) -> None:
    log = scratch / "empty"
    run([COMMAND, "link", "--quiet", "--log", str(log), "--", "true"])
    (log / "packets.jsonl").write_text("")
    cases.check("43 link --replay of an empty log", run([COMMAND, "link", "--replay", str(log)]), codes=(2,), says="no packet")
    missing = run([COMMAND, "link", "--replay", str(scratch / "none")])
    cases.check("43 link --replay of no log", missing, codes=(2,), says="none/run.json")
    for drift in ("nan", "inf", "1e300"):
        result = Running(COMMAND, "recv", "127.0.0.1:0", "--clock-drift", drift, seconds=1.0).finish()
        cases.check(f"43 recv --clock-drift {drift}", result, codes=(2,), says="--clock-drift")
    result = Running(COMMAND, "reality", "timing", "--quick", "--out", "/nope/page.md", seconds=2.0).finish()
    cases.check("39 reality --out /nope/page.md", result, codes=(2,), says="/nope/page.md")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        result = Running(COMMAND, "recv", at, seconds=2.0).finish()
        cases.check("46 recv at an address in use", result, codes=(1,), says=at)
    result = Running(COMMAND, "recv", "127.0.0.1:0", "--stats", "/nope/stats", seconds=2.0).finish()
    cases.check("46 recv --stats /nope/stats", result, codes=(1,), says="/nope/stats")


def hang_up(cases: Cases, scratch: Path) -> None:
    log = scratch / "hup"
    ends = (f"exec '{COMMAND}' recv 5000", f"exec '{COMMAND}' send $WHYLOSS_SERVER:5000")
    running = Running(COMMAND, "link", "--log", str(log), "--rate", "2mbit", "--both", *ends)
    time.sleep(2.0)
    running.tell(signal.SIGHUP)
    result = running.finish()
    wrong = []
    try:
        lines = (log / "packets.jsonl").read_text().splitlines()
        if not [json.loads(line) for line in lines]:
            wrong.append("nothing in the log")
        json.loads((log / "summary.json").read_text())
    except (OSError, ValueError) as error:
        wrong.append(f"a torn log: {error}")
    cases.check("44 link --log and SIGHUP", result, codes=(130,), wrong=wrong)


def main() -> None:
    cases = Cases("Hostile peers")
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        forged_sources(cases)
        sessions(cases)
        senders(cases)
        stops(cases)
        init_elsewhere(cases, scratch)
        links(cases, scratch)
        sparse_file(cases, scratch)
        words(cases, scratch)
        hang_up(cases, scratch)
    cases.finish()


if __name__ == "__main__":
    main()
