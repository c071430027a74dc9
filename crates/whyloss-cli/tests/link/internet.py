"""A substitute for the internet: answers every name, and every page with the address of its client."""
import http.server
import ipaddress
import socket
import socketserver
import struct
import threading

from pages import page

ADDRESSES = {1: "203.0.113.1", 28: "2001:db8:2::1"}  # A and AAAA


class Names(socketserver.BaseRequestHandler):
    """A name server (RFC 1035, section 4.1): each name has the same addresses."""

    def handle(self):
        query, answering = self.request
        end = query.index(0, 12) + 5  # the name, its type, its class
        (kind,) = struct.unpack("!H", query[end - 4 : end - 2])
        data = ipaddress.ip_address(ADDRESSES[kind]).packed if kind in ADDRESSES else b""
        answer = struct.pack("!HHHIH", 0xC00C, kind, 1, 60, len(data)) + data if data else b""
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if data else 0, 0, 0)
        answering.sendto(head + query[12:end] + answer, self.client_address)


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, body = page(self.path, self.client_address[0])
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Web(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


names = socketserver.ThreadingUDPServer(("203.0.113.1", 53), Names)
threading.Thread(target=names.serve_forever, daemon=True).start()
Web(("::", 80), Pages).serve_forever()
