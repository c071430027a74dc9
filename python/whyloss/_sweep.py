"""Runs sweeps, on this machine or on others."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import combinations
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

from . import _own, _toml
from ._own import Given, Own
from ._scenario import Results, Scenario
from ._toml import Value
from ._whyloss import Engine, SweepError, Table, run_task

Answer = tuple[str, bytes]
"""The result of a task: the name of a part and its Parquet file, which is empty if the worker has written the file."""

Work = Callable[..., Answer]
"""A function that runs a task, such as `work`."""

ATTEMPTS = 3
"""The maximum number of times that a task runs, if its workers die."""


class Plan:
    """A plan of runs: a scenario over axes and seeds. docs/guides/sweeps.md documents its TOML.

    `axes`: for each column, a mapping with `key` (or `keys`, which change together) and `values` or
    `draw`; or a tuple of a key and its values, `("flow.video.classifier", ["zigzag", "zbs2"])`.
    `metrics`: names such as "total.throughput_bps" or "flow.video.mw".
    `seeds`: the number of seeds, starting at `first_seed`; a minimum if `until` is given.
    `until`: a mapping of `metric`, `within`, `most` and optionally `confidence`. Seeds are added at
    each point until the mean of the metric is known with this precision.
    `draws`: a mapping of `count` and `seed`, if an axis is drawn.
    """

    def __init__(
        self,
        scenario: Scenario,
        axes: Mapping[str, Mapping[str, Value] | tuple[str, Sequence[Value]]],
        metrics: Sequence[str],
        *,
        seeds: int = 1,
        first_seed: int = 1,
        until: Mapping[str, Value] | None = None,
        draws: Mapping[str, Value] | None = None,
    ) -> None:
        """Write the plan."""
        if isinstance(metrics, str):
            raise TypeError(f"metrics is {metrics!r}, expected a list, such as [{metrics!r}]")
        top: dict[str, Value] = {"seeds": seeds, "first_seed": first_seed, "metrics": list(metrics)}
        text = _toml.table(top) + _settings(scenario.sets)
        for section, entries in (("until", until), ("draws", draws)):
            if entries is not None:
                text += f"[{section}]\n{_toml.table(entries)}"
        for name, axis in axes.items():
            entry = axis if isinstance(axis, Mapping) else {"key": axis[0], "values": _values(name, axis[1])}
            text += "[[axis]]\n" + _toml.table({"name": name, **entry})
        self.text = text
        self.scenario = scenario


def _values(name: str, values: Sequence[Value]) -> list[Value]:
    if isinstance(values, str):
        raise TypeError(f"values of axis {name!r} are {values!r}, expected a list, such as [{values!r}]")
    return list(values)


def _settings(sets: Sequence[tuple[str, str]]) -> str:
    """Write the settings of a scenario as those of a plan.

    A plan applies a table in the order of its keys. If that would give another network, the settings are a list.
    """
    pairs = [f"{_toml.key(key)} = {value}" for key, value in sets]
    keys = [key for key, _ in sets]
    if any(before > after and _meet(before, after) for before, after in combinations(keys, 2)):
        return "set = [\n" + "".join(f"    {{ {pair} }},\n" for pair in pairs) + "]\n"
    last = dict(zip(keys, pairs, strict=True))
    return "[set]\n" + "".join(f"{pair}\n" for pair in last.values())


def _meet(a: str, b: str) -> bool:
    """Return whether the order of two settings may matter, because both may change one value."""

    def steps(key: str) -> list[str]:
        found = [step.strip() for step in key.replace("[", ".").replace("]", "").split(".")]
        # Another name changes which keys lead to the flow or link.
        renames = len(found) == 3 and found[2] in ("name", "from", "to")
        return found[:1] if renames else found

    def same(a: str, b: str) -> bool:
        if a.isdigit() != b.isdigit():
            # An index may lead to any name.
            return True
        if a.endswith("*") or b.endswith("*"):
            a, b = a.rstrip("*"), b.rstrip("*")
            return a.startswith(b) or b.startswith(a)
        return a == b

    return all(same(*pair) for pair in zip(steps(a), steps(b), strict=False))


def sweep(
    plan: Plan | str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    on: Any = None,  # noqa: ANN401
    jobs: int = 0,
    runs_per_task: int | None = None,
    progress: bool | Callable[[int, int], None] = False,
    every_s: float = 10.0,
    own: Own | None = None,
) -> Table:
    """Run the missing runs of a plan. Return all its rows: `point`, the axes, `seed`, the metrics, `error`, `set`.

    `plan`: a Plan, or the path of a TOML file.
    `out`: a directory that keeps every run, as `whyloss sweep` does, so that the same call continues where it ended; or a
    URL that fsspec knows (`s3://…`), to which the workers then write. Without it, only the returned rows are kept.
    `on`: where the runs take place. None: on this machine's cores (`jobs` of them, 0 for all). A
    `concurrent.futures.Executor`, a Dask `Client`, or a Ray address ("auto", "ray://…", "local"):
    on its workers, in tasks of `runs_per_task` runs. By default, a task takes a few seconds. A task
    whose worker dies is tried again, at most twice. The rows do not depend on the place.
    `progress`: True for a line on standard error, or a function to call with the numbers of runs done and to do.
    `every_s`: the longest time in s between writes of finished runs (local runs).
    `own`: your own classifiers by name, in addition to those of the plan's scenario. They are pickled for workers. A
    sweep repeats runs with a class whose source or `version` has changed. Without a `version`, runs with closures that hold
    values such as locks are always repeated. An exception in a classifier ends the sweep.

    Raises SweepError if a plan is invalid, and OSError if a part cannot be written; a run that fails has a row with `error`.
    """
    url = out if isinstance(out, str) and "://" in out else None
    directory = None if url or out is None else fspath(out)
    if isinstance(plan, Plan):
        given = (plan.scenario.text, plan.scenario.file)
        names = _own.given({**plan.scenario.own, **(own or {})})
        engine = Engine(plan.text, "plan", given, directory, *names)
    else:
        names = _own.given(own)
        engine = Engine(Path(plan).read_text(encoding="utf-8"), fspath(plan), None, directory, *names)
    try:
        store = _Remote(url) if url else None
        return _complete(engine, store, on, jobs, runs_per_task, _progress(progress), every_s, names)
    finally:
        # A caller that keeps the exception would otherwise keep the engine open.
        engine.close()


def _complete(
    engine: Engine,
    store: _Remote | None,
    on: Any,  # noqa: ANN401
    jobs: int,
    runs_per_task: int | None,
    told: Callable[[int, int], None] | None,
    every_s: float,
    names: Given,
) -> Table:
    if store is not None:
        for part in store.parts():
            engine.accept(part, False)
    if on is None and store is None:
        engine.run(jobs, every_s, told)
    else:
        with _workers(on, jobs, work) as workers:
            workers.names = names
            size = _size(engine, workers, store) if runs_per_task is None else runs_per_task
            _distribute(engine, workers, store, size, told)
    engine.write_rows()
    if store is not None:
        store.write("rows.parquet", engine.rows_parquet())
    return engine.rows()


def again(
    row: Mapping[str, Any],
    scenario: Scenario | str | PathLike[str],
    *,
    trace: bool = False,
    own: Own | None = None,
) -> Results:
    """Repeat the run that gave this row. `scenario` is the plan's scenario or its file.

    The row needs only `set` and `seed`.

    `own`: your own classifiers by name, as for `sweep`, in addition to those of the scenario.
    """
    known: Own = scenario.own if isinstance(scenario, Scenario) else {}
    text, file = (scenario.text, scenario.file) if isinstance(scenario, Scenario) else _read(scenario)
    made = Scenario.from_toml(text, file, own={**known, **(own or {})})
    made._read([(key, value) for key, value in json.loads(row["set"])])
    return made.run(int(row["seed"]), trace=trace)


def _read(path: str | PathLike[str]) -> tuple[str, str]:
    return Path(path).read_text(encoding="utf-8"), fspath(path)


def _progress(progress: bool | Callable[[int, int], None]) -> Callable[[int, int], None] | None:
    """Return the function to call with the numbers of runs done and to do."""
    if callable(progress):
        return progress
    if not progress:
        return None
    begin = time.monotonic()
    last = (0, 0)

    def show(done: int, of: int) -> None:
        nonlocal last
        if (done, of) == last:
            return
        last = (done, of)
        left = (time.monotonic() - begin) / max(done, 1) * (of - done)
        end = "\n" if done == of else ""
        print(f"\r{done}/{of} runs, {left:.0f} s left ", end=end, file=sys.stderr, flush=True)

    return show


# Workers: the places where tasks run
# -------------------------------------------------------------------------------------------------------


class _Workers:
    """Workers that take tasks and return parts in any order."""

    cores: int = 1
    executor: Executor | None = None
    """The executor to shut down at the end."""
    names: Given = ([], "")
    """The user's own classifiers, which are sent with every task."""
    work: Work
    """The function that runs a task."""

    def submit(self, task: bytes, store: _Remote | None) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def first_done(self, waiting: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError

    def result(self, done: Any) -> Answer:  # noqa: ANN401
        raise NotImplementedError

    def died(self, error: BaseException) -> bool:
        """Return whether a worker died, so that another attempt may succeed."""
        return False

    def cancel(self, waiting: Sequence[Any]) -> None:
        raise NotImplementedError

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self.executor is not None:
            self.executor.shutdown(wait=True, cancel_futures=True)


class _Futures(_Workers):
    """The workers of an executor of `concurrent.futures`."""

    def __init__(self, executor: Executor, cores: int, work: Work) -> None:
        self._executor = executor
        self.cores = cores
        self.work = work

    def submit(self, task: bytes, store: _Remote | None) -> Future[Answer]:
        return self._executor.submit(self.work, task, store, *self.names)

    def first_done(self, waiting: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        done, rest = wait(waiting, return_when=FIRST_COMPLETED)
        return list(done), list(rest)

    def result(self, done: Any) -> Answer:  # noqa: ANN401
        answer: Answer = done.result()
        return answer

    def cancel(self, waiting: Sequence[Any]) -> None:
        for future in waiting:
            future.cancel()


class _Dask(_Workers):
    """The workers of a Dask client."""

    def __init__(self, client: Any, work: Work) -> None:  # noqa: ANN401
        self._client = client
        self.work = work
        self.cores = max(1, sum(client.nthreads().values()))

    def submit(self, task: bytes, store: _Remote | None) -> Any:  # noqa: ANN401
        # A repeated task gives the same part. Dask counts the retries after a worker dies.
        return self._client.submit(self.work, task, store, *self.names, pure=False, retries=ATTEMPTS - 1)

    def first_done(self, waiting: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        from distributed import wait as dask_wait

        done, rest = dask_wait(list(waiting), return_when=FIRST_COMPLETED)  # type: ignore[no-untyped-call]
        return list(done), list(rest)

    def result(self, done: Any) -> Answer:  # noqa: ANN401
        answer: Answer = done.result()
        return answer

    def died(self, error: BaseException) -> bool:
        return type(error).__name__ == "KilledWorker"

    def cancel(self, waiting: Sequence[Any]) -> None:
        self._client.cancel(list(waiting))


class _Ray(_Workers):
    """The workers of a Ray cluster."""

    def __init__(self, address: str, work: Work) -> None:
        import ray

        self._ray = ray
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        self.cores = max(1, int(resources.get("CPU", 1)))
        self._work: Any = ray.remote(max_retries=ATTEMPTS - 1, num_cpus=1)(work)

    def submit(self, task: bytes, store: _Remote | None) -> Any:  # noqa: ANN401
        return self._work.remote(task, store, *self.names)

    def first_done(self, waiting: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        done, rest = self._ray.wait(list(waiting), num_returns=1)
        return list(done), list(rest)

    def result(self, done: Any) -> Answer:  # noqa: ANN401
        answer: Answer = self._ray.get(done)
        return answer

    def died(self, error: BaseException) -> bool:
        return isinstance(error, self._ray.exceptions.WorkerCrashedError)

    def cancel(self, waiting: Sequence[Any]) -> None:
        for task in waiting:
            self._ray.cancel(task)


def _workers(on: Any, jobs: int, work: Work) -> _Workers:  # noqa: ANN401
    if on is None:
        from concurrent.futures import ThreadPoolExecutor

        # The engine releases Python's lock, so threads are as fast as processes.
        threads = jobs or os.cpu_count() or 1
        workers = _Futures(ThreadPoolExecutor(threads), threads, work)
        workers.executor = workers._executor
        return workers
    if isinstance(on, str):
        return _Ray(on, work)
    if isinstance(on, Executor):
        return _Futures(on, getattr(on, "_max_workers", None) or os.cpu_count() or 1, work)
    if hasattr(on, "nthreads") and hasattr(on, "submit"):
        return _Dask(on, work)
    raise TypeError(f"on={on!r}: expected a Ray address, a Dask client, or a concurrent.futures.Executor")


def work(task: bytes, store: _Remote | None, own: list[tuple[str, Callable[..., object]]], version: str) -> Answer:
    """Run a task on the machine of the caller. With a store, also write the part into the store."""
    name, part = run_task(task, own, version)
    if store is not None:
        store.write(f"parts/{name}", part)
    return name, part


TASK_S = 2.0
"""The target time of a task in s: much longer than its transfer, and short enough to repeat if a worker dies."""


class Tasks(Protocol):
    """Something that divides itself into tasks, such as `Engine`."""

    def plan(self, most: int) -> int:
        """Divide what is missing into tasks of at most `most` runs; return their number."""

    def task(self, batch: int) -> tuple[bytes, int]:
        """Return a task and its number of runs."""

    def accept(self, part: bytes, keep: bool) -> str:
        """Take the part of a finished task."""


def _distribute(
    engine: Tasks,
    workers: _Workers,
    store: _Remote | None,
    size: int,
    told: Callable[[int, int], None] | None,
) -> None:
    done, of = 0, 0
    while tasks := engine.plan(size):
        todo: deque[tuple[bytes, int, int]] = deque((*engine.task(index), 1) for index in range(tasks))
        of += sum(runs for _, runs, _ in todo)
        under_way: dict[Any, tuple[bytes, int, int]] = {}
        try:
            while todo or under_way:
                # Submit more tasks than there are cores, so that no worker waits for the driver.
                while todo and len(under_way) < 3 * workers.cores:
                    task = todo.popleft()
                    under_way[workers.submit(task[0], store)] = task
                for finished in workers.first_done(list(under_way))[0]:
                    data, runs, attempt = under_way.pop(finished)
                    try:
                        part = workers.result(finished)[1]
                    except Exception as error:
                        if attempt == ATTEMPTS or not workers.died(error):
                            raise
                        todo.append((data, runs, attempt + 1))
                        continue
                    engine.accept(part, store is None)
                    done += runs
                    if told is not None:
                        told(done, of)
        except BaseException:
            workers.cancel(list(under_way))
            raise


def _size(engine: Engine, workers: _Workers, store: _Remote | None) -> int:
    """Choose the number of runs per task by the time of a few runs, spread over the plan because runs differ."""
    tasks = engine.plan(1)
    if tasks == 0:
        return 1
    probes = [engine.task(index * tasks // min(tasks, 5)) for index in range(min(tasks, 5))]
    begin = time.perf_counter()
    for task, _ in probes:
        engine.accept(work(task, store, *workers.names)[1], store is None)
    each = (time.perf_counter() - begin) / len(probes)
    share = -(-tasks // (4 * workers.cores))
    return max(1, min(int(TASK_S / max(each, 1e-6)), share))


# Stores: the places where rows are kept
# ---------------------------------------------------------------------------------------------------


class _Remote:
    """A directory behind a URL that fsspec knows."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def parts(self) -> Iterator[bytes]:
        import fsspec

        system, path = fsspec.core.url_to_fs(self._url)
        if not system.exists(f"{path}/parts"):
            return
        for name in sorted(system.ls(f"{path}/parts", detail=False)):
            if name.endswith(".parquet"):
                yield system.cat_file(name)

    def write(self, name: str, part: bytes) -> None:
        import fsspec

        system, path = fsspec.core.url_to_fs(f"{self._url}/{name}")
        system.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        # An object store shows only complete files. In a file system, the rename makes the complete file visible.
        unfinished = f"{path}.{os.getpid()}.unfinished"
        system.pipe_file(unfinished, part)
        system.mv(unfinished, path)


__all__ = ["Plan", "SweepError", "again", "sweep"]
