"""Tests that each version of the user's own classifiers has another key, and the same in each process."""

import enum
import functools
import hashlib
import inspect
import os
import subprocess
import sys
import threading
from dataclasses import dataclass

import pytest

from whyloss import _own


def version(make):
    return _own.given({"own": make})[1]


def classifier(answer, *, name="Always", helper="congestion"):
    """Define a class as a notebook does: its source is unknown."""
    text = f"""
def helper():
    return "{helper}"

class {name}:
    def on_gap(self, arrival, missing):
        return {answer}
"""
    names = {"__name__": "__main__"}
    exec(text, names)
    return names[name]


def made(limit, default=1):
    """Return a class whose methods hold a value from outside."""

    class Limit:
        def on_gap(self, arrival, missing, least=default):
            return "wireless" if arrival.rott_s < limit + least else "congestion"

    return Limit


class Known:
    def __init__(self, share=0.5):
        self.share = share

    def on_gap(self, arrival, missing):
        return "wireless" if self.share > 0.5 else "congestion"

    def renewed(self):
        return Known(self.share)


def known():
    return Known()


class Kind(enum.Enum):
    ONE = 1
    TWO = 2


@dataclass
class Options:
    share: float
    kind: Kind = Kind.ONE


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: classifier('"wireless"'), lambda: classifier('"congestion"')),
        (lambda: classifier("helper()"), lambda: classifier("helper()", helper="wireless")),
        (lambda: functools.partial(Known, 0.3), lambda: functools.partial(Known, 0.6)),
        (lambda: functools.partial(Known, share=0.3), lambda: functools.partial(Known, share=0.6)),
        (lambda: functools.partial(classifier("1"), 2), lambda: functools.partial(classifier("2"), 2)),
        (lambda: made(1), lambda: made(2)),
        (lambda: made(1), lambda: made(1, default=2)),
        (lambda: made(Options(1)), lambda: made(Options(2))),
        (lambda: made(Options(1)), lambda: made(Options(1, Kind.TWO))),
        (lambda: made({1, 2, "a"}), lambda: made({1, 2, "b"})),
        (lambda: Known(0.3).renewed, lambda: Known(0.6).renewed),
        (lambda: lambda share=0.3: Known(share), lambda: lambda share=0.6: Known(share)),
    ],
)
def test_what_differs_has_another_version(make, other):
    assert version(make()) == version(make())
    assert version(make()) != version(other())


def test_a_known_source_is_the_version():
    for make, number in ((Known, ""), (known, "")):
        digest = hashlib.sha256(f"{number}\0{inspect.getsource(make)}".encode()).hexdigest()[:16]
        assert version(make) == f"own={digest};"


def test_a_stated_version_needs_no_code():
    one, two = classifier("1"), classifier("2")
    one.version = two.version = "3"
    assert version(one) == version(two)
    two.version = "4"
    assert version(one) != version(two)


def test_values_without_a_digest_are_new_each_time():
    lock = made(threading.Lock())
    assert version(lock) != version(lock)


def test_a_cycle_ends():
    values = [1]
    values.append(values)
    other = [2]
    other.append(other)
    assert version(made(values)) == version(made(values)) != version(made(other))


def test_other_processes_have_the_same_version():
    text = "import test_own as t; print([t.version(t.made({'a', 'b', 'c', t.Kind.TWO})), t.version(t.classifier('1'))])"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *sys.path]))
    told = {
        subprocess.run(
            [sys.executable, "-c", text], env={**environment, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
