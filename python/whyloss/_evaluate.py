"""Evaluates a scheme with the command, on this machine or on others that share a directory."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ._sweep import Answer, _distribute, _progress, _workers
from ._whyloss import SweepError


def evaluate(
    scheme: str,
    out: str | PathLike[str],
    *,
    on: Any = None,  # noqa: ANN401
    parts: int = 64,
    options: Sequence[str] = (),
    command: str | PathLike[str] = "whyloss",
    progress: bool | Callable[[int, int], None] = False,
) -> list[dict[str, Any]]:
    """Evaluate a scheme by the criteria of RFC 9743, like `whyloss evaluate` (docs/evidence/evaluation.md).

    `out`: a directory that keeps every run and gets the pages. The same call continues where it ended.
    `on`: where the runs take place, as in `sweep`. None: on this machine's cores. Other machines need the directory at the
    same path, the same version of the command, and absolute paths in `options` and `command`.
    `parts`: the number of tasks for `on`. They take one core each. A task whose worker dies is tried again, at most twice.
    `options`: other options of the command, such as `["--only", "6.4", "--networks", "100"]`.
    `command`: the command's name or path.
    `progress`: with `on`, True for a line on standard error, or a function to call with the numbers of parts done and to do.

    Returns the totals and the criteria, as in `evaluation.json`. Raises SweepError if the command fails.
    """
    directory = Path(out).resolve()
    call = [fspath(command), "evaluate", scheme, "--out", str(directory), *options]
    if on is not None:
        with _workers(on, 0, part) as workers:
            _distribute(_Parts(call, parts), workers, None, 1, _progress(progress))
    run(call)
    text = (directory / "evaluation.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


class _Parts:
    """The parts of an evaluation, as tasks of a sweep."""

    def __init__(self, call: Sequence[str], parts: int) -> None:
        if parts < 1:
            raise ValueError(f"parts is {parts}, expected at least 1")
        self._call = call
        self._parts = parts
        self._left = parts

    def plan(self, most: int) -> int:
        left, self._left = self._left, 0
        return left

    def task(self, batch: int) -> tuple[bytes, int]:
        part = ["--part", f"{batch + 1}/{self._parts}", "--jobs", "1"]
        return json.dumps([*self._call, *part]).encode(), 1

    def accept(self, part: bytes, keep: bool) -> str:
        # The worker has written the runs into the directory.
        return ""


def part(task: bytes, *_: object) -> Answer:
    """Run a part on the machine of the caller."""
    run(json.loads(task))
    return "", b""


def run(call: Sequence[str]) -> None:
    """Run the command. Raise its message if it fails."""
    try:
        ended = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise SweepError(f"cannot run {call[0]}: {error}") from error
    if ended.returncode:
        raise SweepError(ended.stderr.strip() or f"{call[0]} ended with {ended.returncode}")


__all__ = ["evaluate"]
