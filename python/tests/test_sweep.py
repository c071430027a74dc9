import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import polars
import pytest
from conftest import SCENARIO

import whyloss


@pytest.fixture
def rows(plan, tmp_path):
    """Return the path of the expected rows."""
    whyloss.sweep(plan, out=tmp_path / "here", jobs=1)
    return (tmp_path / "here" / "rows.parquet").read_bytes()


def test_rows_are_complete_and_can_be_made_again(plan, scenario):
    rows = whyloss.sweep(plan)
    assert rows.column_names[:4] == ["point", "classifier", "loss", "seed"]
    assert (len(rows), sorted(set(rows["seed"]))) == (60, [1, 2, 3, 4, 5])
    frame = polars.DataFrame(rows)
    assert frame.select("classifier", "loss", "seed").is_unique().all()
    row = frame.filter(classifier="zbs2", loss=0.05, seed=4).row(0, named=True)
    results = whyloss.again(row, scenario)
    assert results["total"]["throughput_bps"] == row["total.throughput_bps"]
    assert results["flows"][0]["mw"] == row["flow.video.mw"]


def test_it_goes_on_where_it_was_ended(plan, rows, tmp_path):
    out = tmp_path / "out"
    whyloss.sweep(plan, out=out, jobs=1)
    parts = sorted((out / "parts").iterdir())
    told = []
    assert whyloss.sweep(plan, out=out, progress=lambda done, of: told.append(of)).num_rows == 60
    assert sorted((out / "parts").iterdir()) == parts
    assert set(told) <= {0}
    assert (out / "rows.parquet").read_bytes() == rows
    assert polars.read_parquet(out / "rows.parquet").drop("error").equals(polars.DataFrame(whyloss.sweep(plan)).drop("error"))


def test_python_and_the_command_share_their_runs(plan, rows, tmp_path):
    command = os.environ.get("WHYLOSS")
    if not command:
        pytest.skip("WHYLOSS does not name the command")
    (tmp_path / "two.toml").write_text(SCENARIO)
    file = tmp_path / "plan.toml"
    file.write_text('scenario = "two.toml"\n' + plan.text)
    printed = subprocess.run([command, "sweep", file, "--out", tmp_path / "there"], capture_output=True, check=True)
    assert b"60 runs in" in printed.stdout
    there = polars.read_parquet(tmp_path / "there" / "rows.parquet")
    assert there.equals(polars.read_parquet(tmp_path / "here" / "rows.parquet"))


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_on_an_executor(plan, rows, tmp_path, kind):
    if kind is ProcessPoolExecutor:
        import multiprocessing

        executor = kind(2, mp_context=multiprocessing.get_context("spawn"))
    else:
        executor = kind(2)
    with executor:
        whyloss.sweep(plan, out=tmp_path / "out", on=executor, runs_per_task=7)
    assert (tmp_path / "out" / "rows.parquet").read_bytes() == rows


def test_straight_to_a_store(plan, rows, tmp_path):
    url = f"file://{tmp_path}/store"
    whyloss.sweep(plan, out=url)
    assert (tmp_path / "store" / "rows.parquet").read_bytes() == rows
    parts = sorted((tmp_path / "store" / "parts").iterdir())
    os.remove(parts[0])
    whyloss.sweep(plan, out=url)
    assert (tmp_path / "store" / "rows.parquet").read_bytes() == rows


def test_seeds_until_precise(scenario):
    until = {"metric": "total.throughput_bps", "within": 0.02, "most": 30}
    axes = {"loss": ("link.air.channel.loss", [0.0, 0.1])}
    plan = whyloss.Plan(scenario, axes, ["total.throughput_bps"], seeds=3, until=until)
    rows = polars.DataFrame(whyloss.sweep(plan))
    seeds = dict(rows.group_by("loss").len().iter_rows())
    assert 3 <= seeds[0.0] < seeds[0.1] <= 30
    with ThreadPoolExecutor(2) as executor:
        assert rows.equals(polars.DataFrame(whyloss.sweep(plan, on=executor, runs_per_task=2)))


