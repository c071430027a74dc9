import matplotlib as mpl
import polars
import pytest

import whyloss

mpl.use("Agg")


def test_reproduce_gives_cells_and_claims():
    made = whyloss.reproduce("cen-table-2", seeds=1)
    cells = polars.DataFrame(made.cells)
    assert cells.height == len(made.values["cells"]) > 10
    assert cells["mean"].to_list() == [cell["mean"] for cell in made.values["cells"]]
    assert made.claims["id"] == [claim["id"] for claim in made.values["claims"]]
    assert "cen-table-2" in whyloss.experiments()
    with pytest.raises(ValueError, match="no experiment is called `cen-table-0`"):
        whyloss.reproduce("cen-table-0")
    with pytest.raises(ValueError, match="seeds is 0, expected at least 1"):
        whyloss.reproduce("cen-table-2", seeds=0)


def test_registry_names_everything():
    assert {entry["family"] for entry in whyloss.registry()} == {
        "receiver classifier",
        "sender classifier",
        "estimator",
        "controller",
        "policy",
        "scheme",
    }
    with pytest.raises(ValueError, match="no family is called `controllers`; there are receiver classifier"):
        whyloss.registry("controllers")
    mbiaz = next(entry for entry in whyloss.registry("receiver classifier") if entry["id"] == "mbiaz")
    assert mbiaz["parameters"]["upper"][0] == 1.2


class Never:
    """Calls every gap congestion."""

    def on_gap(self, arrival, missing):
        return "congestion"


class Eager:
    def on_loss(self, loss):
        return "wireless"


class Broken:
    def on_gap(self, arrival, missing):
        raise KeyError("idea")


def test_the_arena_takes_own_classifiers():
    brief = {"networks": 2, "seeds": 1, "harm": False}
    rows = whyloss.arena(["never", "zbs2"], own={"never": Never}, **brief)
    frame = polars.DataFrame(rows)
    assert frame["contender"].unique(maintain_order=True).to_list() == ["oracle", "unaware", "never", "zbs2"]
    assert frame.height == 8
    scores = ["network", "received", "mc_percent", "mw_percent", "excess_points"]
    assert frame.filter(contender="never").select(scores).equals(frame.filter(contender="unaware").select(scores))
    assert rows.units["rate_bps"] == "bit/s"
    sender = whyloss.arena(["eager", "copa"], own={"eager": Eager}, transport="newreno", **brief)
    assert set(sender["contender"]) == {"oracle", "unaware", "eager", "copa"}
    with pytest.raises(KeyError, match="idea"):
        whyloss.arena(["broken"], own={"broken": Broken}, **brief)
    with pytest.raises(whyloss.ScenarioError, match="no classifier is called `nevr`; did you mean `never`"):
        whyloss.arena(["nevr"], own={"never": Never}, **brief)
    with pytest.raises(ValueError, match='transport is "udp", expected one of "tfrc", "newreno", "cubic"'):
        whyloss.arena(transport="udp")


def test_figures_show_what_is_there(plan, scenario):
    rows = whyloss.sweep(plan)
    ax = whyloss.plot.over(rows, "loss", by="classifier")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["zigzag", "zbs2", "unaware"]
    assert ax.get_ylabel() == "throughput (Mbit/s)"
    line = ax.containers[0].lines[0]
    means = (
        polars.DataFrame(rows)
        .filter(classifier="zigzag")
        .group_by("loss")
        .agg(polars.col("total.throughput_bps").mean() / 1e6)
        .sort("loss")
    )
    assert list(line.get_ydata()) == pytest.approx(means["total.throughput_bps"].to_list())
    results = scenario.run(1, trace=True)
    assert whyloss.plot._words("flow.video.mw") == "Mw of video"
    assert whyloss.plot._words("events") == "events"
    labels = [text.get_text() for text in whyloss.plot.timeline(results.trace, "video").get_legend().get_texts()]
    assert "wireless, called wireless" in labels
    ax = whyloss.plot.confusion(results.flows, "video")
    packets = results["flows"][0]["packets"]
    assert ax.texts[3].get_text().startswith(f"{packets['wireless_called_wireless']}\n")
    ax = whyloss.plot.mc_mw(rows, "classifier", mc="flow.video.mw", mw="flow.video.mw", where={"loss": 0.05})
    assert len(ax.containers) == 3
