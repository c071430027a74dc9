import polars
import pytest

import whyloss


@pytest.mark.parametrize("name", [entry["id"] for entry in whyloss.registry("receiver classifier")])
def test_verdicts_are_those_of_the_run(scenario, name):
    trace = scenario.set("flow.video.classifier", name).run(2, trace=True).trace
    said = polars.DataFrame(whyloss.Classifier(name).judge(trace["arrivals"]))
    losses = polars.DataFrame(trace["losses"]).filter(polars.col("verdict").is_not_null())
    assert losses.height > 20
    judged = {
        sequence: row["verdict"]
        for row in said.iter_rows(named=True)
        for sequence in range(row["first_missing"], row["first_missing"] + row["missing"])
    }
    assert {row["sequence"]: row["verdict"] for row in losses.iter_rows(named=True)} == judged


def test_tables_of_others_in_pieces(scenario):
    arrivals = polars.DataFrame(scenario.run(2, trace=True).trace["arrivals"])
    classifier = whyloss.Classifier("zbs")
    whole = classifier.judge(arrivals).to_dict()
    # Every call starts in the initial state.
    assert classifier.judge(arrivals).to_dict() == whole
    pieces = [
        classifier.feed(arrivals[:700]),
        classifier.feed(arrivals[700:].select("time_s", "sequence", "rott_s")),
        classifier.finish(),
    ]
    for name, values in whole.items():
        assert [value for piece in pieces for value in piece[name]] == values
    shifted = arrivals.with_columns(polars.col("rott_s") + 1234.5)
    assert classifier.judge(shifted)["verdict"] == whole["verdict"]


def captured(sequence, **columns):
    """Return a table of packets with these numbers, 20 ms apart."""
    table = polars.DataFrame({"sequence": sequence}, schema_overrides={"sequence": columns.get("dtype", polars.Int64)})
    return table.with_columns(time_s=polars.int_range(polars.len()) * 0.02, rott_s=polars.lit(0.04))


def test_the_first_number_is_no_loss():
    said = whyloss.Classifier("zbs").judge(captured([1000, 1001, 1003, 1004]))
    assert (said["row"], said["first_missing"], said["missing"]) == ([2], [1002], [1])


@pytest.mark.parametrize(("bits", "dtype"), [(16, polars.UInt16), (32, polars.UInt32)])
def test_numbers_wrap_around(bits, dtype):
    numbers = [(2**bits + n) % 2**bits for n in (-4, -3, -1, 0, 1, 3, 4, 7)]
    expected = ([2, 5, 7], [1, 1, 2])
    said = whyloss.Classifier("zbs", bits=bits).judge(captured(numbers))
    assert (said["row"], said["missing"]) == expected
    assert [first % 2**bits for first in said["first_missing"]] == [2**bits - 2, 2, 5]
    assert said["first_missing"] == sorted(said["first_missing"])
    # The type of the column implies the number of bits.
    said = whyloss.Classifier("zbs").judge(captured(numbers, dtype=dtype))
    assert (said["row"], said["missing"]) == expected


def test_overtaken_packets_are_not_lost():
    numbers = [0, 1, 3, 2, 4, 5, 7, 8, 9, 10, 13]
    said = whyloss.Classifier("zbs").judge(captured(numbers))
    # Packet 6 is lost. The end of the stream reveals the loss of 11 and 12.
    assert (said["row"], said["first_missing"], said["missing"]) == ([6, 10], [6, 11], [1, 2])
    said = whyloss.Classifier("zbs", wait=0).judge(captured(numbers))
    assert said["first_missing"] == [2, 6, 11]
    said = whyloss.Classifier("zbs").judge(captured(numbers), last=20)
    assert (said["first_missing"][-1], said["missing"][-1], said["verdict"][-1]) == (14, 7, "congestion")


