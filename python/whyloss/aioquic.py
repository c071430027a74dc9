"""Congestion control for aioquic.

Importing this module registers every scheme of :func:`whyloss.registry` with aioquic.

>>> import whyloss.aioquic
>>> from aioquic.quic.configuration import QuicConfiguration
>>> configuration = QuicConfiguration(is_client=False)
>>> configuration.congestion_control_algorithm = "whyloss"  # or "whyloss-bbr", "whyloss-cubic-trees", ...
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from aioquic.quic.congestion.base import QuicCongestionControl, register_congestion_control
from aioquic.quic.packet_builder import QuicSentPacket
from aioquic.quic.recovery import QuicPacketRecovery
from aioquic.tls import Epoch

from ._study import registry
from ._whyloss import Connection

__all__ = ["WhylossCongestionControl"]


class WhylossCongestionControl(QuicCongestionControl):
    """Runs a scheme of Whyloss instead of aioquic's Reno or CUBIC.

    The scheme receives the packets sent after the handshake. aioquic paces them by its own rule. Packets that a probe timeout
    gives up count as lost, because aioquic never reports their acknowledgement. Round-trip times exclude the delay that the
    receiver reports.
    """

    ack_delay = 0.0
    """The delay of the current acknowledgement at the receiver in s, as the receiver reports it."""

    def __init__(self, *, max_datagram_size: int, scheme: str = "whyloss") -> None:
        """Create the controller for this scheme."""
        self._connection = Connection(scheme, max_datagram_size)
        self._acked: list[int] = []
        self._now = 0.0

    @property
    def congestion_window(self) -> int:  # type: ignore[override]
        """The congestion window: the number of bytes that may be in flight."""
        self._flush()
        return self._connection.window_bytes

    @property
    def verdict(self) -> str | None:
        """The cause of the last loss event; None before the first."""
        return self._connection.verdict

    def on_packet_sent(self, *, packet: QuicSentPacket) -> None:
        """Record a sent packet."""
        self.bytes_in_flight += packet.sent_bytes
        if packet.epoch == Epoch.ONE_RTT:
            self._flush()
            self._advance(packet.sent_time)
            self._connection.on_packet_sent(packet.packet_number, packet.sent_bytes, self._now)

    def on_packet_acked(self, *, now: float, packet: QuicSentPacket) -> None:
        """Record an acknowledged packet. The scheme receives all packets of one acknowledgement together."""
        self.bytes_in_flight -= packet.sent_bytes
        if packet.epoch == Epoch.ONE_RTT:
            if now > self._now:
                self._flush()
            self._advance(now)
            self._acked.append(packet.packet_number)

    def on_packets_lost(self, *, now: float, packets: Iterable[QuicSentPacket]) -> None:
        """Process lost packets."""
        self._flush()
        self._advance(now)
        self.on_packets_expired(packets=packets)

    def on_packets_expired(self, *, packets: Iterable[QuicSentPacket]) -> None:
        """Process packets that get no more reports: those of the handshake, or those that a probe replaces."""
        self._flush()
        lost = []
        for packet in packets:
            self.bytes_in_flight -= packet.sent_bytes
            if packet.epoch == Epoch.ONE_RTT:
                lost.append(packet.packet_number)
        if lost:
            self._connection.on_packets_lost(lost, self._now)

    def on_persistent_congestion(self) -> None:
        """Process persistent congestion (RFC 9002, section 7.6), after its packets were reported lost."""
        self._connection.on_persistent_congestion(self._now)

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:
        """Process the end of an acknowledgement with its round-trip time in s."""
        # A delayed acknowledgement would look like a queue. The receiver waits for more packets,
        # so the last acknowledgement before a lost packet has the longest delay.
        if self._acked:
            self._connection.on_rtt(max(0.0, rtt - self.ack_delay))
        self._flush()

    def _advance(self, now: float | None) -> None:
        if now is not None:
            self._now = max(self._now, now)

    def _flush(self) -> None:
        if self._acked:
            acked, self._acked = self._acked, []
            self._connection.on_packets_acked(acked, self._now)


def _register() -> None:
    for name in (entry["id"] for entry in registry("scheme")):
        algorithm = name if name.startswith("whyloss") else f"whyloss-{name}"
        register_congestion_control(algorithm, functools.partial(WhylossCongestionControl, scheme=name))


def _report_ack_delays() -> None:
    """Make aioquic report the delay of each acknowledgement to schemes. Its own interface does not."""
    handle = QuicPacketRecovery.on_ack_received

    @functools.wraps(handle)
    def on_ack_received(self: QuicPacketRecovery, *, ack_delay: float, **rest: Any) -> None:  # noqa: ANN401
        if isinstance(self._cc, WhylossCongestionControl):
            # A peer must not delay acknowledgements for more time (RFC 9002 section 5.3).
            self._cc.ack_delay = min(ack_delay, self.max_ack_delay)
        handle(self, ack_delay=ack_delay, **rest)

    QuicPacketRecovery.on_ack_received = on_ack_received  # type: ignore[method-assign]


_register()
_report_ack_delays()
