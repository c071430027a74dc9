"""Tests commands behind an emulated link."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import polars
import pytest

import whyloss

needs_command = pytest.mark.skipif("WHYLOSS" not in os.environ, reason="WHYLOSS does not name the command")
needs_root = pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root")
# A busy machine delays packets, which these tests allow.
BUSY = "60s"

FETCH = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as server:
    server.shutdown(socket.SHUT_WR)
    print(sum(len(data) for data in iter(lambda: server.recv(1 << 16), b"")))
"""


@pytest.fixture
def file_server():
    """Serve 300,000 bytes to each client, in this process."""
    listener = socket.create_server(("0.0.0.0", 0))

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                client.sendall(bytes(300_000))

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


@needs_command
@needs_root
def test_a_transfer_behind_a_link_and_the_truth_about_it(file_server):
    with whyloss.link(rate="20mbit", delay="5ms", queue=1000, loss_down=0.05, seed=3, late_bound=BUSY) as net:
        fetch = [sys.executable, "-c", FETCH, net.server, str(file_server)]
        for _ in range(2):
            done = net.run(fetch, capture_output=True, text=True, check=True)
            assert int(done.stdout) == 300_000
    packets = polars.DataFrame(net.packets)
    down = packets.filter(link="down")
    lost = down.filter(fate="channel").height
    assert 0 < lost < 0.2 * down.height
    assert packets.filter(link="up", fate="channel").height == 0
    counts = {row["link"]: row for row in net.links}
    assert (counts["down"]["channel"], counts["up"]["channel"]) == (lost, 0)
    assert counts["down"]["offered"] == down.height
    assert net.summary["seed"] == 3
    assert set(packets["source"]) == {net.server, net.address}
    assert net.links.units["bytes"] == "bytes"


@needs_command
@needs_root
def test_a_command_behaves_as_it_does_elsewhere(tmp_path):
    with whyloss.link(late_bound=BUSY) as net:
        echo = net.run(
            "read line; echo $line from $PWD $NAME; echo aside >&2; exit 7",
            shell=True,
            capture_output=True,
            text=True,
            input="one\n",
            cwd=tmp_path,
            env={"NAME": "here", **os.environ},
        )
        assert (echo.stdout, echo.stderr, echo.returncode) == (f"one from {tmp_path} here\n", "aside\n", 7)
        assert net.run(["/nonexistent"], capture_output=True).returncode == 127
        with pytest.raises(subprocess.TimeoutExpired):
            net.run(["sleep", "1000.25"], timeout=0.5)
        sleeper = net.popen(["sleep", "1000.25"])
        with pytest.raises(subprocess.TimeoutExpired):
            sleeper.wait(0.3)
        sleeper.terminate()
        assert sleeper.wait() == -signal.SIGTERM
        left = net.popen(["sleep", "1000.25"])
    # The end of the link stops commands that still run.
    assert left.wait(20) != 0
    assert subprocess.run(["pgrep", "-f", "sleep 1000.25"], capture_output=True).stdout == b""
    assert net.run(["true"], capture_output=True).returncode != 0


@needs_command
def test_datagrams_of_this_process_cross_a_link_without_root():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as target:
        target.bind(("127.0.0.1", 0))
        target.settimeout(10)
        udp = f"127.0.0.1:{target.getsockname()[1]}"
        with whyloss.link(udp=udp, rate="20mbit", delay="1ms", loss_up=0.3, late_bound=BUSY) as net:
            assert net.udp is not None
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                for number in range(200):
                    client.sendto(bytes([number]), net.udp)
                target.settimeout(1)
                came = 0
                try:
                    while target.recv(100):
                        came += 1
                except TimeoutError:
                    pass
    counts = {row["link"]: row for row in net.links}["up"]
    assert (counts["offered"], counts["delivered"]) == (200, came)
    assert 20 < counts["channel"] < 120


@needs_command
def test_wrong_options_are_said():
    with pytest.raises(whyloss.LinkError, match="`10` is no rate: expected such as 10mbit"), whyloss.link(rate=10):
        pass
    with pytest.raises(whyloss.LinkError, match="unexpected argument '--speed'"), whyloss.link(speed=10):
        pass


def test_a_missing_command_is_said(monkeypatch):
    monkeypatch.delenv("WHYLOSS", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(whyloss.LinkError, match="cargo install --path crates/whyloss-cli"), whyloss.link():
        pass


@needs_command
@needs_root
def test_the_fixture_ends_its_links(tmp_path):
    test = tmp_path / "test_app.py"
    test.write_text(
        textwrap.dedent(f"""
        import sys

        SEND = "import socket, sys; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', (sys.argv[1], 9))"
        links = []

        def test_two_links(whyloss_link, tmp_path):
            slow = whyloss_link(rate="1mbit", loss=0.2, late_bound="{BUSY}")
            fast = whyloss_link(rate="50mbit", late_bound="{BUSY}")
            assert slow.server != fast.server
            for net in slow, fast:
                net.run([sys.executable, "-c", SEND, net.server], check=True)
            links.extend([slow, fast])
            assert fast.log == tmp_path / "link-2"

        def test_they_have_ended():
            assert all(net.links["offered"][1] > 0 for net in links)
            assert all((net.log / "packets.jsonl").exists() for net in links)
        """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
