"""Sends bytes by aioquic for `test_aioquic.py`.

quic_transfer.py serve ALGORITHM...     a server for each, on ports 4433, 4434, ...
quic_transfer.py fetch SECONDS COUNT    prints the bytes that each of the first COUNT servers delivered
"""

import asyncio
import os
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import StreamDataReceived
from virtual_quic import BYTES, ROOM, certificate

import whyloss.aioquic  # noqa: F401

PORT = 4433


class Server(QuicConnectionProtocol):
    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, bytes(int(event.data)), end_stream=True)
            self.transmit()


class Client(QuicConnectionProtocol):
    received = 0

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            self.received += len(event.data)


async def serving(algorithms):
    made, key = certificate()
    for index, algorithm in enumerate(algorithms):
        configuration = QuicConfiguration(is_client=False, congestion_control_algorithm=algorithm)
        configuration.certificate, configuration.private_key = made, key
        await serve("0.0.0.0", PORT + index, configuration=configuration, create_protocol=Server)
    await asyncio.Event().wait()


async def fetching(seconds, count):
    async def fetch(index):
        configuration = QuicConfiguration(is_client=True, max_data=ROOM, max_stream_data=ROOM)
        configuration.verify_mode = 0
        server = os.environ["WHYLOSS_SERVER"]
        async with connect(server, PORT + index, configuration=configuration, create_protocol=Client) as client:
            client._quic.send_stream_data(client._quic.get_next_available_stream_id(), b"%d" % BYTES, end_stream=True)
            client.transmit()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await asyncio.sleep(0.1)
            return client.received

    print(*await asyncio.gather(*map(fetch, range(count))), flush=True)


if sys.argv[1] == "serve":
    asyncio.run(serving(sys.argv[2:]))
else:
    asyncio.run(fetching(float(sys.argv[2]), int(sys.argv[3])))
