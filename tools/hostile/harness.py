"""Runs hostile cases against the `whyloss` command and tables exit code, time, and peak memory.

A case module calls `Cases(title)`, then `check(...)` once per command, and ends with `finish()`.
A case fails when the exit code is not an expected one, when a signal or a panic ends the command, or when
the command takes more CPU time or memory than its limit.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20

# Under `nohup`, commands would inherit an ignored SIGHUP, and cases that send it would never
# end.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@dataclass(frozen=True)
class Result:
    """One finished command. `cpu` is in seconds, `peak` in bytes; `code` is negative for a signal."""

    code: int
    cpu: float
    peak: int
    out: str
    err: str


def run(
    command: list[str],
    *,
    stdin: bytes | Path | None = None,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    seconds: float = 60.0,
    memory: int = 4096 * MIB,
    stdout: Path | None = None,
    file_size: int | None = None,
    during: Callable[[int], None] | None = None,
) -> Result:
    """Runs `command` under a limit on CPU seconds and address space, and waits for it.

    `stdout` is a file to print into, such as /dev/full; `file_size` limits files, in bytes; `during` is called with the
    process id while the command runs.
    """

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if isinstance(stdin, bytes):
            given.write(stdin)
            given.seek(0)
        source = stdin.open("rb") if isinstance(stdin, Path) else given
        printed = stdout.open("wb") if stdout is not None else out
        child = subprocess.Popen(
            command, stdin=source, stdout=printed, stderr=err, cwd=cwd, env=env and {**os.environ, **env}, preexec_fn=limit
        )
        if during is not None:
            during(child.pid)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = code = os.waitstatus_to_exitcode(status)
        if source is not given:
            source.close()
        if printed is not out:
            printed.close()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(4 * MIB).decode(errors="replace"))
    return Result(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, texts[0], texts[1])


class Cases:
    """The cases of one module, their table, and whether all passed."""

    def __init__(self, title: str) -> None:
        self.started = time.monotonic()
        self.failures: list[str] = []
        self.passed = 0
        print(f"{title}\n{'case':46} {'exit':>4} {'cpu s':>7} {'peak MiB':>9}")

    def check(
        self,
        name: str,
        result: Result,
        *,
        codes: tuple[int, ...] = (0,),
        seconds: float = 2.0,
        memory: int = 1200 * MIB,
        says: str | None = None,
        never: str | None = None,
        wrong: Sequence[str] = (),
        note: str = "",
    ) -> None:
        """Prints the row of `result`; `says` must occur in its messages, `never` in neither output nor messages.

        `wrong` is what else the case found wrong; `note` stands at the end of the row.
        """
        wrong = [*wrong]
        if result.code not in codes:
            wrong.append(f"exit {result.code}, not {' or '.join(map(str, codes))}")
        if "panicked" in result.err:
            wrong.append("panicked")
        if result.cpu > seconds:
            wrong.append(f"over {seconds} s of CPU time")
        if result.peak > memory:
            wrong.append(f"over {memory // MIB} MiB")
        if says is not None and says not in result.err + result.out:
            wrong.append(f"does not say {says!r}")
        if never is not None and never in result.err + result.out:
            wrong.append(f"prints {never!r}")
        print(f"{name:46} {result.code:4} {result.cpu:7.2f} {result.peak / MIB:9.1f}  {'; '.join(filter(None, (note, *wrong)))}", flush=True)
        if wrong:
            self.failures.append(f"{name}: {'; '.join(wrong)}\n{result.err[-600:]}")
        else:
            self.passed += 1

    def finish(self) -> None:
        """Prints what failed and ends the process: 0 if nothing did, else 1."""
        for failure in self.failures:
            print(f"\nFAILED {failure}")
        print(f"{self.passed} passed, {len(self.failures)} failed after {time.monotonic() - self.started:.0f} s")
        sys.exit(1 if self.failures else 0)


def whyloss() -> str:
    """The command under test: `WHYLOSS` in the environment, or the release build of this checkout."""
    built = Path(__file__).resolve().parents[2] / "target/release/whyloss"
    return os.environ.get("WHYLOSS", str(built))
