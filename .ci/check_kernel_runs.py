"""Check the runs of `whyloss reproduce mar-fig-10-kernel-quick`: all are measured, except where the emulator was at fault.

python3 check_kernel_runs.py TABLE.csv index.html
"""

import csv
import re
import sys

with open(sys.argv[1]) as table:
    rows = [row for row in csv.DictReader(table) if row["row"] != "goodput, simulation"]
measured = [row for row in rows if row["mean"]]
# A run that a busy machine disturbed does not count. All other runs must have values and delivered
# data.
with open(sys.argv[2]) as page:
    found = re.search(r"In (\d+) of (\d+) runs the emulator was at fault", page.read())
assert found, "the page does not count the spoilt runs"
spoilt, runs = map(int, found.groups())
print(len(measured), "of", runs, "runs measured")
assert len(rows) == runs == 16, rows
assert len(measured) == runs - spoilt, rows
assert all(0.1 < float(row["mean"]) < 10 for row in measured), rows
