"""Sends 800 kB over TCP from the client to the server, which confirms the complete data."""

import os
import socket
import sys

BYTES = 800_000

if sys.argv[1] == "server":
    with socket.create_server(("0.0.0.0", 6000)) as listener:
        connection, _ = listener.accept()
        left = BYTES
        while left > 0:
            left -= len(connection.recv(65_536))
        connection.sendall(b"all")
else:
    server = os.environ["WHYLOSS_SERVER"]
    with socket.create_connection((server, 6000), timeout=60) as connection:
        connection.sendall(bytes(BYTES))
        assert connection.recv(3) == b"all"
