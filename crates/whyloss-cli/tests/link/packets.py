"""Sends packets of many kinds over an emulated link, and checks that each arrives. Arguments: `server` or `client`."""
import os
import socket
import sys

SEGMENT = 103  # UDP_SEGMENT of linux/udp.h
EXPERIMENT = 253  # a protocol number for experiments (RFC 3692)
FAMILIES = [(socket.AF_INET, ""), (socket.AF_INET6, "6")]


def bound(family, kind, protocol=0, port=5000):
    own = os.environ["WHYLOSS_ADDRESS" + ("6" if family == socket.AF_INET6 else "")]
    opened = socket.socket(family, kind, protocol)
    opened.bind((own, port))
    opened.settimeout(10)
    return opened


def server():
    raw = [bound(family, socket.SOCK_RAW, EXPERIMENT, 0) for family, _ in FAMILIES]
    datagrams = [bound(family, socket.SOCK_DGRAM) for family, _ in FAMILIES]
    streams = [bound(family, socket.SOCK_STREAM) for family, _ in FAMILIES]
    for stream in streams:
        stream.listen()
    for (family, _), raw, datagram, stream in zip(FAMILIES, raw, datagrams, streams):
        assert raw.recv(100)[-3:] == b"raw"
        assert len(datagram.recv(65_535)) == 4_000
        assert [len(datagram.recv(65_535)) for _ in range(10)] == [1_000] * 10
        connection, _ = stream.accept()
        total = sum(len(piece) for piece in iter(lambda: connection.recv(65_536), b""))
        connection.sendall(str(total).encode())
        connection.close()


def client():
    for family, suffix in FAMILIES:
        host = os.environ["WHYLOSS_SERVER" + suffix]
        with socket.socket(family, socket.SOCK_RAW, EXPERIMENT) as raw:
            raw.sendto(b"raw", (host, 0))
        with socket.socket(family, socket.SOCK_DGRAM) as datagram:
            datagram.sendto(bytes(4_000), (host, 5000))
            datagram.setsockopt(socket.IPPROTO_UDP, SEGMENT, 1_000)
            datagram.sendto(bytes(10_000), (host, 5000))
        with socket.create_connection((host, 5000), timeout=10) as stream:
            stream.sendall(bytes(300_000))
            stream.shutdown(socket.SHUT_WR)
            assert stream.recv(100) == b"300000"


{"server": server, "client": client}[sys.argv[1]]()
