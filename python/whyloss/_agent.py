"""Runs commands behind a link for :func:`whyloss.link`: a separate program that imports only the standard library.

``whyloss link`` runs ``_agent.py serve SOCKET``, which starts programs for its clients until its first client leaves.
``_agent.py run SOCKET PROGRAM …`` is such a client. It passes its standard streams, directory, environment and signals to a
program behind the link, and ends with the program's exit code. A program ends with its client.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def send(connection: socket.socket, value: object, files: tuple[int, ...] = ()) -> None:
    """Send a line of JSON, and file descriptors with its first byte."""
    data = json.dumps(value).encode() + b"\n"
    sent = socket.send_fds(connection, [data], list(files)) if files else 0
    connection.sendall(data[sent:])


def receive(connection: socket.socket, files: int = 0) -> tuple[Any, list[int]]:
    """Receive a line of JSON and this number of file descriptors; None if the other end has gone."""
    found: list[int] = []
    data = b""
    while not data.endswith(b"\n"):
        more, got, _, _ = socket.recv_fds(connection, 1 << 16, files)
        if not more:
            return None, found
        data, found = data + more, found + list(got)
    return json.loads(data), found


def serve(path: str) -> None:
    """Serve clients until the first one leaves."""
    # An interrupt from the terminal stops the test, which then ends the link.
    for number in FORWARDED[1:]:
        signal.signal(number, signal.SIG_IGN)
    own = {name: value for name, value in os.environ.items() if name.startswith("WHYLOSS_")}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        holder, _ = listener.accept()
        send(holder, own)
        threading.Thread(target=answer_all, args=(listener, own), daemon=True).start()
        receive(holder)


def answer_all(listener: socket.socket, own: dict[str, str]) -> None:
    """Serve each client in a separate thread."""
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, own), daemon=True).start()


def answer(connection: socket.socket, own: dict[str, str]) -> None:
    """Start a client's program and report its exit code."""
    with connection:
        request, files = receive(connection, 3)
        if request is None:
            return
        try:
            child = subprocess.Popen(
                request["args"],
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
                cwd=request["cwd"],
                env=request["env"] | own,
                # A separate process group can be killed as a whole.
                start_new_session=True,
                restore_signals=True,
            )
        except OSError as error:
            send(connection, {"error": f"cannot start `{request['args'][0]}`: {error.strerror}"})
            return
        finally:
            for file in files:
                os.close(file)
        threading.Thread(target=hand_on, args=(connection, child), daemon=True).start()
        code = child.wait()
        with contextlib.suppress(OSError):
            send(connection, {"code": code})


def hand_on(connection: socket.socket, child: subprocess.Popen[bytes]) -> None:
    """Pass a client's signals to its program. Kill the program when the client leaves."""
    while True:
        with contextlib.suppress(OSError):
            number, _ = receive(connection)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL if number is None else number)
            if number is not None:
                continue
        return


def run(path: str, args: list[str]) -> int:
    """Run a program behind the link. Return its exit code, or end by the signal that ended it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        send(connection, {"args": args, "cwd": os.getcwd(), "env": dict(os.environ)}, (0, 1, 2))
        for number in FORWARDED:
            signal.signal(number, lambda number, _: send(connection, int(number)))
        answer, _ = receive(connection)
    if answer is None:
        print("whyloss: the link has ended", file=sys.stderr)
        return 1
    if "error" in answer:
        print(f"whyloss: {answer['error']}", file=sys.stderr)
        return 127
    code: int = answer["code"]
    if code < 0:
        with contextlib.suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
