#!/usr/bin/env python3
"""Converts public recordings into tables of rates, for `whyloss fit --law rate`.

    rates.py 5g DIRECTORY                  logs of uccmisl/5Gdataset (G-NetTrack Pro)
    rates.py starlink FILE [--column upload]   throughput.csv of Starlink-on-the-Autobahn
    rates.py riiser FILE…                  logs of Riiser et al., as UMass-LIDS/sabre has them

Each row of the output has a `trial` and the mean `rate` of a second (kbit/s). A pause of more than
two seconds begins a trial.
"""

import collections
import csv
import datetime
import json
import pathlib
import sys


def seconds_of_5g(directory):
    """Yields the seconds in which the phone downloads over 5G, not over LTE or HSPA."""
    for path in sorted(pathlib.Path(directory).rglob("*.csv")):
        own = collections.defaultdict(list)
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row["State"] == "D" and row["NetworkMode"] == "5G":
                    at = datetime.datetime.strptime(row["Timestamp"], "%Y.%m.%d_%H.%M.%S")
                    own[at].append(float(row["DL_bitrate"]))
        for at, rates in sorted(own.items()):
            yield path.name, at.timestamp(), sum(rates) / len(rates)


def seconds_of_starlink(path, column):
    start = "timestamp_start_dl" if column == "download" else "timestamp_start_ul"
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            at = datetime.datetime.fromisoformat(row[start][:26])
            yield "drive", at.timestamp(), float(row[column]) * 1000


def seconds_of_riiser(paths):
    """Yields whole seconds. The rows of a log cover more than a second, and minutes in an outage."""
    for path in paths:
        kbits = collections.defaultdict(float)
        at = 0.0
        for row in json.loads(pathlib.Path(path).read_text()):
            end = at + row["duration_ms"] / 1000
            while at < end:
                until = min(end, int(at) + 1)
                kbits[int(at)] += row["bandwidth_kbps"] * (until - at)
                at = until
        for second in range(int(at)):
            yield path, second, kbits[second]


def main():
    kind, *rest = sys.argv[1:]
    seconds = {
        "5g": lambda: seconds_of_5g(rest[0]),
        "starlink": lambda: seconds_of_starlink(rest[0], (rest[1:] or ["--column", "download"])[1]),
        "riiser": lambda: seconds_of_riiser(rest),
    }[kind]()
    out = csv.writer(sys.stdout)
    out.writerow(["trial", "rate"])
    trial, last = 0, (None, 0.0)
    for name, at, rate in seconds:
        if name != last[0] or at - last[1] > 2.5:
            trial += 1
        last = (name, at)
        out.writerow([trial, round(rate, 1)])


if __name__ == "__main__":
    main()
