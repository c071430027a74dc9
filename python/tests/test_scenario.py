import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest
from conftest import SCENARIO

import whyloss


def test_a_run_gives_what_the_command_gives(scenario, tmp_path):
    results = scenario.run(3)
    assert results["seeds"] == [3]
    flow = results["flows"][0]
    assert flow["name"] == "video"
    assert results.flows["throughput_bps"] == [flow["throughput_bps"]]
    assert results.flows["lost.wireless"] == [flow["lost"]["wireless"]]
    assert results.links["name"] == ["air", "b->a"] or results.links["name"][0] == "air"
    assert results.trace == {}
    assert scenario.run(3)["flows"] == results["flows"]
    command = os.environ.get("WHYLOSS") or shutil.which("whyloss")
    if command:
        file = tmp_path / "two.toml"
        file.write_text(SCENARIO)
        printed = subprocess.run([command, "run", file, "--seed", "3", "--format", "json"], capture_output=True, check=True)
        said = json.loads(printed.stdout)
        assert {k: v for k, v in said.items() if k != "file"} == {k: v for k, v in dict(results).items() if k != "file"}


def test_a_trace_is_arrow_tables(scenario):
    results = scenario.run(1, trace=True)
    assert sorted(results.trace) == ["arrivals", "links", "losses", "sources", "transfers"]
    arrivals = polars.DataFrame(results.trace["arrivals"])
    assert arrivals.height > 1000
    assert arrivals["time_s"].is_sorted()
    losses = pyarrow.table(results.trace["losses"])
    assert set(losses["truth"].to_pylist()) <= {"congestion", "wireless"}
    assert losses.schema.field("time_s").metadata[b"unit"] == b"s"
    assert results.trace["losses"].units["time_s"] == "s"
    assert scenario.run(1)["flows"] == results["flows"]


def test_set_and_builder(scenario):
    before = scenario.run(1)["total"]
    assert scenario.set("flow.video.classifier", "zbs2") is scenario
    assert scenario.run(1)["total"] != before
    built = (
        whyloss.Scenario.builder("20 s", title="Two hosts")
        .link(
            name="air",
            from_="a",
            to="b",
            rate="2 Mbit/s",
            delay="10 ms",
            queue={"packets": 10},
            channel={"kind": "bernoulli", "loss": 0.02},
        )
        .flow(
            name="video",
            from_="a",
            to="b",
            packet="1000 B",
            transport="tfrc",
            classifier="zbs2",
            start=["0 s", "500 ms"],
        )
        .build()
    )
    assert built.run(1)["flows"] == scenario.run(1)["flows"]
    assert (built.flows, built.duration_s, built.seeds) == (["video"], 20.0, range(1, 2))


def test_errors_say_where(scenario):
    with pytest.raises(whyloss.ScenarioError, match="did you mean `zigzag`") as raised:
        whyloss.Scenario.from_toml(SCENARIO.replace('"zigzag"', '"zigzg"'), "two.toml")
    assert (raised.value.file, raised.value.line) == ("two.toml", 18)
    assert raised.value.path.startswith("flow[0].classifier")
    with pytest.raises(whyloss.ScenarioError) as raised:
        scenario.set("link.air.rate", 5)
    assert raised.value.file is None
    assert scenario.run(1)["total"]["sent"] > 0
    with pytest.raises(TypeError, match="expected a text"):
        scenario.set("link.air.rate", object())
    with pytest.raises(ValueError, match="no flow is called `vidoe`; there are `video`"):
        scenario.run(1, classifiers={"vidoe": object})


class Half:
    """Calls a gap wireless if the delay is below the middle of all delays so far."""

    def __init__(self):
        self.low, self.high = float("inf"), float("-inf")

    def on_arrival(self, arrival, missing):
        self.low, self.high = min(self.low, arrival.rott_s), max(self.high, arrival.rott_s)
        return "wireless" if arrival.rott_s < (self.low + self.high) / 2 else "congestion"


