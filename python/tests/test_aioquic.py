import os
import subprocess
import sys
from pathlib import Path

import pytest

import whyloss

pytest.importorskip("aioquic")

import virtual_quic
from aioquic.quic.congestion.base import create_congestion_control, register_congestion_control
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.tls import Epoch

import whyloss.aioquic

TRANSFER = Path(__file__).parent / "quic_transfer.py"
# For the table of docs/guides/python.md, set WHYLOSS_SEEDS=3 and WHYLOSS_SECONDS=30.
SEEDS = range(1, 1 + int(os.environ.get("WHYLOSS_SEEDS", 1)))
SECONDS = int(os.environ.get("WHYLOSS_SECONDS", 12))


def packet(number, at, epoch=Epoch.ONE_RTT):
    sent = QuicSentPacket(epoch, True, True, False, number, 0)
    sent.sent_time, sent.sent_bytes = at, 1200
    return sent


def test_every_scheme_is_registered():
    for entry in whyloss.registry("scheme"):
        name = entry["id"]
        algorithm = name if name.startswith("whyloss") else f"whyloss-{name}"
        control = create_congestion_control(algorithm, max_datagram_size=1200)
        assert control.congestion_window == whyloss.Connection(name, 1200).window_bytes
    with pytest.raises(Exception, match="whyloss-nothing"):
        create_congestion_control("whyloss-nothing", max_datagram_size=1200)


@pytest.mark.parametrize("scheme", ["whyloss", "bbr", "cubic-trees"])
def test_the_scheme_hears_what_aioquic_tells(scheme):
    control = whyloss.aioquic.WhylossCongestionControl(max_datagram_size=1200, scheme=scheme)
    connection = whyloss.Connection(scheme, 1200)
    number, now = 0, 1.0
    for turn in range(400):
        flight = [packet(number + index, now) for index in range(8)]
        number += len(flight)
        for sent in flight:
            control.on_packet_sent(packet=sent)
            connection.on_packet_sent(sent.packet_number, 1200, now)
        rtt = 0.05 + turn % 7 * 0.001
        now += rtt
        lost = flight[2:3] if turn % 9 == 8 else []
        acked = [sent for sent in flight if sent not in lost]
        for sent in acked:
            control.on_packet_acked(now=now, packet=sent)
        control.ack_delay = turn % 5 * 0.001
        control.on_rtt_measurement(now=now, rtt=rtt)
        connection.on_rtt(rtt - control.ack_delay)
        connection.on_packets_acked([sent.packet_number for sent in acked], now)
        if lost:
            control.on_packets_lost(now=now, packets=lost)
            connection.on_packets_lost([sent.packet_number for sent in lost], now)
        if turn == 300:
            control.on_persistent_congestion()
            connection.on_persistent_congestion(now)
        assert control.congestion_window == connection.window_bytes
        assert control.bytes_in_flight == connection.in_flight_bytes == 0
        assert control.verdict == connection.verdict


def test_the_handshake_counts_as_in_flight_alone():
    control = whyloss.aioquic.WhylossCongestionControl(max_datagram_size=1200)
    before = control.congestion_window
    hello = packet(0, 1.0, Epoch.INITIAL)
    control.on_packet_sent(packet=hello)
    assert control.bytes_in_flight == 1200
    control.on_packets_expired(packets=[hello])
    assert (control.bytes_in_flight, control.congestion_window) == (0, before)


def test_round_trips_exclude_the_delay_of_acknowledgements():
    heard = []

    class Heard(whyloss.aioquic.WhylossCongestionControl):
        def on_rtt_measurement(self, *, now, rtt):
            heard.append((rtt, self.ack_delay))
            super().on_rtt_measurement(now=now, rtt=rtt)

    register_congestion_control("heard", Heard)
    virtual_quic.transfer(["heard"], loss=0, seed=1, seconds=0.5)
    # The receiver delays acknowledgements by 1 ms. The path takes 100 ms, and the transmission 1 ms.
    first = [(rtt, delay) for rtt, delay in heard if rtt < 0.103]
    assert max(delay for _, delay in first) == pytest.approx(0.001, abs=1e-4)
    assert min(rtt - delay for rtt, delay in first) == pytest.approx(0.101, abs=3e-4)


def test_a_scheme_outruns_cubic_in_virtual_time():
    got = {
        name: sum(virtual_quic.transfer([name], loss=0.01, seed=seed, seconds=20)[0] for seed in range(1, 5))
        for name in ["cubic", "whyloss"]
    }
    assert got["whyloss"] > 4 * got["cubic"]


def test_cubic_beside_a_scheme_keeps_its_share_in_virtual_time():
    beside, with_ours = (
        sum(virtual_quic.transfer(["cubic", other], loss=0, seed=seed, seconds=20)[0] for seed in range(1, 4))
        for other in ["cubic", "whyloss"]
    )
    assert with_ours > 0.9 * beside


def transfer(algorithms, *, loss, seed):
    """Return the bytes that each algorithm's server delivers over one link of 10 Mbit/s and 100 ms."""
    command = os.environ.get("WHYLOSS")
    if command is None or os.geteuid() != 0:
        pytest.skip("needs root, and WHYLOSS to name the command")
    serve = f"{sys.executable} {TRANSFER} serve {' '.join(algorithms)}"
    fetch = f"{sys.executable} {TRANSFER} fetch {SECONDS} {len(algorithms)}"
    link = [command, "link", "--rate", "10mbit", "--delay", "50ms", "--queue", "83", "--loss-down", loss, "--seed", str(seed)]
    # A busy machine delays packets, which these tests allow.
    link += ["--late-bound", "60s", "--time", "90s", "--quiet", "--both", serve, fetch]
    done = subprocess.run(link, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_a_scheme_outruns_cubic_on_a_lossy_link():
    schemes = ["cubic", "reno", "whyloss-cubic-trees"]
    if len(SEEDS) > 1:
        schemes += ["whyloss", "whyloss-bbr"]
    got = {name: [transfer([name], loss="bernoulli:0.01", seed=seed)[0] for seed in SEEDS] for name in schemes}
    for name, counts in got.items():
        print(name, *(f"{8e-6 * count / SECONDS:.2f}" for count in counts), "Mbit/s")
    total = {name: sum(counts) for name, counts in got.items()}
    assert total["whyloss-cubic-trees"] > 2 * max(total["cubic"], total["reno"])


@pytest.mark.parametrize("seed", SEEDS)
def test_cubic_beside_a_scheme_keeps_its_share(seed):
    beside = transfer(["cubic", "cubic"], loss="none", seed=seed)
    with_ours = transfer(["cubic", "whyloss"], loss="none", seed=seed)
    print(f"seed {seed}: beside cubic {beside}, beside whyloss {with_ours} bytes")
    assert with_ours[0] > sum(beside) / 4
