#!/usr/bin/env python3
"""Makes tables of rates out of public recordings, for `whyloss fit --law rate`.

    rates.py 5g DIRECTORY        files of uccmisl/5Gdataset (G-NetTrack Pro): the mean of a second
    rates.py starlink FILE       throughput.csv of Starlink-on-the-Autobahn: a row per second
    rates.py hsdpa DIRECTORY     logs of Riiser et al.: bytes over milliseconds, a row per second

The columns of the output are `trial` and `rate` (kbit/s). A pause of more than two seconds begins a
trial. `--column upload` takes the other direction of the second kind.
"""

import csv
import datetime
import pathlib
import sys


def seconds_of_5g(directory):
    for path in sorted(pathlib.Path(directory).rglob("*.csv")):
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["State"] == "D"]
        own = {}
        for row in rows:
            at = datetime.datetime.strptime(row["Timestamp"], "%Y.%m.%d_%H.%M.%S")
            own.setdefault(at, []).append(float(row["DL_bitrate"]))
        for at, rates in sorted(own.items()):
            yield path.name, at.timestamp(), sum(rates) / len(rates)


def seconds_of_starlink(path, column):
    start = "timestamp_start_dl" if column == "download" else "timestamp_start_ul"
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            at = datetime.datetime.fromisoformat(row[start][:26])
            yield "drive", at.timestamp(), float(row[column]) * 1000


def seconds_of_hsdpa(directory):
    for path in sorted(pathlib.Path(directory).rglob("*.log")):
        for line in path.read_text().splitlines():
            _, millis, _, _, size, span = line.split()[:6]
            if int(span) > 0:
                yield path.name, int(millis) / 1000, int(size) * 8 / int(span)


def main():
    kind, path = sys.argv[1:3]
    column = sys.argv[4] if sys.argv[3:4] == ["--column"] else "download"
    seconds = {
        "5g": lambda: seconds_of_5g(path),
        "starlink": lambda: seconds_of_starlink(path, column),
        "hsdpa": lambda: seconds_of_hsdpa(path),
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