def test_packets_one_by_one():
    numbers = [65533, 65534, 0, 65535, 2, 3, 4, 5]
    arrivals = [whyloss.Arrival(n, 0.02 * i, 0.02 * i + 0.04, 200) for i, n in enumerate(numbers)]
    classifier = whyloss.Classifier("zbs3", bits=16)
    lost = [lost for arrival in arrivals for lost in classifier.on_packet(arrival)]
    assert [(one.first % 65536, one.count) for one in lost] == [(1, 1)]
    assert lost[0].verdict in ("congestion", "wireless")
    assert lost[0].revealed_s == pytest.approx(0.12)
    assert len(classifier.finish()) == 0


def test_a_classifier_as_in_a_run(scenario):
    """A classifier of Whyloss inside a Python class gives the same verdicts as alone."""

    class Wrapped:
        def __init__(self):
            self.inner = whyloss.Classifier("zigzag")

        def on_arrival(self, arrival, missing):
            return self.inner.on_arrival(arrival, missing)

    assert scenario.run(1, classifiers={"video": Wrapped})["flows"] == scenario.run(1)["flows"]
    veno = whyloss.Classifier("veno")
    assert veno.end == "sender"
    veno.on_ack(whyloss.Ack(0.1, 1000, segment_size=1000, window_bytes=10_000, rtt_s=0.05))
    loss = whyloss.Loss(0.2, segment_size=1000, window_bytes=10_000, in_flight_bytes=10_000, rtt_s=0.05, min_rtt_s=0.05)
    assert veno.on_loss(loss) == "wireless"
    with pytest.raises(TypeError, match="`veno` is a sender classifier, which has on_ack and on_loss, not judge"):
        veno.judge(captured([0, 1]))
    with pytest.raises(TypeError, match="`zbs` is a receiver classifier, which has judge"):
        whyloss.Classifier("zbs").on_loss(loss)
    assert whyloss.Classifier("trees").end == "receiver"
    assert whyloss.Classifier("trees", end="sender").end == "sender"


def test_bad_tables_are_refused():
    judge = whyloss.Classifier("zigzag", alpha=0.1).judge
    with pytest.raises(TypeError, match="expected a table that speaks Arrow"):
        judge([1, 2])
    with pytest.raises(KeyError, match="no column is called `rott_s`; there are `time_s`, `sequence`"):
        judge(polars.DataFrame({"time_s": [1.0], "sequence": [0]}))
    table = polars.DataFrame({"time_s": [1.0, 2.0], "sequence": [0, 1], "rott_s": [0.1, None]})
    with pytest.raises(ValueError, match="`rott_s` lacks values"):
        judge(table)
    with pytest.raises(ValueError, match="flows `a` and `b`"):
        judge(table.with_columns(rott_s=polars.lit(0.1), flow=polars.Series(["a", "b"])))
    with pytest.raises(ValueError, match="no receiver classifier is called `zagzig`"):
        whyloss.Classifier("zagzig")
    with pytest.raises(ValueError, match="zigzag has no parameter `beta`"):
        whyloss.Classifier("zigzag", beta=1)
    with pytest.raises(ValueError, match="no controller is called `zbs`; it is a receiver classifier; there are reno"):
        whyloss.Controller("zbs")
    with pytest.raises(ValueError, match="bits is 1, expected"):
        whyloss.Classifier("zbs", bits=1)
    with pytest.raises(ValueError, match="sent_s is NaN, expected"):
        whyloss.Arrival(1, float("nan"), 0.0)
    connection, nan = whyloss.Connection("newreno"), float("nan")
    for call in [
        lambda: connection.on_packet_sent(0, 1200, nan),
        lambda: connection.on_packets_acked([0], nan),
        lambda: connection.on_packets_lost([0], nan),
        lambda: connection.on_ecn_ce(nan),
        lambda: connection.on_spurious(nan),
        lambda: connection.on_timeout(nan),
        lambda: whyloss.Scheme("newreno").on_recovered(nan),
    ]:
        with pytest.raises(ValueError, match="time_s is NaN, expected a finite number of seconds"):
            call()
    with pytest.raises(ValueError, match="rtt_s is NaN, expected a finite number of seconds"):
        connection.on_rtt(nan)
    assert connection.in_flight_bytes == 0