def test_bad_plans_are_refused(plan, scenario, tmp_path):
    with pytest.raises(whyloss.SweepError, match="no key is called `thrughput`"):
        whyloss.sweep(whyloss.Plan(scenario, {}, ["total.thrughput"]))
    wrong = whyloss.Plan(scenario, {"classifier": ("flow.video.classifier", ["zbs", "zgzag"])}, ["total.sent"])
    with pytest.raises(whyloss.ScenarioError, match=r"point 1 \(classifier zgzag\)") as raised:
        whyloss.sweep(wrong)
    assert raised.value.message
    with pytest.raises(TypeError, match="expected a Ray address"):
        whyloss.sweep(plan, on=3)
    with pytest.raises(TypeError, match=r"metrics is .*, expected a list"):
        whyloss.Plan(scenario, {}, "total.sent")
    with pytest.raises(TypeError, match="values of axis 'c' are 'zbs', expected"):
        whyloss.Plan(scenario, {"c": ("flow.video.classifier", "zbs")}, ["total.sent"])


@pytest.mark.parametrize(
    "sets",
    [
        {"link.air.queue.packets": 3, "link.air.queue": {"packets": 40}},
        {"link.air.queue": {"packets": 40}, "link.air.queue.packets": 3},
        {"flow.video.classifier": "zbs2", "flow.*.classifier": "unaware"},
        {"flow.video.classifier": "unaware", "flow.0.classifier": "zbs2"},
        {"flow.video.name": "audio", "flow.audio.classifier": "zbs2"},
    ],
)
def test_a_plan_has_the_network_of_its_scenario(scenario, sets):
    for key, value in sets.items():
        scenario.set(key, value)
    metrics = ["total.sent", "total.mw", "total.lost.congestion"]
    row = next(iter(whyloss.sweep(whyloss.Plan(scenario, {}, metrics))))
    total = scenario.run(1)["total"]
    found = [total["sent"], total["mw"], total["lost"]["congestion"]]
    assert [row[metric] for metric in metrics] == found
    assert whyloss.again(row, scenario)["total"] == total


def test_settings_are_a_table_unless_their_order_matters(scenario):
    scenario.set("link.air.rate", "1 Mbit/s").set("duration", "2 s").set("link.air.rate", "3 Mbit/s")
    text = whyloss.Plan(scenario, {}, ["total.sent"]).text
    assert text.endswith('[set]\n"link.air.rate" = "3 Mbit/s"\nduration = "2 s"\n')


def test_changed_rows_remove_an_old_page(plan, scenario, tmp_path):
    whyloss.sweep(plan, out=tmp_path)
    for name in ["index.html", "sweep.json", "mine.html"]:
        (tmp_path / name).write_text("of the rows before")
    (tmp_path / ".whyloss-files").write_text("index.html\nsweep.json\n")
    whyloss.sweep(plan, out=tmp_path)
    assert (tmp_path / "index.html").exists()
    whyloss.sweep(whyloss.Plan(scenario, {}, ["total.sent"]), out=tmp_path)
    assert not (tmp_path / "index.html").exists()
    assert not (tmp_path / "sweep.json").exists()
    assert (tmp_path / "mine.html").exists()


class Low:
    """Calls a gap wireless while the delay is in the lower part of its range."""

    parameters = {"share": (0.5, 0.0, 1.0, "share of the range that counts as low")}

    def __init__(self, share=0.5):
        self.share, self.low, self.high = share, float("inf"), float("-inf")

    def on_arrival(self, arrival, missing):
        self.low, self.high = min(self.low, arrival.rott_s), max(self.high, arrival.rott_s)
        return "wireless" if arrival.rott_s - self.low < self.share * (self.high - self.low) else "congestion"


class Broken:
    def on_gap(self, arrival, missing):
        raise KeyError("idea")


