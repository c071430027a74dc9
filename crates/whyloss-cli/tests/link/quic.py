"""The same pages over HTTP/3, at these addresses: `quic.py FILE ADDRESS…`.

FILE gets the hash of the key, with which a browser trusts the certificate.
"""

import asyncio
import base64
import datetime
import hashlib
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pages import page


class Server(QuicConnectionProtocol):
    http = None

    def quic_event_received(self, event):
        self.http = self.http or H3Connection(self._quic)
        for heard in self.http.handle_event(event):
            if isinstance(heard, HeadersReceived):
                path = dict(heard.headers)[b":path"].decode()
                kind, body = page(path, self._quic._network_paths[0].addr[0])
                head = [(b":status", b"200"), (b"content-type", kind.encode())]
                self.http.send_headers(heard.stream_id, head)
                self.http.send_data(heard.stream_id, body, end_stream=True)
                self.transmit()


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "site.test")])
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    names = x509.SubjectAlternativeName([x509.DNSName("site.test")])
    return made.add_extension(names, critical=False).sign(key, hashes.SHA256()), key


async def main(file, addresses):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.certificate, configuration.private_key = certificate()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = configuration.private_key.public_key().public_bytes(serialization.Encoding.DER, form)
    for address in addresses:
        await serve(address, 443, configuration=configuration, create_protocol=Server)
    with open(file, "w") as hashed:
        hashed.write(base64.b64encode(hashlib.sha256(public).digest()).decode())
    await asyncio.Future()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
