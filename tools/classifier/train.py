"""Grows the trees of crates/whyloss/src/{receiver,sender}/trees/table.rs on rows that `whyloss-train dump` wrote.

    python train.py ROWS... [--trees 60] [--depth 4] [--mc 0.08] [--threshold X] [--table FILE] [--model FILE] [--compare]
        [--rule FILE] [--of "SIGNAL..."]

Networks are split, never packets: every sixth group of 21 networks only sets the threshold and gives the printed
scores. In each network, congestion and wireless losses have equal weight; a network with few losses of a cause has less.
"""

import argparse
import math
import sys
from pathlib import Path

import lightgbm
import numpy as np

HEAD = 6  # network, family, clock or kind of acknowledgements, lost to queues, to channels, flow
MOST = 150  # the maximum number of gaps per network, clock and cause
ENOUGH = 20  # the minimum number of packets of a cause for computing a share
MONOTONE = {
    "before": 1, "larger": 1, "before_long": 1, "density_before": 1, "density_larger": 1, "room": -1, "climb": -1,
}  # fmt: skip
# The constraints for senders, whose rows have the signal `timeout`.
MONOTONE_OF_SENDERS = {
    "backlog": 1, "trough": 1, "before_long": 1, "density_before": 1, "density_window": 1,
}  # fmt: skip
GROUPS = [
    "pace slots slots_long usual", "before after larger before_long after_long peak trough", "density_before density_larger",
    "room", "climb", "missing", "irregular back_to_back spread load", "depth", "loss_rate recent_losses burst",
    "before_long after_long slots_long",
]  # fmt: skip
GROUPS_OF_SENDERS = [
    "backlog trough before_long jump", "density_before density_window", "gap duplicates span", "spread irregular depth",
    "loss_rate recent_losses", "growth", "timeout",
]  # fmt: skip


def read(paths):
    """Return thinned rows of all files and the number that each represents; networks are numbered across files."""
    random = np.random.default_rng(1)
    rows, stands_for = [], []
    for number, path in enumerate(paths):
        names = Path(path).with_suffix(".names").read_text().split("\n")
        own = np.fromfile(path, dtype="<i2").reshape(-1, HEAD + len(names))
        # Threads wrote each network in one piece, but in any order.
        own = own[np.argsort(own[:, 0], kind="stable")]
        network = own[:, 0].astype(int)
        key = (network * 3 + own[:, 2]) * 2 + (own[:, 3] > 0)
        order = np.lexsort((random.random(len(own)), key))
        starts = np.r_[0, np.flatnonzero(np.diff(key[order])) + 1]
        sizes = np.diff(np.r_[starts, len(own)])
        rank = np.arange(len(own)) - np.repeat(starts, sizes)
        kept = rank < MOST
        chosen = own[order[kept]].astype(np.int32)
        chosen[:, 0] += 6000 * number
        rows.append(chosen)
        stands_for.append((np.repeat(sizes, sizes) / np.minimum(np.repeat(sizes, sizes), MOST))[kept])
    return names, np.concatenate(rows), np.concatenate(stands_for)


def weigh(rows, stands_for):
    truth = (rows[:, 3] > 0).astype(int)
    packets = np.minimum(rows[:, 3] + rows[:, 4], 10) * stands_for
    key = rows[:, 0] * 2 + truth
    total = np.bincount(key, weights=packets)
    weight = packets / np.maximum(total[key], 6 * ENOUGH)
    return truth, weight * len(rows) / weight.sum()


def scores(rows, stands_for, odds, threshold, clock):
    """Return Mc, Mw and balanced accuracy as means over networks, of one clock or of all rows."""
    own = rows[:, 2] == clock if clock is not None else np.full(len(rows), True)
    network, said = rows[own, 0], odds[own] > threshold
    queue, channel = (rows[own, at] * stands_for[own] for at in (3, 4))
    most = network.max() + 1

    def share(lost, wrong):
        total = np.bincount(network, lost, most)
        with np.errstate(invalid="ignore"):
            return np.where(total >= ENOUGH, np.bincount(network, lost * wrong, most) / total, np.nan)

    mc, mw = share(queue, ~said), share(channel, said)
    return np.nanmean(mc), np.nanmean(mw), np.nanmean(1 - (mc + mw) / 2)


