"""Runs transfers by aioquic in virtual time, so that no figure depends on the machine.

Prints the Mbit/s of servers that share a link, one for each algorithm, in a line for each seed. The table of
docs/guides/python.md is `30 0.01 101 140` with each algorithm; the shares are `30 0 101 108` with `cubic cubic` and
`cubic whyloss`.
"""

import argparse
import collections
import datetime
import heapq
import itertools
import random

if __name__ == "__main__":
    # Parse before the imports, so that `--help` does not need aioquic.
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, help="duration of a transfer")
    parser.add_argument("loss", type=float, help="share of packets that the channel loses, 0 to 1")
    parser.add_argument("first", type=int, help="first seed")
    parser.add_argument("last", type=int, help="last seed")
    parser.add_argument("algorithms", nargs="+", metavar="ALGORITHM", help="congestion control of a server")
    given = parser.parse_args()

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519

import whyloss.aioquic  # noqa: F401

RATE_BPS, DELAY_S, QUEUE = 10e6, 0.05, 83
HEADERS = 28
ROOM = 1 << 30
# More bytes than the link can carry in 30 s.
BYTES = 50_000_000


def certificate():
    key = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "whyloss")])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1).not_valid_before(now - datetime.timedelta(days=1))
    return builder.not_valid_after(now + datetime.timedelta(days=1)).sign(key, None), key


class Clock:
    def __init__(self):
        self.events, self.order = [], itertools.count()

    def at(self, time, call, *arguments):
        heapq.heappush(self.events, (time, next(self.order), call, arguments))

    def run(self, until):
        while self.events and self.events[0][0] < until:
            time, _, call, arguments = heapq.heappop(self.events)
            call(time, *arguments)


class Link:
    """A drop-tail queue, followed by a channel that loses packets."""

    def __init__(self, loss, seed):
        self.loss, self.random, self.leaving = loss, random.Random(seed), collections.deque()

    def arrival(self, now, size):
        """Return the arrival time of a packet that is sent now; None if it is lost."""
        while self.leaving and self.leaving[0] <= now:
            self.leaving.popleft()
        # A packet in transmission is not in the queue.
        if len(self.leaving) > QUEUE:
            return None
        self.leaving.append((self.leaving[-1] if self.leaving else now) + 8 * (size + HEADERS) / RATE_BPS)
        return None if self.random.random() < self.loss else self.leaving[-1] + DELAY_S


class Host:
    """An end that handles due events in the order of aioquic's own event loop."""

    def __init__(self, clock, link, configuration, **given):
        self.quic = QuicConnection(configuration=configuration, **given)
        self.clock, self.link, self.client = clock, link, configuration.is_client
        self.peer, self.timer, self.received = None, None, 0

    def connect(self, now):
        self.quic.connect(("::", 1), now=now)
        self.transmit(now)

    def take(self, now, data):
        self.quic.receive_datagram(data, ("::", 1), now=now)
        self.handle_events()
        self.transmit(now)

    def expire(self, now, timer):
        if self.timer == timer:
            self.timer = None
            self.quic.handle_timer(now=now)
            self.handle_events()
            self.transmit(now)

    def handle_events(self):
        while (event := self.quic.next_event()) is not None:
            if self.client and isinstance(event, HandshakeCompleted):
                self.quic.send_stream_data(0, b"GET", end_stream=True)
            elif isinstance(event, StreamDataReceived):
                self.received += len(event.data)
                if not self.client:
                    self.quic.send_stream_data(0, bytes(BYTES), end_stream=True)

    def transmit(self, now):
        for data, _ in self.quic.datagrams_to_send(now=now):
            at = self.link.arrival(now, len(data))
            if at is not None:
                self.clock.at(at, self.peer.take, data)
        timer = self.quic.get_timer()
        if timer is not None and timer != self.timer:
            # At exactly the due time, rounding may leave nothing to do, and the clock would stand still.
            self.clock.at(max(timer, now) + 1e-6, self.expire, timer)
        self.timer = timer


def transfer(algorithms, *, loss, seed, seconds):
    """Return the bytes that each algorithm's server delivers in this time over one link."""
    clock, (made, key), begins = Clock(), certificate(), random.Random(f"begins {seed}")
    down, up, clients = Link(loss, seed), Link(0, seed), []
    for algorithm in algorithms:
        configuration = QuicConfiguration(is_client=True, max_data=ROOM, max_stream_data=ROOM, verify_mode=0)
        client = Host(clock, up, configuration)
        configuration = QuicConfiguration(is_client=False, congestion_control_algorithm=algorithm)
        configuration.certificate, configuration.private_key = made, key
        destination = client.quic.original_destination_connection_id
        server = Host(clock, down, configuration, original_destination_connection_id=destination)
        client.peer, server.peer = server, client
        clock.at(begins.uniform(0, 0.1), client.connect)
        clients.append(client)
    clock.run(seconds)
    return [client.received for client in clients]


if __name__ == "__main__":
    for seed in range(given.first, given.last + 1):
        got = transfer(given.algorithms, loss=given.loss, seed=seed, seconds=given.seconds)
        print(seed, *(f"{8e-6 * count / given.seconds:.2f}" for count in got), flush=True)
