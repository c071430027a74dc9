"""Runs commands behind an emulated link and reads the true fate of each of their packets."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _whyloss
from ._whyloss import Table

Argument = str | os.PathLike[str]
AGENT = Path(__file__).with_name("_agent.py")
POLL = 0.01


class LinkError(RuntimeError):
    """A link that could not be created, or whose emulator had a fault. The message is the command's."""


class Link:
    """A running link; :func:`link` creates one, and `with` runs it.

    `server`: the address of this machine at the far end of the link, where a server in the test listens.
    `address`: the address of commands behind the link. Both are None with `udp`.
    `udp`: with `udp=`, the host and port whose datagrams go through the link; None otherwise.
    `log`: the directory of the log, as `whyloss link --log` writes it.
    After the `with` block:
    `summary`: the contents of `summary.json`: counts of each link, lateness, faults of the emulator.
    `links`: a row for each link with its counts: `offered`, `delivered`, `damaged`, `overflow`, `aqm`, `channel`, …
    `packets`: a row for each packet at each link: its headers, its times of arrival and departure, and its `fate`.
    """

    def __init__(self, arguments: Sequence[str], log: Argument | None) -> None:
        """Keep the options of the link."""
        self._arguments = arguments
        self._own = tempfile.TemporaryDirectory(prefix="whyloss-link-")
        self._emulator: subprocess.Popen[str] | None = None
        self._held: socket.socket | None = None
        self._said = Path(self._own.name) / "said"
        self._socket = str(Path(self._own.name) / "agent")
        self.log = Path(log) if log is not None else Path(self._own.name) / "log"
        self.server: str | None = None
        self.address: str | None = None
        self.udp: tuple[str, int] | None = None
        self.summary: dict[str, Any] = {}

    def __enter__(self) -> Link:
        """Create the link."""
        command = os.environ.get("WHYLOSS") or shutil.which("whyloss")
        if command is None:
            raise LinkError(
                "the command `whyloss` is missing: `cargo install --path crates/whyloss-cli` in a clone installs it, "
                "or let the variable WHYLOSS name it"
            )
        agent = [sys.executable, "-I", str(AGENT), "serve", self._socket]
        with self._said.open("w") as said:
            self._emulator = subprocess.Popen(
                [command, "link", "--quiet", "--log", str(self.log), *self._arguments, "--", *agent],
                stdin=subprocess.DEVNULL,
                stderr=said,
                text=True,
                # Ctrl-C ends the `with` block, which then ends the link.
                start_new_session=True,
            )
        try:
            self._held = self._connect()
            names = self._held.makefile().readline()
        except BaseException:
            self._emulator.kill()
            self._emulator.wait()
            raise
        if not names:
            self._emulator.wait()
            raise LinkError(self._message())
        found: dict[str, str] = json.loads(names)
        self.server, self.address = found.get("WHYLOSS_SERVER"), found.get("WHYLOSS_ADDRESS")
        if "WHYLOSS_UDP" in found:
            host, _, port = found["WHYLOSS_UDP"].rpartition(":")
            self.udp = (host.strip("[]"), int(port))
        return self

    def _connect(self) -> socket.socket:
        assert self._emulator is not None
        connection = socket.socket(socket.AF_UNIX)
        while True:
            try:
                connection.connect(self._socket)
                return connection
            except OSError:
                if self._emulator.poll() is not None:
                    connection.close()
                    raise LinkError(self._message()) from None
                time.sleep(POLL)

    def _message(self) -> str:
        text = self._said.read_text().strip()
        return text.removeprefix("whyloss: ") or "the link ended by itself"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Stop the commands behind the link, and the link. Raise LinkError if its emulator had a fault."""
        assert self._emulator is not None
        assert self._held is not None
        self._held.close()
        code = self._emulator.wait()
        path = self.log / "summary.json"
        if path.exists():
            self.summary = json.loads(path.read_text())
        if kind is None and code != 0:
            raise LinkError(self._message())

    def _behind(self, args: Sequence[Argument] | str, shell: bool) -> list[str]:
        words = ["sh", "-c", str(args)] if shell else [args] if isinstance(args, str) else [os.fspath(word) for word in args]
        return [sys.executable, "-I", str(AGENT), "run", self._socket, *words]

    def run(self, args: Sequence[Argument] | str, *, shell: bool = False, **options: Any) -> subprocess.CompletedProcess[Any]:  # noqa: ANN401
        """Run a command behind the link until it ends: `subprocess.run` with its options (`check`, `capture_output`, …)."""
        return subprocess.run(self._behind(args, shell), **options)

    def popen(self, args: Sequence[Argument] | str, *, shell: bool = False, **options: Any) -> subprocess.Popen[Any]:  # noqa: ANN401
        """Start a command behind the link, like `subprocess.Popen`. Closing the link ends it."""
        return subprocess.Popen(self._behind(args, shell), **options)

    @property
    def links(self) -> Table:
        """The counts of each link."""
        return _whyloss.link_counts(json.dumps(self.summary.get("links", [])))

    @property
    def packets(self) -> Table:
        """Every packet at each link, with its fate."""
        return _whyloss.link_packets(str(self.log))

    def __repr__(self) -> str:
        """Show the options of the link."""
        return f"<whyloss.Link: {shlex.join(self._arguments) or 'defaults'}>"


def link(
    file: Argument | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    at_time: str | Sequence[str] = (),
    udp: str | None = None,
    internet: bool = False,
    log: Argument | None = None,
    **options: str | float | None,
) -> Link:
    """Create a link for a `with` block: commands run behind it, and the log has the cause of each loss.

    >>> with whyloss.link(rate="10mbit", delay="20ms", loss=0.02) as net:
    ...     net.run(["curl", "-O", f"http://{net.server}:8000/file"], check=True)
    >>> net.links["channel"], net.packets["fate"]

    Options are those of `whyloss link` (docs/guides/emulator.md), with `_` for `-`: `rate`, `delay`, `jitter`, `queue`,
    `loss`, each also with `_down` and `_up` for one direction; `profile`, `mtu`, `seed`, `late_bound`, `time`.
    `file`: a scenario file with links, in place of the options above; `set` changes its keys.
    `at_time`: changes such as `"10s: loss=0.05"`.
    `udp`: a target `"HOST:PORT"`. The link then carries datagrams sent to `net.udp`, and needs no root.
    `internet`: whether commands reach the networks of this machine.
    `log`: the directory that keeps the log. By default, the log is deleted with the object.
    """
    arguments = [] if file is None else [os.fspath(file)]
    for key, value in (set or {}).items():
        arguments += ["--set", f"{key}={value}"]
    for change in [at_time] if isinstance(at_time, str) else at_time:
        arguments += ["--at-time", change]
    if udp is not None:
        arguments += ["--udp", f"0={udp}"]
    if internet:
        arguments.append("--internet")
    for name, value in options.items():
        if value is not None:
            arguments.append(f"--{name.replace('_', '-')}={value}")
    return Link(arguments, log)
