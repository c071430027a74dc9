"""Tests the bandwidth estimator for media, with a table and live."""

import math

import polars
import pyarrow
import pytest

import whyloss


def reports(rounds):
    """Return packets every 5 ms (1.92 Mbit/s), reported every 100 ms. One in ten is lost without a queue."""
    numbers = [20 * k + n for k in rounds for n in range(20)]
    return polars.DataFrame(
        {
            "time_s": [1.13 + 0.1 * (number // 20) for number in numbers],
            "id": numbers,
            "sent_s": [1 + 0.005 * number for number in numbers],
            "received_s": [math.nan if number % 10 == 4 else 9.02 + 0.005 * number for number in numbers],
            "size_bytes": [1200] * len(numbers),
        }
    )


def test_a_table_and_live_agree():
    whole = whyloss.BandwidthEstimator(300e3, most_bps=3e6)
    table = whole.feed(reports(range(60)))
    live = whyloss.BandwidthEstimator(300e3, most_bps=3e6)
    for k in range(60):
        live.feed(reports([k]))
    assert live.target_bps == whole.target_bps == table["target_bps"][-1]
    assert len(table["time_s"]) == 60
    # Losses without a queue let the target rise far above the initial rate.
    assert 1.5e6 < whole.target_bps <= 3e6
    assert max(table["queue_s"]) < 1e-6


def test_silence_halves_once():
    estimator = whyloss.BandwidthEstimator(300e3)
    assert estimator.timeout_s is None
    estimator.feed(reports(range(10)))
    target, due = estimator.target_bps, estimator.timeout_s
    assert due == pytest.approx(1.13 + 0.9 + 0.5, abs=0.2)
    estimator.timeout(due)
    assert estimator.target_bps == target / 2
    assert estimator.timeout_s is None


def test_a_packet_without_an_arrival_is_lost():
    table = reports(range(60))
    nulls = table.with_columns(polars.col("received_s").fill_nan(None))
    assert nulls["received_s"].null_count() == 120
    targets = [whyloss.BandwidthEstimator(300e3).feed(given)["target_bps"] for given in (table, nulls)]
    assert list(targets[0]) == list(targets[1])
    # A column without any value has no type in Arrow.
    nan = table.with_columns(received_s=polars.lit(math.nan))
    none = table.drop("received_s").to_arrow().append_column("received_s", pyarrow.nulls(len(table)))
    targets = [whyloss.BandwidthEstimator(300e3).feed(given)["target_bps"] for given in (nan, none)]
    assert list(targets[0]) == list(targets[1])


def test_wrong_input_is_told():
    with pytest.raises(ValueError, match="expected positive bit/s"):
        whyloss.BandwidthEstimator(float("nan"))
    with pytest.raises(ValueError, match="expected positive bit/s"):
        whyloss.BandwidthEstimator(1e6, least_bps=2e6, most_bps=1e6)
    with pytest.raises((ValueError, KeyError), match="received_s"):
        whyloss.BandwidthEstimator(1e6).feed(reports([0]).drop("received_s"))