class Always:
    def on_ack(self, ack):
        assert ack.acked_bytes >= 0

    def on_loss(self, loss):
        return "congestion" if loss.timeout else "wireless"


def test_a_classifier_of_ones_own(scenario):
    results = scenario.run(1, classifiers={"video": Half})
    packets = results["flows"][0]["packets"]
    assert sum(packets.values()) > 20
    assert packets["wireless_called_wireless"] > 0
    assert scenario.run(1, classifiers={"video": Half})["flows"] == results["flows"]
    scenario.set({"flow.video.transport": "tcp", "flow.video.classifier": "unaware"})
    verdicts = scenario.run(1, classifiers={"video": Always})["flows"][0]["gaps"]
    assert verdicts["wireless_called_wireless"] > 0


class Gaps:
    """Defines only `on_gap`."""

    def on_gap(self, arrival, missing):
        assert missing > 0
        return "wireless"


class Low:
    """Calls a gap wireless while the delay is in the lower part of its range."""

    parameters = {"share": (0.5, 0.0, 1.0, "share of the range that counts as low")}

    def __init__(self, share=0.5):
        self.share, self.low, self.high = share, float("inf"), float("-inf")

    def on_arrival(self, arrival, missing):
        self.low, self.high = min(self.low, arrival.rott_s), max(self.high, arrival.rott_s)

    def on_gap(self, arrival, missing):
        return "wireless" if arrival.rott_s - self.low < self.share * (self.high - self.low) else "congestion"


def test_a_classifier_asked_at_gaps_alone(scenario):
    packets = scenario.run(1, classifiers={"video": Gaps})["flows"][0]["packets"]
    assert packets["wireless_called_wireless"] > 20
    assert packets["wireless_called_congestion"] == 0
    low = scenario.run(1, classifiers={"video": Low})["flows"]
    assert low == scenario.run(1, classifiers={"video": Half})["flows"]


def test_a_classifier_under_a_name():
    own = {"low": Low, "always": Always}
    text = SCENARIO.replace('"zigzag"', '{ name = "low", share = 0.5 }')
    scenario = whyloss.Scenario.from_toml(text, "own.toml", own=own)
    expected = whyloss.Scenario.from_toml(SCENARIO).run(1, classifiers={"video": Low})["flows"]
    assert scenario.run(1)["flows"] == expected
    assert scenario.copy().run(1)["flows"] == expected
    scenario.set("flow.video.classifier.share", 0.0)
    assert scenario.run(1)["flows"][0]["packets"]["wireless_called_wireless"] == 0
    with pytest.raises(whyloss.ScenarioError, match="found 2, expected a number from 0 to 1"):
        scenario.set("flow.video.classifier.share", 2)
    with pytest.raises(whyloss.ScenarioError, match="no classifier is called `lwo`; did you mean `low`"):
        scenario.set("flow.video.classifier", "lwo")
    with pytest.raises(whyloss.ScenarioError, match="`always` is a sender's classifier"):
        scenario.set("flow.video.classifier", "always")
    scenario.set({"flow.video.transport": "tcp", "flow.video.classifier": "always"})
    assert scenario.run(1)["flows"][0]["gaps"]["wireless_called_wireless"] > 0


def test_names_must_fit(scenario):
    read = whyloss.Scenario.from_toml
    with pytest.raises(ValueError, match="a receiver classifier is registered as `zbs2`, but that name is taken"):
        read(SCENARIO, own={"zbs2": Half})
    with pytest.raises(ValueError, match="expected up to 64 letters"):
        read(SCENARIO, own={"my classifier": Half})
    with pytest.raises(TypeError, match="`nothing` is no classifier: one at a receiver has on_arrival or on_gap"):
        read(SCENARIO, own={"nothing": dict})
    with pytest.raises(TypeError, match="expected a class"):
        read(SCENARIO, own={"number": 3})


