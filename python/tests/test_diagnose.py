"""Tests the diagnosis of captures and logs."""

import json

import polars
import pytest

import whyloss


def log(tmp_path, packets=3000):
    """Write the qlog of a QUIC sender that loses every tenth packet at a nearly empty queue."""
    events = [{"qlog_version": "0.3", "trace": {"common_fields": {"reference_time": 1_700_000_000_000}}}]
    timed = []
    for number in range(packets):
        waiting = 0.1 * (number % 300)
        header = {"packet_type": "1RTT", "packet_number": number}
        timed.append((number, "packet_sent", {"header": header, "raw": {"length": 1200}}))
        if number % 10 == 5 and waiting < 3:
            timed.append((number + 60, "packet_lost", {"header": header}))
        else:
            ack = {"frame_type": "ack", "acked_ranges": [[number, number]]}
            timed.append((number + 20 + waiting, "packet_received", {"header": header, "frames": [ack]}))
    timed.sort(key=lambda event: event[0])
    events += [{"time": at, "name": f"quic:{name}", "data": data} for at, name, data in timed]
    path = tmp_path / "server.sqlog"
    path.write_text("".join(f"\x1e{json.dumps(event)}\n" for event in events))
    return path


def test_losses_of_a_log_as_tables(tmp_path):
    found = whyloss.diagnose(log(tmp_path))
    assert found.partial is None
    assert found.flows["protocol"] == ["QUIC"]
    lost = found.flows["lost"][0]
    assert lost == len(found.losses) == 30
    assert found.flows["base_rtt_ms"] == [20.0]
    causes = polars.DataFrame(found.losses)["cause"].value_counts()
    assert causes.sort("count")["cause"][-1] == "wireless"
    assert set(found.losses["vegas"]) <= {"congestion", "wireless", None}
    assert "lossy link" in str(found)
    assert found.losses.units["delay_before_ms"] == "ms"
    assert repr(found) == "<whyloss.Diagnosis: 1 flows, 30 losses>"


def test_what_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(whyloss.CaptureError, match="no known kind"):
        whyloss.diagnose(path)
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*absent'") as raised:
        whyloss.diagnose(tmp_path / "absent")
    assert raised.value.filename == str(tmp_path / "absent")
    short = log(tmp_path)
    short.write_bytes(short.read_bytes()[:-30])
    assert whyloss.diagnose(short).partial is not None
