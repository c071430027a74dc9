import ctypes
import math
import os
import random

import pytest

import whyloss

# A million events take minutes.
EVENTS = int(os.environ.get("WHYLOSS_EVENTS", 55_000))


class Options(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("mtu", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("parameters", ctypes.c_char_p),
        ("packets", ctypes.c_size_t),
    ]


class Allowance(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("window", "in_flight", "pacing_bps", "quantum")]


class Verdict(ctypes.Structure):
    _fields_ = [("cause", ctypes.c_int32), ("found", ctypes.c_int32), ("odds", ctypes.c_double), ("at_ns", ctypes.c_uint64)]


CAUSES = [None, "congestion", "wireless"]


@pytest.fixture(scope="module")
def library():
    path = os.environ.get("WHYLOSS_C_LIBRARY")
    if path is None:
        pytest.skip("WHYLOSS_C_LIBRARY does not name the shared library of crates/whyloss-capi")
    library = ctypes.CDLL(path)
    library.whyloss_scheme_size.restype = ctypes.c_size_t
    return library


@pytest.mark.parametrize("name", [entry["id"] for entry in whyloss.registry("scheme")])
def test_c_and_python_decide_alike(library, name):
    size = library.whyloss_scheme_size()
    memory = ctypes.create_string_buffer(size + 16)
    scheme = ctypes.c_void_p(ctypes.addressof(memory) + -ctypes.addressof(memory) % 16)
    options = Options(library.whyloss_abi(), 1200, name.encode(), None, 0)
    assert library.whyloss_scheme_init(scheme, ctypes.c_size_t(size), ctypes.byref(options), None, ctypes.c_size_t(0)) == 0
    python = whyloss.Connection(name, 1200)
    draw = random.Random(name)
    # Times are whole microseconds, because Python's seconds then convert to the same nanoseconds.
    number, micros, under_way = 0, 1_000_000, []
    allowed, verdict = Allowance(), Verdict()
    for _ in range(EVENTS):
        micros += draw.randrange(3000)
        seconds = micros / 1_000_000
        now = ctypes.c_uint64(micros * 1000)
        what = draw.random()
        if what < 0.5 and len(under_way) < 4000:
            assert library.whyloss_scheme_on_sent(scheme, ctypes.c_uint64(number), 1200, now, 0) == 0
            python.on_packet_sent(number, 1200, seconds)
            under_way.append(number)
            number += 1
        elif what < 0.96:
            some = under_way[: draw.randrange(4)]
            del under_way[: len(some)]
            numbers = (ctypes.c_uint64 * len(some))(*some)
            rtt = draw.randrange(100_000)
            assert library.whyloss_scheme_on_rtt(scheme, ctypes.c_uint64(rtt * 1000)) == 0
            python.on_rtt(rtt / 1_000_000)
            assert library.whyloss_scheme_on_acked(scheme, numbers, ctypes.c_size_t(len(some)), now) == 0
            python.on_packets_acked(some, seconds)
        elif what < 0.99 and under_way:
            some = under_way[:1]
            del under_way[:1]
            numbers = (ctypes.c_uint64 * 1)(*some)
            assert library.whyloss_scheme_on_lost(scheme, numbers, ctypes.c_size_t(1), now, ctypes.byref(verdict)) == 0
            assert CAUSES[verdict.cause] == python.on_packets_lost(some, seconds)
        else:
            assert library.whyloss_scheme_on_ecn(scheme, now) == 0
            python.on_ecn_ce(seconds)
        library.whyloss_scheme_allowance(scheme, ctypes.byref(allowed))
        assert (allowed.window, allowed.in_flight) == (python.window_bytes, python.in_flight_bytes)
        assert allowed.pacing_bps == (2**64 - 1 if python.pacing_bps is None else python.pacing_bps)
    library.whyloss_scheme_verdict(scheme, ctypes.byref(verdict))
    assert CAUSES[verdict.cause] == python.verdict
    assert verdict.odds == python.odds or (math.isnan(verdict.odds) and python.odds is None)
    assert library.whyloss_scheme_drop(scheme) == 0
