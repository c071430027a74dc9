import os
from concurrent.futures import ThreadPoolExecutor

import pytest

import whyloss

OPTIONS = ["--quick", "--only", "5.2.2"]


@pytest.fixture
def command():
    command = os.environ.get("WHYLOSS")
    if not command:
        pytest.skip("WHYLOSS does not name the command")
    return command


@pytest.fixture
def whole(command, tmp_path):
    """Return the files of one call on this machine."""
    found = whyloss.evaluate("whyloss", tmp_path / "here", options=OPTIONS, command=command)
    assert [outcome["id"] for outcome in found] == ["overview-tcp", "real-time"]
    return files(tmp_path / "here")


def files(out):
    found = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert {"index.html", "evaluation.md", "criteria.md", "evaluation.json", "real-time.csv"} <= set(found)
    return found


def test_on_dask(command, whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    told = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        whyloss.evaluate(
            "whyloss",
            tmp_path / "there",
            on=client,
            parts=3,
            options=OPTIONS,
            command=command,
            progress=lambda done, of: told.append((done, of)),
        )
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert files(tmp_path / "there") == whole
    # The workers have run everything: the call at the end adds no part.
    parts = list((tmp_path / "there" / "runs" / "parts").iterdir())
    whyloss.evaluate("whyloss", tmp_path / "there", options=OPTIONS, command=command)
    assert list((tmp_path / "there" / "runs" / "parts").iterdir()) == parts


def test_on_ray(command, whole, tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(address="local", num_cpus=2, log_to_driver=False)
    try:
        whyloss.evaluate("whyloss", tmp_path / "there", on="auto", parts=2, options=OPTIONS, command=command)
    finally:
        ray.shutdown()
    assert files(tmp_path / "there") == whole


def test_what_the_command_refuses_is_raised(command, tmp_path):
    with pytest.raises(whyloss.SweepError, match="did you mean `whyloss`"):
        whyloss.evaluate("whylos", tmp_path, command=command)
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(whyloss.SweepError, match="did you mean `whyloss`"):
            whyloss.evaluate("whylos", tmp_path, on=executor, parts=2, command=command)
        with pytest.raises(ValueError, match="parts is 0"):
            whyloss.evaluate("whyloss", tmp_path, on=executor, parts=0, command=command)
    assert not any(tmp_path.iterdir())
