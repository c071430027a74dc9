import signal

import pytest

import whyloss

# Shells start background commands with Ctrl-C ignored, and Python keeps this setting. Some tests
# send Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

SCENARIO = """
title = "Two hosts"
duration = "20 s"
[[link]]
name = "air"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "10 ms"
queue = { packets = 10 }
channel = { kind = "bernoulli", loss = 0.02 }
[[flow]]
name = "video"
from = "a"
to = "b"
packet = "1000 B"
transport = "tfrc"
classifier = "zigzag"
start = ["0 s", "500 ms"]
"""


@pytest.fixture
def scenario() -> whyloss.Scenario:
    return whyloss.Scenario.from_toml(SCENARIO, "two.toml")


@pytest.fixture
def plan(scenario: whyloss.Scenario) -> whyloss.Plan:
    axes = {
        "classifier": ("flow.video.classifier", ["zigzag", "zbs2", "unaware"]),
        "loss": ("link.air.channel.loss", [0.0, 0.01, 0.05, 0.1]),
    }
    return whyloss.Plan(scenario, axes, ["total.throughput_bps", "flow.video.mw", "total.sent"], seeds=5)
