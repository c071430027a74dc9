"""Grows the trees of crates/whyloss/src/congestion/whyloss/table.rs on rows that `collect.sh` wrote.

    python train_scheme.py DIRECTORY... [--trees 60] [--depth 4] [--table FILE]

A directory has a file for each carrier, queue, and kind of network (`tcp.drawn.0.bin`; 1 if channels lose nothing). In
each network, congestion and wireless losses have equal weight, and a network with few losses of a cause has less. A
wireless loss weighs less the longer its packet waited: from 1 at the lowest round-trip time to 0.2 at 1.43 times it.
Congestion losses at drop-tail queues of networks without channel losses count twice, because there a spared loss harms
others most.
"""

import argparse
from pathlib import Path

import lightgbm
import numpy as np

from train import HEAD, grown, table

MOST = 120  # the maximum number of losses per network and cause
ENOUGH = 20  # the number of losses of a cause from which a network has full weight


def read(directories):
    """Return the names of the quantities, and of each loss: quantities, truth, and weight."""
    random = np.random.default_rng(1)
    values, truths, weights = [], [], []
    for directory in directories:
        for path in sorted(Path(directory).glob("*.bin")):
            names = path.with_suffix(".names").read_text().split("\n")
            rows = np.fromfile(path, dtype="<i2").reshape(-1, HEAD + len(names)).astype(np.int32)
            # Threads wrote each network in one piece, but in any order.
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            # Keep losses after the first slow start whose cause is known.
            rows = rows[(rows[:, 2] == 0) & (rows[:, 3] + rows[:, 4] > 0)]
            truth = (rows[:, 3] > 0).astype(int)
            key = 2 * rows[:, 0] + truth
            count = np.bincount(key)
            order = np.lexsort((random.random(len(rows)), key))
            place = np.empty(len(rows), int)
            place[order] = np.arange(len(rows)) - (np.cumsum(count) - count)[key[order]]
            kept = place < MOST
            weight = np.maximum(count / MOST, 1)[key] / np.maximum(count, ENOUGH)[key]
            room = np.clip(1 - rows[:, HEAD + names.index("wait")] / (0.43 * 1024), 0, 1)
            weight *= np.where(truth == 0, 0.2 + 0.8 * room, 1)
            _, queue, clean = path.stem.split(".")
            if clean == "1" and queue in ("drawn", "shallow"):
                weight *= 1 + truth
            values.append(rows[kept, HEAD:])
            truths.append(truth[kept])
            weights.append(weight[kept])
    values, truths, weights = map(np.concatenate, (values, truths, weights))
    return names, values, truths, weights * len(weights) / weights.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--table")
    args = parser.parse_args()
    names, values, truths, weights = read(args.rows)
    settings = {
        "objective": "binary", "learning_rate": 0.2, "num_leaves": 2**args.depth, "max_depth": args.depth, "seed": 3,
        "min_data_in_leaf": 200, "min_sum_hessian_in_leaf": 1e-2, "lambda_l2": 2.0, "feature_fraction": 0.7,
        "bagging_fraction": 0.7, "bagging_freq": 1, "num_threads": 2, "deterministic": True, "force_row_wise": True,
        "verbose": -1,
    }  # fmt: skip
    model = lightgbm.train(settings, lightgbm.Dataset(values, truths, weight=weights), args.trees)
    gains = sorted(zip(model.feature_importance("gain"), names), reverse=True)
    total = sum(gain for gain, _ in gains)
    print(f"{len(values)} losses; shares of the gain in %: " + ", ".join(f"{name} {100 * gain / total:.1f}" for gain, name in gains))
    if args.table:
        Path(args.table).write_text(table(grown(model, list(range(len(names)))), args.depth))


if __name__ == "__main__":
    main()