def threshold_for(rows, stands_for, odds, mc, clock):
    low, high = -8.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        above = scores(rows, stands_for, odds, middle, clock)[0] > mc
        low, high = (low, middle) if above else (middle, high)
    return low


def boost(signals, truth, weight, names, columns, trees, depth):
    monotone = MONOTONE_OF_SENDERS if "timeout" in names else MONOTONE
    settings = {
        "objective": "binary", "learning_rate": 0.25, "num_leaves": 2**depth, "max_depth": depth, "seed": 3,
        "min_data_in_leaf": 100, "min_sum_hessian_in_leaf": 1e-3, "lambda_l2": 1.0, "feature_fraction": 0.8,
        "max_bin": 127, "num_threads": 2, "deterministic": True, "force_row_wise": True, "verbose": -1,
        "monotone_constraints": [monotone.get(names[at], 0) for at in columns],
    }  # fmt: skip
    data = lightgbm.Dataset(signals[:, columns], truth, weight=weight)
    return lightgbm.train(settings, data, trees)


def grown(model, columns):
    """Return nested trees: (signal, bound, below, above), or a leaf in thousandths of log-odds."""

    def node(at):
        if "split_feature" not in at:
            return round(1000 * at["leaf_value"])
        children = node(at["left_child"]), node(at["right_child"])
        bound = math.floor(at["threshold"])
        # A signal is a 16-bit integer.
        if bound >= 32767 or bound < -32768:
            return children[bound < -32768]
        return (columns[at["split_feature"]], bound, *children)

    return [node(tree["tree_structure"]) for tree in model.dump_model()["tree_info"]]


def spread(node, depth):
    """Return the questions between the leaves of a complete tree, and the leaves."""
    if depth == 0:
        return [], [node]
    # A leaf above the last level becomes two equal leaves, so any question works.
    signal, bound, below, above = node if isinstance(node, tuple) else (0, 0, node, node)
    (before, low), (after, high) = spread(below, depth - 1), spread(above, depth - 1)
    return [*before, f"({signal}, {bound})", *after], low + high


def table(trees, depth, threshold=None):
    above = [
        "/// The log-odds of congestion above which a loss is congestion.",
        f"pub(super) const THRESHOLD: f64 = {threshold:.2f};",
        "",
    ] if threshold is not None else []  # fmt: skip
    lines = [
        f"//! The trees. `tools/classifier/{Path(sys.argv[0]).name}` writes this file; edit that program instead.",
        "//!",
        f"//! Each block is one tree: {2**depth - 1} questions (number of the quantity, bound) and {2**depth} leaves. Each question",
        "//! separates two neighbouring leaves, and the middle question comes first.",
        "",
        "use crate::trees::Tree;",
        "",
        *above,
        "#[rustfmt::skip]",
        f"pub(super) static TREES: [Tree; {len(trees)}] = [",
    ]
    for tree in trees:
        questions, leaves = spread(tree, depth)
        lines.append(f"    Tree {{ questions: [{', '.join(questions)}],")
        lines.append(f"        leaves: [{', '.join(map(str, leaves))}] }},")
    return "\n".join([*lines, "];", ""])


def flat(trees, threshold):
    """Return the text of a model file for `whyloss-train`."""
    lines = [f"threshold {threshold:.2f}"]
    for tree in trees:
        nodes = []

        def add(node, nodes=nodes):
            at = len(nodes)
            nodes.append(f"255:0:{node}:0")
            if isinstance(node, tuple):
                signal, bound, below, above = node
                nodes[at] = f"{signal}:{bound}:{add(below)}:{add(above)}"
            return at

        add(tree)
        lines.append("tree " + " ".join(nodes))
    return "\n".join(lines) + "\n"