def test_estimators_and_controllers():
    # A segment of 1000 bytes each ms is 8 Mbit/s.
    acks = polars.DataFrame({"time_s": [i / 1000 for i in range(1, 2001)]}).with_columns(
        acked_bytes=1000, rtt_s=0.02, in_flight_bytes=20_000, event=polars.lit("ack")
    )
    for entry in whyloss.registry("estimator"):
        estimates = whyloss.Estimator(entry["id"], segment_size=1000).estimate(acks)["estimate_bps"]
        assert len(estimates) == 2000
        if entry["id"] != "sarbe":  # SARBE needs the receiver's timestamps
            assert 1e6 < estimates[-1] < 1e7, entry["id"]
    plus = whyloss.Estimator("westwood-plus", segment_size=1000).estimate(acks)["estimate_bps"]
    assert plus[-1] == pytest.approx(8e6, rel=0.01)
    events = acks[:100].vstack(acks[100:101].with_columns(event=polars.lit("loss"), acked_bytes=0))
    events = events.with_columns(polars.col("acked_bytes").cast(polars.Int64))
    reno = whyloss.Controller("reno", segment_size=1000).follow(events)
    windows = reno["cwnd_bytes"]
    # Slow start adds the acknowledged bytes; a loss halves the bytes in flight.
    assert windows[98] - windows[0] == 98_000
    assert reno["ssthresh_bytes"][0] is None
    assert reno["ssthresh_bytes"][-1] == 10_000
    with pytest.raises(ValueError, match='row 0: `event` is "what", expected'):
        whyloss.Controller("reno").follow(acks[:1].with_columns(event=polars.lit("what")))


def clean_path(control, seconds=10, rate_bps=1e7, rtt_s=0.05, segment=1000):
    """Send over a link of this rate, event by event; return the bit/s received in the second half."""
    now, free, sent, arrived = 0.0, 0.0, 0, 0
    under_way = []
    pace = 0.0
    while now < seconds:
        window = control.cwnd_bytes
        while len(under_way) * segment + segment <= window and pace <= now:
            free = max(free, now) + 8 * segment / rate_bps
            under_way.append((free + rtt_s, now))
            control.on_sent(whyloss.Sent(now, segment))
            sent += 1
            if control.pacing_bps:
                pace = max(pace, now - 0.001) + 8 * segment / control.pacing_bps
        room = len(under_way) * segment + segment <= window
        back = under_way[0][0] if under_way else float("inf")
        now = min(back, pace) if room else back
        if now == back:
            _, left = under_way.pop(0)
            rtt = now - left
            control.on_ack(whyloss.Ack(now, segment, rtt_s=rtt, in_flight_bytes=len(under_way) * segment))
            arrived += now > seconds / 2
    return arrived * 8 * segment / (seconds / 2)


def enough(name):
    """Return the rate that a controller must reach of 10 Mbit/s. Copa attributes a lasting queue to other flows."""
    return 3.5e6 if name == "copa" else 8.5e6


# BaLDE needs the receiver's timestamps, which Python's events do not have.
@pytest.mark.parametrize("name", [entry["id"] for entry in whyloss.registry("controller") if entry["id"] != "balde"])
def test_every_controller_fills_a_clean_path(name):
    assert clean_path(whyloss.Controller(name, segment_size=1000)) > enough(name)


@pytest.mark.parametrize("name", [entry["id"] for entry in whyloss.registry("scheme")])
def test_schemes_one_event_after_the_other(name):
    scheme = whyloss.Scheme(name, segment_size=1000)
    if name != "balde":
        assert clean_path(scheme) > enough(name)
    before = scheme.cwnd_bytes
    verdict = scheme.on_loss(whyloss.Loss(10.1, timeout=True))
    assert verdict in ("congestion", "wireless")
    assert scheme.cwnd_bytes < before


