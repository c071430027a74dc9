"""Find out whether congestion or a radio lost packets: simulate, classify, sweep, reproduce.

>>> import whyloss
>>> scenario = whyloss.Scenario.from_file("scenarios/wlh.toml")
>>> results = scenario.set("flow.video.classifier", "trees").run(seed=1, trace=True)
>>> results["total"]["throughput_bps"]  # keys as in `whyloss run --format json`
>>> results.trace["losses"]             # an Arrow table: polars.DataFrame(...), pyarrow.table(...)

Tables are in Arrow format (:class:`Table`), which Polars, pandas, pyarrow and DuckDB read.
`docs/guides/python.md` is the guide.
"""

from . import plot
from ._diagnose import Diagnosis, diagnose
from ._evaluate import evaluate
from ._link import Link, LinkError, link
from ._scenario import Builder, Results, Scenario
from ._study import Reproduction, arena, experiments, registry, reproduce
from ._sweep import Plan, again, sweep
from ._whyloss import (
    Ack,
    Arrival,
    BandwidthEstimator,
    CaptureError,
    Classifier,
    Connection,
    Controller,
    Estimator,
    Loss,
    Lost,
    RunError,
    ScenarioError,
    Scheme,
    Sent,
    SweepError,
    Table,
    __version__,
    half_width,
)

__all__ = [
    "Ack",
    "Arrival",
    "BandwidthEstimator",
    "Builder",
    "CaptureError",
    "Classifier",
    "Connection",
    "Controller",
    "Diagnosis",
    "Estimator",
    "Link",
    "LinkError",
    "Loss",
    "Lost",
    "Plan",
    "Reproduction",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "Sent",
    "SweepError",
    "Table",
    "__version__",
    "again",
    "arena",
    "diagnose",
    "evaluate",
    "experiments",
    "half_width",
    "link",
    "plot",
    "registry",
    "reproduce",
    "sweep",
]