def show(label, rows, stands_for, odds, mc, clocks):
    threshold = threshold_for(rows, stands_for, odds, mc, clocks[0])
    found = [scores(rows, stands_for, odds, threshold, clock) for clock in clocks]
    cells = [f"Mc {100 * a:.1f} Mw {100 * b:.1f} balanced {c:.3f}" for a, b, c in found]
    print(f"{label}: threshold {threshold:.2f}; " + "; ".join(cells), flush=True)
    return threshold


def clipped(signals, truth, weight):
    """Return the weights of a logistic rule over clipped signals, in log-odds, without its constant."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(signals)
    rule = LogisticRegression(max_iter=300).fit(scale.transform(signals), truth, sample_weight=weight)
    return rule.coef_[0] / scale.scale_


def logistic(signals, truth, weight):
    """Fit a logistic rule to the signals and their logarithms."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    both = FunctionTransformer(lambda x: np.hstack([np.clip(x, -500, 1000), np.sign(x) * np.log1p(np.abs(x))]))
    rule = make_pipeline(both, StandardScaler(), LogisticRegression(max_iter=200))
    rule.fit(signals, truth, logisticregression__sample_weight=weight)
    return rule.decision_function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--mc", type=float, default=0.08, help="the share of congestion losses that may be missed")
    parser.add_argument("--threshold", type=float, help="log-odds, in place of those that the networks held back give")
    parser.add_argument("--table")
    parser.add_argument("--model")
    parser.add_argument("--rule", help="a file for a logistic rule, which `whyloss-train` takes as a model")
    parser.add_argument("--of", help="the signals of that rule; else all")
    parser.add_argument("--compare", action="store_true", help="other rules, and each signal left out")
    args = parser.parse_args()
    names, rows, stands_for = read(args.rows)
    truth, weight = weigh(rows, stands_for)
    signals = rows[:, HEAD:]
    # 21 consecutive networks cover every driver, packet size and family.
    aside = rows[:, 0] // 21 % 6 == 5
    asked = (rows[aside], stands_for[aside])
    senders = "timeout" in names
    clocks = [None] if senders else [0, 1, 2]

    def judged(label, columns, trees, depth):
        model = boost(signals[~aside], truth[~aside], weight[~aside], names, columns, trees, depth)
        odds = model.predict(signals[aside][:, columns], raw_score=True)
        return model, show(label, *asked, odds, args.mc, clocks)

    every = list(range(len(names)))
    print(f"{len(rows)} rows of {len(np.unique(rows[:, 0]))} networks" + ("" if senders else "; scores by exact clocks, 20 and 200 us of noise"))
    model, threshold = judged(f"{args.trees} trees of depth {args.depth}", every, args.trees, args.depth)
    trees = grown(model, every)
    threshold = threshold if args.threshold is None else args.threshold
    if args.table:
        Path(args.table).write_text(table(trees, args.depth, threshold))
    if args.model:
        Path(args.model).write_text(flat(trees, threshold))
    if args.rule:
        low, high = -300, 600
        columns = [names.index(name) for name in args.of.split()] if args.of else every
        bounded = np.clip(signals[:, columns], low, high)
        weights = clipped(bounded[~aside], truth[~aside], weight[~aside])
        # The search for a threshold starts around zero.
        bias = np.median(bounded[aside] @ weights)
        threshold = bias + show(f"a rule of {len(columns)} signals", *asked, bounded[aside] @ weights - bias, args.mc, clocks)
        terms = " ".join(f"{at}:{low}:{high}:{value:.6f}" for at, value in zip(columns, weights))
        Path(args.rule).write_text(f"threshold {threshold:.6f}\nrule {terms}\n")
    if args.compare:
        rule = logistic(signals[~aside], truth[~aside], weight[~aside])
        show("logistic rule", *asked, rule(signals[aside]), args.mc, clocks)
        judged("one tree of depth 5", every, 1, 5)
        for count, depth in ((30, 3), (100, 3), (60, 6)):
            judged(f"{count} trees of depth {depth}", every, count, depth)
        for group in GROUPS_OF_SENDERS if senders else GROUPS:
            columns = [at for at in every if names[at] not in group.split()]
            judged(f"without {group}", columns, args.trees, args.depth)


if __name__ == "__main__":
    main()