@pytest.mark.parametrize("name", [entry["id"] for entry in whyloss.registry("scheme")])
def test_connections_by_packet_numbers(name):
    """On the same path, 1 % of the packets are lost. Packet numbers reveal each loss at the third later arrival."""
    connection = whyloss.Connection(name, mtu=1000)
    now, free, pace, number, arrived = 0.0, 0.0, 0.0, 0, 0
    coming, unsettled, verdicts = [], [], []
    while now < 10:
        while connection.in_flight_bytes + 1000 <= connection.window_bytes and pace <= now:
            free = max(free, now) + 0.0008
            connection.on_packet_sent(number, 1000, now)
            unsettled.append(number)
            if number % 100 != 99:
                coming.append((free + 0.05, number))
            number += 1
            if connection.pacing_bps:
                pace = max(pace, now - 0.001) + 8000 / connection.pacing_bps
        room = connection.in_flight_bytes + 1000 <= connection.window_bytes
        now = min(coming[0][0], pace) if room else coming[0][0]
        if now == coming[0][0]:
            acked = coming.pop(0)[1]
            connection.on_packets_acked([acked], now)
            unsettled.remove(acked)
            arrived += 1
            lost = [one for one in unsettled if one <= acked - 3]
            if lost:
                verdicts.append(connection.on_packets_lost(lost, now))
                unsettled = [one for one in unsettled if one not in lost]
    assert arrived > 500
    assert connection.verdict in ("congestion", "wireless")
    assert set(verdicts) <= {"congestion", "wireless", None}
    if name == "cubic-trees":
        assert verdicts.count("wireless") > verdicts.count("congestion")
        assert connection.odds > 0


def test_schemes_by_parts():
    scheme = whyloss.Scheme(controller="reno", policy="percent", percent=90, classifier="unaware", segment_size=1000)
    clean_path(scheme, seconds=1)
    window = scheme.cwnd_bytes
    assert scheme.on_loss(whyloss.Loss(1.1, in_flight_bytes=window)) == "congestion"
    assert scheme.cwnd_bytes <= window / 2 + 1000
    controller = whyloss.Controller("reno", 1000, wireless="percent", percent=90)
    clean_path(controller, seconds=1)
    controller.on_loss(whyloss.Loss(1.1, in_flight_bytes=window), "wireless")
    assert controller.cwnd_bytes == pytest.approx(0.9 * window, abs=2)
    with pytest.raises(TypeError, match="expected the name of a scheme"):
        whyloss.Scheme()
    with pytest.raises(ValueError, match="no policy is called `keeep`; there are keep,"):
        whyloss.Scheme(controller="cubic", policy="keeep")
    with pytest.raises(ValueError, match="no sender classifier is called `zbs`; it is a receiver classifier"):
        whyloss.Scheme(controller="cubic", classifier="zbs")
    with pytest.raises(ValueError, match='cause is "radio", expected'):
        controller.on_loss(whyloss.Loss(1.2), "radio")


@pytest.mark.parametrize("name", ["bbr", "copa", "scream"])
def test_delivery_rates_need_packets_that_leave(name):
    controller = whyloss.Controller(name, segment_size=1000)
    assert controller.needs_sent
    acks = polars.DataFrame({"time_s": [0.05], "acked_bytes": [1000], "rtt_s": [0.05], "event": ["ack"]})
    with pytest.raises(ValueError, match=f"row 0: 1000 bytes are acknowledged, of which 0 .* `{name}` goes by delivery rates"):
        controller.follow(acks)
    with pytest.raises(ValueError, match="goes by delivery rates"):
        controller.on_ack(whyloss.Ack(0.05, 1000, rtt_s=0.05))
    # A packet is sent each ms and acknowledged after 50 ms, which is 8 Mbit/s.
    sends = polars.DataFrame({"time_s": [i / 1000 for i in range(2000)]}).with_columns(event=polars.lit("sent"), acked_bytes=0)
    acks = sends.with_columns(polars.col("time_s") + 0.05, event=polars.lit("ack"), acked_bytes=1000)
    events = polars.concat([sends, acks]).sort("time_s").with_columns(rtt_s=0.05)
    windows = whyloss.Controller(name, segment_size=1000).follow(events)
    assert windows["cwnd_bytes"][-1] > 2 * windows["cwnd_bytes"][0]
    assert windows["pacing_bps"][-1] > 4e6
