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
    whole = whyloss.Classifier("zbs").judge(arrivals).to_dict()
    classifier = whyloss.Classifier("zbs")
    pieces = [classifier.judge(arrivals[:700]), classifier.judge(arrivals[700:].select("time_s", "sequence", "rott_s"))]
    for name, values in whole.items():
        assert pieces[0][name] + pieces[1][name] == values
    shifted = arrivals.with_columns(polars.col("rott_s") + 1234.5)
    assert whyloss.Classifier("zbs").judge(shifted)["verdict"] == whole["verdict"]


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


def test_estimators_and_controllers():
    # A segment of 1000 bytes each ms: 8 Mbit/s.
    acks = polars.DataFrame({"time_s": [i / 1000 for i in range(1, 2001)]}).with_columns(
        acked_bytes=1000, rtt_s=0.02, in_flight_bytes=20_000, event=polars.lit("ack")
    )
    for entry in whyloss.registry("estimator"):
        estimates = whyloss.Estimator(entry["id"], segment_size=1000).estimate(acks)["estimate_bps"]
        assert len(estimates) == 2000
        if entry["id"] != "sarbe":  # which goes by the receiver's stamps
            assert 1e6 < estimates[-1] < 1e7, entry["id"]
    plus = whyloss.Estimator("westwood-plus", segment_size=1000).estimate(acks)["estimate_bps"]
    assert plus[-1] == pytest.approx(8e6, rel=0.01)
    events = acks[:100].vstack(acks[100:101].with_columns(event=polars.lit("loss"), acked_bytes=0))
    events = events.with_columns(polars.col("acked_bytes").cast(polars.Int64))
    reno = whyloss.Controller("reno", segment_size=1000).follow(events)
    windows = reno["cwnd_bytes"]
    # Slow start adds what is acknowledged; a loss leaves half of what is in flight.
    assert windows[98] - windows[0] == 98_000
    assert reno["ssthresh_bytes"][0] is None
    assert reno["ssthresh_bytes"][-1] == 10_000
    with pytest.raises(ValueError, match='row 0: `event` is "what", expected'):
        whyloss.Controller("reno").follow(acks[:1].with_columns(event=polars.lit("what")))