def test_own_classifiers_on_an_axis(tmp_path):
    scenario = whyloss.Scenario.from_toml(SCENARIO, "two.toml", own={"low": Low})
    values = ["zbs2", "low", {"name": "low", "share": 0.1}]
    plan = whyloss.Plan(scenario, {"classifier": ("flow.video.classifier", values)}, ["flow.video.mw"], seeds=2)
    rows = whyloss.sweep(plan, out=tmp_path / "out")
    assert len(set(rows["flow.video.mw"])) == 6
    told = []
    whyloss.sweep(plan, out=tmp_path / "out", progress=lambda done, of: told.append(of))
    assert set(told) <= {0}
    row = next(row for row in rows if row["point"] == 2)
    assert whyloss.again(row, scenario)["flows"][0]["mw"] == row["flow.video.mw"]
    (tmp_path / "two.toml").write_text(SCENARIO)
    again = whyloss.again(row, tmp_path / "two.toml", own={"low": Low})
    assert again["flows"][0]["mw"] == row["flow.video.mw"]
    # Other processes, which get the class pickled, give the same rows. A new version repeats the runs.
    import multiprocessing

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert whyloss.sweep(plan, on=executor).to_dict() == rows.to_dict()
    Low.version = "2"
    try:
        whyloss.sweep(plan, out=tmp_path / "out", progress=lambda done, of: told.append(of))
    finally:
        del Low.version
    assert max(told) == 4
    with pytest.raises(KeyError, match="idea"):
        whyloss.sweep(
            whyloss.Plan(scenario, {"c": ("flow.video.classifier", ["broken"])}, ["total.sent"]), own={"broken": Broken}
        )


def test_an_edited_classifier_of_a_notebook_runs_again(tmp_path):
    def rows(answer):
        names = {"__name__": "__main__"}
        exec(f"class Cell:\n    def on_gap(self, arrival, missing):\n        return {answer!r}\n", names)
        scenario = whyloss.Scenario.from_toml(SCENARIO, "two.toml", own={"cell": names["Cell"]})
        plan = whyloss.Plan(scenario, {"c": ("flow.video.classifier", ["cell"])}, ["total.mw"])
        told = []
        row = whyloss.sweep(plan, out=tmp_path, progress=lambda done, of: told.append(of))["total.mw"][0]
        return row, max(told)

    assert rows("congestion") == (1, 1)
    assert rows("wireless") == (0, 1)
    assert rows("wireless") == (0, 0)


def test_progress_ends_once(plan, capsys):
    whyloss.sweep(plan, progress=True)
    told = capsys.readouterr().err
    assert told.count("60/60 runs") == 1
    assert told.endswith("\n")


def test_ctrl_c_keeps_what_is_done(plan, scenario, tmp_path):
    long = whyloss.Plan(scenario, {"loss": ("link.air.channel.loss", [0.0, 0.1])}, ["total.sent"], seeds=100_000)
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        whyloss.sweep(long, out=tmp_path / "out", every_s=0.1)
    assert list((tmp_path / "out" / "parts").glob("part-*.parquet"))


def kill_one(pids):
    """Kill the first worker that exists, in the middle of the sweep."""
    time.sleep(1.0)
    for pid in pids():
        os.kill(pid, signal.SIGKILL)
        return


@pytest.fixture
def longer(scenario):
    scenario.set("duration", "2000 s")
    axes = {"loss": ("link.air.channel.loss", [0.0, 0.02, 0.05, 0.1])}
    return whyloss.Plan(scenario, axes, ["total.throughput_bps", "flow.video.mw"], seeds=8)


def test_on_ray_of_two_nodes_with_a_worker_killed(longer, tmp_path):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    whyloss.sweep(longer, out=tmp_path / "here")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()

        @ray.remote(num_cpus=1)
        def pid():
            time.sleep(0.3)
            return os.getpid(), ray.get_runtime_context().get_node_id()

        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
        where = [NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
        found = ray.get([pid.options(scheduling_strategy=strategy).remote() for strategy in where])
        assert len({node for _, node in found}) == 2
        killer = threading.Thread(target=kill_one, args=(lambda: [found[0][0]],))
        killer.start()
        whyloss.sweep(longer, out=tmp_path / "there", on=cluster.address, runs_per_task=2)
        killer.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert (tmp_path / "there" / "rows.parquet").read_bytes() == (tmp_path / "here" / "rows.parquet").read_bytes()


def test_on_dask_with_a_worker_killed(longer, tmp_path):
    distributed = pytest.importorskip("distributed")
    whyloss.sweep(longer, out=tmp_path / "here")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=kill_one, args=(lambda: pids,))
        killer.start()
        whyloss.sweep(longer, out=tmp_path / "there", on=client, runs_per_task=2)
        killer.join()
    assert (tmp_path / "there" / "rows.parquet").read_bytes() == (tmp_path / "here" / "rows.parquet").read_bytes()