def test_copies_of_a_flow(scenario):
    scenario.set("flow.video.count", 2)
    assert scenario.flows == ["video-1", "video-2"]
    all_of_them = scenario.run(1, classifiers={"video": Gaps})["flows"]
    assert all(flow["packets"]["wireless_called_congestion"] == 0 for flow in all_of_them)
    assert scenario.run(1, classifiers={"video-1": Gaps, "video-2": Gaps})["flows"] == all_of_them
    assert scenario.run(1, classifiers={"video-1": Gaps})["flows"] != all_of_them


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_have_bounds(scenario, seed):
    with pytest.raises(ValueError, match=f"seed must be between 0 and 2\\^64 − 1, not {seed}"):
        scenario.run(seed)


def test_every_scenario_is_an_example():
    folder = Path(__file__).parents[2] / "scenarios"
    for file in folder.glob("*.toml"):
        assert whyloss.Scenario.example(file.stem).text == file.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="there are beside, "):
        whyloss.Scenario.example("nosuch")


def test_pandas_takes_tables(scenario):
    results = scenario.run(1, trace=True)
    for table in [results.flows, *results.trace.values()]:
        frames = [pandas.DataFrame.from_arrow(table)]
        # pandas.DataFrame reads rows, so it takes no columns from an empty table.
        if len(table):
            frames.append(pandas.DataFrame(table))
        for frame in frames:
            assert list(frame.columns) == table.column_names
            assert len(frame) == len(table)
    losses = pandas.DataFrame(results.trace["losses"])
    assert losses["time_s"].tolist() == results.trace["losses"]["time_s"]
    assert losses["sequence"].tolist() == results.trace["losses"]["sequence"]
    assert set(losses["truth"]) <= {"congestion", "wireless"}
    assert next(iter(results.flows))["name"] == "video"


def test_what_a_classifier_raises_is_raised(scenario):
    class Broken:
        def on_arrival(self, arrival, missing):
            raise KeyError("idea")

    class Vague:
        def on_arrival(self, arrival, missing):
            return "maybe"

    scenario.set("duration", "100000 s")
    with pytest.raises(KeyError, match="idea"):
        scenario.run(1, classifiers={"video": Broken})
    with pytest.raises(ValueError, match="on_arrival answered 'maybe', expected"):
        scenario.run(1, classifiers={"video": Vague})


def test_ctrl_c_ends_a_run_and_others_go_on(scenario):
    scenario.set("duration", "1000000 s")
    counted = 0
    over = False

    def count():
        nonlocal counted
        while not over:
            counted += 1
            time.sleep(0.01)

    counter = threading.Thread(target=count)
    counter.start()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            scenario.run(1)
    finally:
        over = True
        counter.join()
    assert counted > 5


def test_transfers_are_a_table():
    text = """
    duration = "10 s"
    link = [{ from = "a", to = "b", rate = "1 Mbit/s", delay = "20 ms", queue = "unlimited" }]

    [[flow]]
    name = "file"
    from = "a"
    to = "b"
    transport = { kind = "tcp", initial_window = 10, delayed_ack = "none" }
    application = { kind = "transfers", size = "146 kB" }
    """
    results = whyloss.Scenario.from_toml(text).run(1, trace=True)
    # 100 packets take 12 ms each, and the delay is 20 ms.
    assert list(results.transfers["completed"]) == [1]
    assert list(results.transfers["mean_ms"]) == [pytest.approx(1220.0, abs=0.01)]
    assert results["transfers"][0]["name"] == "file"
    trace = results.trace["transfers"].to_dict()
    assert (trace["flow"], trace["time_s"], trace["size_bytes"]) == (["file"], [0.0], [146_000])
    assert trace["done_s"] == [pytest.approx(1.22, abs=1e-5)]


def test_transfers_of_copies_are_counted_together():
    results = whyloss.Scenario.example("downloads").set("flow.download.count", 3).run(1)
    assert list(results.transfers["name"]) == ["download-1", "download-2", "download-3", "download"]
    assert list(results.transfers["completed"]) == [1, 1, 1, 3]
